"""One thing, several spellings: resources of other providers and older types, as the readers know them.

`spellings.csv` says which type a type is the same as and where its inputs stand there; `cloudformation.csv` says it of
the types of CloudFormation, which a template names and the provider aws-native has one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.resources.graph import UNDISCLOSED
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get
from sizewell.sizing.catalog import load

_DATA: Final = Path(__file__).parent / "data"
# Some of their inputs are one of several types, so the SDK passes keys of a plain mapping on as they are written.
_ONE_OF_SEVERAL: Final = ("azure-native:machinelearningservices:", "azure-native:datafactory:")
_OWN_KEYS: Final = {"tags", "properties", "environmentVariables"}  # mappings whose keys are a user's
_TYPED: Final = "computeType"  # beside it, `properties` are those of the type
_CASELESS: Final = "azure-native:"  # names its machine types in capital letters or small ones, as one likes
_PLACES: Final = {"aws-native:region": "aws:region", "azure:location": "azure-native:location"}
_STEP: Final = ">"  # keys of annotations have dots and slashes
_EACH: Final = "*"  # in a path: every entry of a list that stands there
Moves = tuple[tuple[str, str], ...]  # from one path to another, "template>spec>containers=template>containers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """A row of spellings.csv: a type, the one that the readers know, and where its inputs stand there."""

    type: str
    token: str
    moved: Moves = ()
    stated: tuple[tuple[str, str], ...] = ()  # what the type itself says
    entries: tuple[tuple[str, str], ...] = ()  # names within its lists that are others there
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudFormationType:
    """A row of cloudformation.csv: a type of the template language, and the same in Pulumi's."""

    type: str
    token: str
    renamed: tuple[tuple[str, str], ...] = ()  # properties that have another name there
    lifted: str = ""  # a property whose own properties stand beside the others
    entries: tuple[tuple[str, str], ...] = ()  # names within its lists that are others there
    moved: Moves = ()  # after that
    implied: tuple[tuple[str, str], ...] = ()  # what the value of a property says, "scheme>internal=internal"
    only: tuple[tuple[str, str], ...] = ()  # what a property says, where it says anything, for the type to be the same
    source: str

    def fits(self, properties: Mapping[str, Any]) -> bool:
        """Whether a resource with these properties, in Pulumi's spelling, is of the type in `token`."""
        return all(properties.get(key, value) == value for key, value in self.only)


CLOUDFORMATION: Final = {row.type: row for row in csvtables.read(CloudFormationType, _DATA / "cloudformation.csv")}
SPELLINGS: Final = {row.type: row for row in csvtables.read(Spelling, _DATA / "spellings.csv")}


def native(kind: str) -> str:
    """The token of a CloudFormation type in the provider that has all of them.

    >>> native("AWS::EC2::Instance")
    'aws-native:ec2:Instance'
    """
    parts = kind.split("::")
    return f"aws-native:{parts[1].lower()}:{parts[-1]}" if len(parts) == 3 else f"aws-native:{kind}"


_NATIVE: Final = {native(row.type).lower(): row for row in CLOUDFORMATION.values()}


def respelled(plan: Plan) -> Plan:
    """The plan with every resource in the spelling that the readers know; the same plan where all are."""
    resources = tuple(_respelled(resource) for resource in plan.resources)
    if all(new is old for new, old in zip(resources, plan.resources, strict=True)):
        return plan
    stated = plan.config
    places = {new: stated[old] for old, new in _PLACES.items() if stated.get(old) and not stated.get(new)}
    return replace(plan, resources=resources, config={**stated, **places})


def _respelled(resource: RecordedResource) -> RecordedResource:
    renamed = _in_known_types(resource)
    if not renamed.type.startswith(_CASELESS):
        return renamed
    made = _sized(renamed.inputs)
    return renamed if made == renamed.inputs else replace(renamed, inputs=made)


def _sized(value: Any) -> Any:
    """Inputs with the names of machine types as the catalog writes them."""
    if isinstance(value, str):
        return _sizes().get(value.lower(), value) if value[:1] in "Ss" else value
    if isinstance(value, Mapping):
        return {key: each if key == "tags" else _sized(each) for key, each in value.items()}
    return [_sized(each) for each in value] if isinstance(value, (list, tuple)) else value


@cache
def _sizes() -> Mapping[str, str]:
    return {kind.lower(): kind for cloud, kind in load().shapes_by_type if cloud == cloud_of(_CASELESS)}


def _in_known_types(resource: RecordedResource) -> RecordedResource:
    kind = canonical(resource.type)
    if (row := _NATIVE.get(kind.lower())) is not None and row.fits(resource.inputs):
        names = {first_lower(old): new for old, new in row.renamed}
        lifted = first_lower(row.lifted)
        inputs = dict(resource.inputs)
        inner = inputs.get(lifted) if lifted else None
        if isinstance(inner, Unknown):
            return replace(resource, type=row.token, inputs=UNDISCLOSED)
        if isinstance(inner, Mapping):
            del inputs[lifted]
            inputs = {**inner, **inputs}
        within = dict(row.entries)
        made = placed(row, {names.get(key, key): _tags(_renamed(value, within)) for key, value in inputs.items()})
        behind = {names.get(key, key): urns for key, urns in resource.property_dependencies.items()}
        return replace(resource, type=row.token, inputs=made, property_dependencies=behind)
    if kind.startswith(_ONE_OF_SEVERAL):
        made = {key: value if key == "tags" else _camel(value) for key, value in resource.inputs.items()}
        return resource if made == resource.inputs else replace(resource, inputs=made)
    if (spelling := SPELLINGS.get(kind)) is None:
        return resource
    made = {key: _renamed(value, dict(spelling.entries)) for key, value in _copied(resource.inputs).items()}
    behind = dict(resource.property_dependencies)
    for path, said in spelling.stated:
        _put(made, path.split(_STEP), said)
    for old, new in spelling.moved:
        source, target = old.split(_STEP), new.split(_STEP)
        _move(made, source, target)
        if source[0] in behind and source[0] != target[0]:
            behind[target[0]] = tuple(dict.fromkeys((*behind.get(target[0], ()), *behind[source[0]])))
    return replace(resource, type=spelling.token, inputs=made, property_dependencies=behind)


def placed(row: CloudFormationType, inputs: dict[str, Any]) -> dict[str, Any]:
    """Properties of a type of CloudFormation, named as Pulumi names them, at the places where the readers look."""
    for old, new in row.moved:
        _move(inputs, old.split(_STEP), new.split(_STEP))
    for said, input_name in row.implied:
        name, _, value = said.partition(_STEP)
        if (stated := inputs.get(name)) is not None:
            inputs[input_name] = UNKNOWN if isinstance(stated, Unknown) else str(stated).lower() == value
    return inputs


def _move(inputs: dict[str, Any], source: list[str], target: list[str]) -> None:
    """Put what stands at one path at another too; both go through the same lists.

    A block of settings turns on what the other type has a switch for, and of several switches that
    become one any turns it on.

    >>> stated = {"disks": [{"sizeGb": 5}], "agent": {"workspace": "w"}}
    >>> _move(stated, ["disks", "*", "sizeGb"], ["disks", "*", "sizeGB"])
    >>> _move(stated, ["agent"], ["addons", "enabled"])
    >>> stated["disks"], stated["addons"]
    ([{'sizeGb': 5, 'sizeGB': 5}], {'enabled': True})
    """
    if _EACH in source:
        at = source.index(_EACH)
        listed = get(inputs, *source[:at])
        for each in (listed,) if isinstance(listed, dict) else listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                _move(each, source[at + 1 :], target[at + 1 :])
        return
    value = get(inputs, *(int(step) if step.isdecimal() else step for step in source))
    if target[-1] == "enabled" and isinstance(value, Mapping):
        value = True
    if value in (None, []) or (value is False and get(inputs, *target) is True):
        return
    _put(inputs, target, value)


def _camel(value: Any) -> Any:
    """A mapping as the service spells its keys, whichever spelling of Pulumi's it has.

    >>> _camel({"instance_type": "a", "scale_settings": {"scale_type": "Default"}, "tags": {"cost_center": "b"}})
    {'instanceType': 'a', 'scaleSettings': {'scaleType': 'Default'}, 'tags': {'cost_center': 'b'}}
    >>> _camel({"compute_type": "ComputeInstance", "properties": {"vm_size": "a"}})
    {'computeType': 'ComputeInstance', 'properties': {'vmSize': 'a'}}
    """
    if isinstance(value, Mapping):
        names = {key: re.sub("(?<=[a-z0-9])_([a-z])", lambda match: match[1].upper(), key) for key in value}
        own = _OWN_KEYS - {"properties"} if _TYPED in names.values() else _OWN_KEYS
        return {new: value[old] if new in own else _camel(value[old]) for old, new in names.items()}
    return [_camel(each) for each in value] if isinstance(value, (list, tuple)) else value


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, (list, tuple)) else value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A list with the names of its entries as the readers know them."""
    if not names or not isinstance(value, (list, tuple)):
        return value
    return [
        {names.get(key, key): inner for key, inner in each.items()} if isinstance(each, Mapping) else each
        for each in value
    ]


def _put(inputs: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        inner = inputs.get(step)
        if isinstance(inner, Unknown):
            return  # what is not known may hold it already
        if not isinstance(inner, dict):
            inner = inputs[step] = {}
        inputs = inner
    inputs[path[-1]] = value


def _tags(value: Any) -> Any:
    """Lists of keys and values as mappings, wherever they stand."""
    if isinstance(value, Mapping):
        return {key: _tags(each) for key, each in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if value and all(isinstance(each, Mapping) and {"key", "value"} <= each.keys() for each in value):
        return {str(each["key"]): each["value"] for each in value}
    return [_tags(each) for each in value]


def first_lower(name: str) -> str:
    """A name of CloudFormation as it begins in Pulumi.

    >>> first_lower("InstanceType"), first_lower("VPCZoneIdentifier"), first_lower("AMIType")
    ('instanceType', 'vpcZoneIdentifier', 'amiType')
    """
    capitals = len(name) - len(name.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    lower = capitals if capitals in (1, len(name)) else capitals - 1
    return name[:lower].lower() + name[lower:]
