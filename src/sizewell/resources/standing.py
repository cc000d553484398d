"""Accelerators in resources whose type nobody reads: whether the inputs name some, and whether they name an end.

Types are many and spellings more. What keeps accelerators running is the same in all of them: a machine type or a
number of accelerators, and no least size of zero, no idle time, no end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sizewell import csvtables
from sizewell.resources.expiry import Expiries
from sizewell.resources.readers import devices, task_machines
from sizewell.resources.readers.common import is_accelerated_name
from sizewell.resources.readers.devices import is_device
from sizewell.resources.readers.guards import LONGEST_IDLE_MINUTES, minutes
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import Flag, Text, either, get, number
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.resources.stackfacts import StackFacts, Thing


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorName:
    """A row of accelerator_names.csv: how values or inputs that speak of accelerators are spelled."""

    pattern: str
    # A key ("input"), or a value: a type of a cloud, of which the catalog is asked; a product, where an input holds a
    # machine type; a whole type that can be nothing else.
    spells: Literal["machine", "product", "whole", "input"]
    cloud: str = ""  # of machines
    source: str


def _patterns(spells: str) -> re.Pattern[str]:
    return re.compile("|".join(row.pattern for row in _ROWS if row.spells == spells), re.IGNORECASE)


_ROWS: Final = csvtables.read(AcceleratorName, Path(__file__).parent / "data/accelerator_names.csv")
_NAMED, _WHOLE, _INPUTS = (_patterns(each) for each in ("product", "whole", "input"))
_MACHINES: Final = tuple(
    (re.compile(row.pattern, re.IGNORECASE), row.cloud) for row in _ROWS if row.spells == "machine"
)
_NONE: Final = re.compile(r"none|false|0|.*unspecified", re.IGNORECASE)
_COUNTS: Final = frozenset(
    ("gpu", "gpus", "gpucount", "numgpus", "acceleratorcount", "accelerators", "guestaccelerators",
     "acceleratorconfigs", "acceleratorcapabilities")
)  # fmt: skip
_TEXTS: Final = re.compile(r"name$|description$|comment|label|tag|image|uri$|url$|metadata|policy|script|version")
_HOLDS: Final = re.compile(  # inputs that are a machine type, or hold one
    r"\w*(instance|node|machine|worker|compute|vm|droplet)"
    r"(s|types?|sizes?|skus?|class|famil(y|ies)|groups?|pools?|specs?|config\w*|templates?)(id)?"
    r"|(size|sku|flavor|plan|tier|\w*(class|shape|bundle))(name|id)?|vmsizesprofilename|(instance|compute|machine|node)typename|\w*type|accelerator\w*"
)
_LEAST: Final = re.compile(
    r"alwaysoncapacity|min(imum)?(size|count|capacity|(idle)?(nodes?|instances?|replicas?|vcpus?|workers?|machines?|scale|units?)(count)?)"
)
_SIZE: Final = re.compile(
    r"(desired|target|initial)?(capacity|size)|count"
    r"|(num|desired)?(nodes?|workers?|instances?|replicas?|machines?)(count)?"
)
_IDLE: Final = re.compile(
    r"idle|autoterminat|auto_?stop|autopause|autosuspend|autoshutdown|autodelete|maxrun|maxlifetime"
)
_ENDS: Final = re.compile(r"(end|expir\w*|delete|deletion|terminat\w*)(date|time|at|on)?|validuntil")
_MINUTES: Final = {"second": 1 / 60, "sec": 1 / 60, "minute": 1.0, "min": 1.0, "hour": 60.0}


def accelerated(facts: StackFacts) -> Flag:
    """Whether machines, services or pods of a stack have accelerators, those of types that nobody reads included."""
    names = (of(thing) for thing in facts.things if thing.runs)
    return either(
        False,
        *(pool.accelerated for pool in facts.pools),
        *(service.accelerated for services in (facts.endpoints, facts.notebooks) for service in services),
        *(UNKNOWN if isinstance(pods.accelerators, Unknown) else bool(pods.accelerators) for pods in facts.pods),
        *(UNKNOWN if isinstance(name, Unknown) else bool(name) for name in names),
    )


def of(thing: Thing) -> Text:
    """The accelerators that a resource names itself, or through what it is a part of; "" where it names none.

    They are what it runs on whether or not it releases them.
    """
    if thing.type.startswith("kubernetes:"):
        if thing.stated is not None:
            return thing.stated.kind
        template = get(thing.inputs, "spec", "template", "spec")
        required = devices.required_of_machines(get(template, "requirements"))
        if required or get(template, "requirements") is not None:
            return required or _limited(get(thing.inputs, "spec", "limits"))
        asked = named(thing.inputs)
        return "" if isinstance(asked, Unknown) else asked  # what it starts is named among what is not judged
    if thing.type == task_machines.TASK:
        return task_machines.asked(thing.inputs)
    own = named(thing.inputs)
    profile = thing.inputs.get("workloadProfileName")
    if isinstance(own, Unknown) or isinstance(profile, Unknown):
        return UNKNOWN
    if own or not profile:
        return own
    return profile_of(str(profile), thing.whole)


def _limited(limits: Any) -> str:
    """The accelerators that a pool of Karpenter may start at most, where it is asked to count them."""
    stated = limits.items() if isinstance(limits, Mapping) else ()
    return next((f"{value} {name}" for name, value in stated if is_device(str(name)) and number(value) != 0), "")


def profile_of(name: str, environment: Any) -> str:
    """The workload profile of this name where it has accelerators: by its type, where the environment stands in the
    program, else by its name.
    """
    listed = None if isinstance(environment, Unknown) else get(environment, "workloadProfiles")
    profiles = listed if isinstance(listed, (list, tuple)) else ()
    kinds = [named(each) for each in profiles if get(each, "name") == name]
    if any(isinstance(kind, str) and kind for kind in kinds) or (not kinds and "gpu" in name.lower()):
        return name
    return ""


def named(inputs: Any) -> Text:
    """The accelerators that inputs name, "" where they name none; texts that people read are left out.

    UNKNOWN where what is not known yet would be a machine type, or holds one.

    >>> named({"size": "gpu-h100x8-640gb", "region": "nyc2"}), named({"nodeTypeId": "g5.12xlarge"})
    ('gpu-h100x8-640gb', 'g5.12xlarge')
    >>> named({"description": "beside our h100 machines", "imageName": "gpu-base"}), named({"gpu": 0})
    ('', '')
    """
    if isinstance(inputs, Unknown):
        return UNKNOWN
    hidden = False
    for key, value in _leaves(inputs):
        plain = key.lower().replace("_", "")
        if isinstance(value, Unknown):
            hidden |= _counts(plain) or _HOLDS.fullmatch(plain) is not None
        elif _counts(plain):
            if value not in (0, "0", "", False, None):
                return f"{value} {key}" if isinstance(value, int | float) else str(value)
        elif isinstance(value, str) and value:
            held = _HOLDS.fullmatch(plain) is not None
            if _INPUTS.fullmatch(plain) and not _NONE.fullmatch(value):
                return value
            for word in re.split(r"[,\s]+", value) if held else (value,):
                if (held or not _TEXTS.search(plain)) and is_accelerator(word.rpartition("/")[2], held=held):
                    return word
            if plain == "instancefamily" and any(is_accelerated_name(cloud, f"{value}.metal") for cloud in CLOUDS):
                return value
    return UNKNOWN if hidden else ""


def is_accelerator(value: str, *, held: bool) -> bool:
    """Whether a value is a machine type with accelerators; where it is `held` as one, also by the name of a product."""
    # Another provider may spell its types likewise: g6-standard-2 is Linode's, and no g6 of AWS.
    clouds = [cloud for pattern, cloud in _MACHINES if pattern.fullmatch(value)]
    if any(is_accelerated_name(cloud, value.removeprefix("ml.")) for cloud in clouds):
        return True
    return _WHOLE.fullmatch(value) is not None or (held and _NAMED.fullmatch(value) is not None)


def ends(inputs: Any, expiries: Expiries) -> bool:
    """Whether inputs say that what they start is released: a least size of zero, nothing at all, an idle time, an end.

    >>> from datetime import date
    >>> at = Expiries(on=date(2026, 11, 26), days_max=90)
    >>> ends({"autoterminationMinutes": 30}, at), ends({"autoterminationMinutes": 0}, at), ends({"minNodes": 0}, at)
    (True, False, True)
    >>> ends({"minNodes": 1, "count": 0}, at), ends({"endTime": "2099-01-01"}, at), ends({"numWorkers": 0}, at)
    (False, False, True)
    """
    leaves = [(key.lower().replace("_", ""), value) for key, value in _leaves(inputs)]
    least = [number(value) for key, value in leaves if _LEAST.fullmatch(key)]
    empties = all(not isinstance(each, Unknown) and each == 0 for each in least)
    for key, value in leaves:  # an idle time of single machines leaves the least number of them
        whole = not key.startswith("idle") or empties
        if _IDLE.search(key) and not _LEAST.fullmatch(key) and whole and _idle(key, value):
            return True
    if any(expiries.judged(value).counts is True for key, value in leaves if _ENDS.fullmatch(key) and value):
        return True
    if any("scaletozero" in key and value not in (False, "false", None) for key, value in leaves):
        return True
    if least:
        return empties
    sizes = [number(value) for key, value in leaves if _SIZE.fullmatch(key)]
    return bool(sizes) and all(not isinstance(each, Unknown) and each == 0 for each in sizes)


def least(inputs: Any) -> int | None:
    """How many inputs keep: the least number where they state one, else the number itself; None for none.

    >>> least({"scaling": {"minSize": 2, "maxSize": 4}}), least({"replicas": 3}), least({"name": "a"})
    (2, 3, None)
    """
    leaves = [(key.lower().replace("_", ""), number(value)) for key, value in _leaves(inputs)]
    for names in (_LEAST, _SIZE):
        known = [value for key, value in leaves if names.fullmatch(key) and isinstance(value, Decimal)]
        if known:
            return int(max(known))
    return None


def moves(inputs: Any) -> bool:
    """Whether inputs give a range of sizes, so that something takes machines away when the load falls."""
    leaves = [(key.lower().replace("_", ""), number(value)) for key, value in _leaves(inputs)]
    least = [value for key, value in leaves if _LEAST.fullmatch(key)]
    most = [value for key, value in leaves if _LEAST.fullmatch(f"min{key.removeprefix('max').removeprefix('imum')}")
            and key.startswith("max")]  # fmt: skip
    known = [each for each in (*least, *most) if each is not None and not isinstance(each, Unknown)]
    return bool(least and most) and len(known) == len(least) + len(most) and max(known) > min(known)


def _idle(key: str, value: Any) -> bool:
    """Whether an idle time is one, and at most a day."""
    size = number(value)
    if size is None or isinstance(size, Unknown):
        stated = minutes(value)
        return isinstance(stated, float) and 0 < stated <= LONGEST_IDLE_MINUTES
    unit = next((each for word, each in _MINUTES.items() if word in key), 1 / 60)  # the shortest: seconds
    return 0 < float(size) * unit <= LONGEST_IDLE_MINUTES


def _counts(key: str) -> bool:
    return key in _COUNTS or is_device(key)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if _counts(key.lower().replace("_", "")) and _any_stated(value):
            yield key, next((each for each in value.values() if isinstance(each, str)), "some")
        for inner, each in value.items():
            # a name inside something is its name: sku.name, plan.id
            yield from _leaves(each, f"{key}{inner}" if inner in ("name", "id") and key else str(inner))
    elif isinstance(value, (list, tuple)):
        for each in value:
            if isinstance(each, Mapping) and set(each) & {"name", "key"} and "value" in each:
                yield str(each.get("name", each.get("key"))), each["value"]  # a setting with its value
            else:
                yield from _leaves(each, key)
    else:
        yield key, value


def _any_stated(value: Mapping[str, Any]) -> bool:
    """Whether something is asked for: no number of it is zero."""
    return bool(value) and all(number(each) != 0 for each in value.values())
