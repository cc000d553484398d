"""Templates of CloudFormation and of Azure's resource manager: the resources in them, in Pulumi's own spelling.

Parameters have their given or default values; what a function of the template language would work out is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sizewell import csvtables
from sizewell.recording.contents.unread import Unread
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.spellings import CLOUDFORMATION as CLOUDFORMATION_TYPES
from sizewell.resources.spellings import CloudFormationType, first_lower, native, placed

CLOUDFORMATION: Final = ("aws:cloudformation/stack:Stack", "aws-native:cloudformation:Stack")
ARM: Final = (
    "azure-native:resources:Deployment",
    "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment",
    "azure:core/templateDeployment:TemplateDeployment",
)
Row = tuple[str, str, dict[str, Any], dict[str, tuple[str, ...]]]  # type, name, inputs, names that each refers to
_DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmType:
    """A row of arm.csv: a type of the template language whose token does not follow from its name."""

    type: str
    token: str
    source: str


_AZURE: Final = {row.type.lower(): row for row in csvtables.read(ArmType, _DATA / "arm.csv")}


def cloudformation(inputs: Mapping[str, Any]) -> Iterator[Row]:
    """The resources of a stack of CloudFormation whose template is in the program."""
    body = _body(inputs, "templateBody", "templateUrl")
    given = inputs.get("parameters")
    parameters: dict[str, Any] = {}
    for name, declared in _mapping(body.get("Parameters")).items():
        parameters[name] = declared["Default"] if isinstance(declared, dict) and "Default" in declared else UNKNOWN
    if isinstance(given, Mapping):
        parameters |= given
    elif isinstance(given, Unknown):
        parameters = dict.fromkeys(parameters, UNKNOWN)
    for name, resource in _mapping(body.get("Resources")).items():
        kind = resource.get("Type") if isinstance(resource, dict) else None
        if not isinstance(kind, str):
            raise Unread(f"the resource {name} of its template has no Type")
        row = CLOUDFORMATION_TYPES.get(kind)
        written = _mapping(resource.get("Properties") or {})
        stated = _mapping(_resolved(written, parameters))
        if row is not None and not row.fits({first_lower(key): value for key, value in stated.items()}):
            row = None
        others = _mapping(body.get("Resources"))
        refers = {key: tuple(dict.fromkeys(each for each in _references(value) if each in others))
                  for key, value in _lifted(written, row).items()}  # fmt: skip
        behind = {_own_name(key, row): names for key, names in refers.items() if names}
        made = _camel(stated, row)
        token, inputs = (row.token, placed(row, made)) if row else (native(kind), made)
        yield token, str(name), inputs, behind


def _references(value: Any) -> Iterator[str]:
    """Names of the same template that a value is made of: by `Ref`, `Fn::GetAtt` or in the text of `Fn::Sub`."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "Ref" and isinstance(inner, str):
                yield inner
            elif key == "Fn::GetAtt":
                yield (inner if isinstance(inner, str) else str([*inner, ""][0])).partition(".")[0]
            elif key == "Fn::Sub" and isinstance(text := inner[0] if isinstance(inner, list) and inner else inner, str):
                yield from (match.partition(".")[0] for match in re.findall(r"\$\{([\w.]+)\}", text))
            yield from _references(inner)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _resolved(value: Any, parameters: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if len(value) == 1:
            name, inner = next(iter(value.items()))
            if name == "Ref":
                return parameters.get(inner, UNKNOWN) if isinstance(inner, str) else UNKNOWN
            if name.startswith("Fn::") or name == "Condition":
                return UNKNOWN
        return {key: _resolved(each, parameters) for key, each in value.items()}
    return [_resolved(each, parameters) for each in value] if isinstance(value, list) else value


def _camel(stated: Mapping[str, Any], row: CloudFormationType | None) -> dict[str, Any]:
    """Properties as Pulumi spells them: tags as a mapping, and the names that the table says."""
    return {_own_name(key, row): _inner(value) for key, value in _lifted(stated, row).items()}


def _own_name(key: str, row: CloudFormationType | None) -> str:
    return (dict(row.renamed).get(key) if row else "") or first_lower(key)


def _lifted(stated: Mapping[str, Any], row: CloudFormationType | None) -> dict[str, Any]:
    flat = dict(stated)
    if row and isinstance(inner := flat.get(row.lifted), dict):
        del flat[row.lifted]
        flat = {**inner, **flat}
    return flat


def _inner(value: Any) -> Any:
    if isinstance(value, list):
        if value and all(isinstance(each, dict) and {"Key", "Value"} <= each.keys() for each in value):
            return {str(each["Key"]): each["Value"] for each in value}
        return [_inner(each) for each in value]
    if isinstance(value, dict):
        return {first_lower(str(key)): _inner(each) for key, each in value.items()}
    return value


def arm(inputs: Mapping[str, Any], location: Any = UNKNOWN) -> Iterator[Row]:
    """The resources of a deployment of Azure's resource manager whose template is in the program.

    `location` is that of the resource group in which it deploys.
    """
    inner = inputs.get("properties")
    if isinstance(inner, Unknown):
        raise Unread("its template is known only after deployment")
    stated = {**inputs, **inner} if isinstance(inner, Mapping) else inputs
    key = next((each for each in ("template", "templateContent", "templateBody") if stated.get(each) is not None), "")
    body = _body(stated, key or "template", "templateLink")
    known: dict[str, Any] = {_GROUP_LOCATION: location, _OWN_LOCATION: inputs.get("location", UNKNOWN)}
    declared = _mapping(body.get("parameters"))
    given = stated.get("parameters") or stated.get("parametersContent")
    given = _parsed(given) if isinstance(given, str) else given
    for name, value in given.items() if isinstance(given, Mapping) else ():
        known[_named("parameters", name)] = value.get("value", UNKNOWN) if isinstance(value, Mapping) else value
    for name, default in declared.items():  # one may name another that stands before it
        stands = default.get("defaultValue", UNKNOWN) if isinstance(default, dict) else UNKNOWN
        known.setdefault(_named("parameters", name), _arm_resolved(stands, known))
    for name, value in _mapping(body.get("variables")).items():
        known[_named("variables", name)] = _arm_resolved(value, known)
    yield from _arm_resources(body.get("resources"), known, "")


_GROUP_LOCATION: Final = "resourcegroup().location"
_OWN_LOCATION: Final = "deployment().location"


def _named(function: str, name: object) -> str:
    """An expression that names a parameter or variable, as `_arm_resolved` looks for it: letters count for nothing."""
    return f"{function}('{name}')".lower()


def _arm_resources(listed: Any, known: Mapping[str, Any], parent: str) -> Iterator[Row]:
    rows = list(listed.values()) if isinstance(listed, Mapping) else listed or []
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise Unread("the resources of its template are not a list")
    for number, resource in enumerate(rows):
        if not isinstance(resource, Mapping) or not isinstance(resource.get("type"), str):
            raise Unread(f"resource {number + 1} of its template has no type")
        kind = f"{parent}/{resource['type']}" if parent and "." not in resource["type"] else resource["type"]
        plain = _arm_resolved({k: v for k, v in resource.items() if k not in _ARM_OWN}, known)
        name = _arm_resolved(resource.get("name"), known)
        label = name if isinstance(name, str) else f"{kind.rpartition('/')[2]}-{number + 1}"
        count = resource.get("copy")
        properties = plain.pop("properties", {})
        merged = {**properties, **plain} if isinstance(properties, Mapping) else plain
        if kind.lower() == "microsoft.resources/deployments":
            template = merged.get("template")
            if not isinstance(template, Mapping):
                raise Unread(f"the deployment {label} in its template has its own at another place")
            yield from arm(merged, known.get(_GROUP_LOCATION, UNKNOWN))
            continue
        if count is not None:
            raise Unread(f"{label} of its template is made several times, by `copy`")
        yield _token(kind), label, merged, {}
        yield from _arm_resources(resource.get("resources"), known, kind)


_ARM_OWN: Final = ("type", "apiVersion", "dependsOn", "resources", "comments", "copy", "condition", "name")


def _arm_resolved(value: Any, known: Mapping[str, Any]) -> Any:
    """A value with the expressions in it whose results are known: parameters, variables, places."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]") and not value.startswith("[["):
        return known.get("".join(value[1:-1].split()).replace('"', "'").lower(), UNKNOWN)
    if isinstance(value, Mapping):
        return {key: _arm_resolved(each, known) for key, each in value.items()}
    return [_arm_resolved(each, known) for each in value] if isinstance(value, list) else value


def _token(kind: str) -> str:
    """The token of a type of the resource manager: by the table, else by how the provider names most of them.

    >>> _token("Microsoft.Compute/virtualMachines"), _token("Microsoft.ContainerRegistry/registries")
    ('azure-native:compute:VirtualMachine', 'azure-native:containerregistry:Registry')
    """
    if row := _AZURE.get(kind.lower()):
        return row.token
    namespace, *types = kind.split("/")
    name = types[-1] if types else ""
    single = (
        f"{name[:-3]}y"
        if name.endswith("ies")
        else name[:-2]
        if name.endswith(("sses", "xes"))
        else name.removesuffix("s")
    )
    return f"azure-native:{namespace.lower().removeprefix('microsoft.')}:{single[:1].upper()}{single[1:]}"


def _body(inputs: Mapping[str, Any], key: str, elsewhere: str) -> Mapping[str, Any]:
    value = inputs.get(key)
    if isinstance(value, Unknown):
        raise Unread("its template is known only after deployment")
    if value is None:
        where = inputs.get(elsewhere)
        raise Unread("" if isinstance(where, str) else "its template is not in the program")  # its name shows where
    body = _parsed(value) if isinstance(value, str) else value
    if not isinstance(body, Mapping):
        raise Unread("its template is not a mapping")
    return body


class _Loader(yaml.SafeLoader):
    """YAML with the short forms of CloudFormation's functions, whose results are unknown but for `!Ref`."""


def _short(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {"Ref" if suffix == "Ref" else f"Fn::{suffix}": node.value}
    if isinstance(node, yaml.SequenceNode):
        return {f"Fn::{suffix}": loader.construct_sequence(node, deep=True)}
    return {f"Fn::{suffix}": ""}


_Loader.add_multi_constructor("!", _short)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise Unread(f"its template is neither JSON nor YAML: {' '.join(str(error).split())[:120]}") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Unknown) or not isinstance(value, Mapping):
        raise Unread("a part of its template is not a mapping")
    return value
