"""Names that a cloud refuses: too long, with characters that it does not take, or of users that it keeps for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import csvtables
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, get, items


@dataclass(frozen=True, slots=True, kw_only=True)
class NameForm:
    """A row of name_forms.csv: which names a cloud takes for a type."""

    type: str
    system: Literal["", "Windows"] = ""  # of the machines that it names
    input: str
    pattern: str  # a regular expression for the whole name
    takes: str  # in words
    most: int | None = None  # characters, where the provider makes a name that nobody states
    added: int | None = None  # characters that the provider then puts behind the resource's own
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNames:
    """A row of user_names.csv: which names of an administrator a cloud keeps for itself."""

    types: str  # a regular expression for the whole type
    engine: str = ""  # one for the engine of a database, where it depends on that
    input: str  # path of the name, with dots
    refused: str  # a regular expression for the whole name, in any case
    source: str


DATA: Final = Path(__file__).parents[1] / "data"
USERS: Final = csvtables.read(UserNames, DATA / "user_names.csv")
FORMS: Final[dict[tuple[str, str], NameForm]] = {
    (row.type, row.system): row for row in csvtables.read(NameForm, DATA / "name_forms.csv")
}
AKS: Final = "azure-native:containerservice:ManagedCluster"
MACHINE: Final = "azure-native:compute:VirtualMachine"
WINDOWS: Final = "azure:compute/windowsVirtualMachine:WindowsVirtualMachine"
POOL: Final = "azure-native:containerservice:AgentPool"


def of(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Names that are stated; the provider makes the others as its cloud takes them."""
    type_, inputs = canonical(resource.type), resource.inputs
    if (form := _form(type_, inputs)) is not None:
        yield from _wrong(form.input, inputs.get(form.input), form)
        yield from _made(resource, form)
    if type_ == MACHINE and _windows(inputs):
        yield from _wrong("computerName", get(inputs, "osProfile", "computerName"), FORMS[WINDOWS, ""])
    if type_ == AKS:
        profiles = items(inputs.get("agentPoolProfiles"))
        for profile in () if isinstance(profiles, Unknown) else profiles:
            if (form := _form(POOL, profile)) is not None:
                yield from _wrong("name of a pool", get(profile, "name"), form)

    for row in USERS:
        if re.fullmatch(row.types, type_) and re.fullmatch(
            row.engine, str(inputs.get("engine", "")) if row.engine else ""
        ):
            name = get(inputs, *row.input.split("."))
            if isinstance(name, str) and re.fullmatch(row.refused, name, re.IGNORECASE):
                said = f"{row.input} {name!r} is refused by its cloud, which keeps that name for itself"
                yield said, "name the user otherwise"


def _windows(machine: Any) -> bool:
    """Whether a machine of Azure boots Windows, as its own settings or its image say."""
    image = get(machine, "storageProfile", "imageReference", "publisher")
    return get(machine, "osProfile", "windowsConfiguration") is not None or image == "MicrosoftWindowsServer"


def _form(type_: str, inputs: Any) -> NameForm | None:
    return FORMS.get((type_, str(get(inputs, "osType", default="")))) or FORMS.get((type_, ""))


def _made(resource: RecordedResource, form: NameForm) -> Iterator[tuple[str, str]]:
    """A name that the provider makes of the resource's own; one of a state has been made already."""
    if form.most is None or form.added is None or resource.outputs:
        return
    if any(resource.inputs.get(key) is not None for key in (form.input, f"{form.input}Prefix")):
        return
    length = len(resource.name) + form.added
    if length > form.most:
        said = f"no {form.input} is stated, and the one made of {resource.name!r} has {length} characters"
        yield f"{said}: its cloud takes {form.most}", f"state {form.input}, or shorten the resource's name"


def _wrong(key: str, name: object, form: NameForm) -> Iterator[tuple[str, str]]:
    if isinstance(name, str) and name and not re.fullmatch(form.pattern, name):
        yield f"{key} {name!r} ({len(name)} characters) is refused by its cloud", f"name it with {form.takes}"
