"""Templates of CloudFormation and of Azure's resource manager: the resources in them, in Pulumi's own spelling.

Parameters have their given or default values, and functions are worked out as far as those say. Of a resource nobody
knows whether it is made, where its condition is not decided.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from sizewell import csvtables
from sizewell.recording.contents.expressions import Names, Scope
from sizewell.recording.contents.intrinsics import Intrinsics
from sizewell.recording.contents.unread import Unread
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.spellings import CLOUDFORMATION as CLOUDFORMATION_TYPES
from sizewell.resources.spellings import CloudFormationType, first_lower, native, placed

CLOUDFORMATION: Final = ("aws:cloudformation/stack:Stack", "aws-native:cloudformation:Stack")
ARM: Final = (
    "azure-native:resources:Deployment",
    "azure-native:resources:DeploymentAtScope",
    "azure-native:resources:DeploymentAtSubscriptionScope",
    "azure-native:resources:DeploymentStackAtResourceGroup",
    "azure-native:resources:DeploymentStackAtSubscription",
    "azure:core/subscriptionTemplateDeployment:SubscriptionTemplateDeployment",
    "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment",
    "azure:core/templateDeployment:TemplateDeployment",
)
Row = tuple[str, str, dict[str, Any], dict[str, tuple[str, ...]]]  # type, name, inputs, names that each refers to


class Made(NamedTuple):
    """What a template makes; `undecided` says of what else nobody knows whether it makes it."""

    rows: tuple[Row, ...]
    undecided: str = ""


_DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmType:
    """A row of arm.csv: a type of the template language whose token does not follow from its name."""

    type: str
    token: str
    source: str


_AZURE: Final = {row.type.lower(): row for row in csvtables.read(ArmType, _DATA / "arm.csv")}


def cloudformation(inputs: Mapping[str, Any], region: Any = UNKNOWN) -> Made:
    """The resources of a stack of CloudFormation whose template is in the program."""
    body = _body(inputs, "templateBody", "templateUrl")
    for part in ("Parameters", "Conditions", "Mappings"):
        _mapping(body.get(part))
    language = Intrinsics(body, inputs.get("parameters"), region)
    others = dict(language.looped(_mapping(body.get("Resources"))))
    made: list[Row] = []
    macros = body.get("Transform") or []
    macros = [each for each in (macros if isinstance(macros, list) else [macros]) if each not in _OWN_MACROS]
    undecided = [f"the macro {each} makes another template of it" for each in macros if isinstance(each, str)]
    for name, resource in others.items():
        kind = resource.get("Type") if isinstance(resource, dict) else None
        if not isinstance(kind, str):
            raise Unread(f"the resource {name} of its template has no Type")
        condition = resource.get("Condition")
        holds = language.condition(str(condition)) if condition is not None else True
        if isinstance(holds, Unknown):
            undecided.append(f"whether it makes {name} ({kind}) depends on the condition {condition}")
        if holds is not True:
            continue
        row = CLOUDFORMATION_TYPES.get(kind)
        written = _mapping(language.chosen(resource.get("Properties") or {}))
        stated = _mapping(language.value(written))
        if row is not None and not row.fits({first_lower(key): value for key, value in stated.items()}):
            row = None
        refers = {key: tuple(dict.fromkeys(each for each in _references(value, language) if each in others))
                  for key, value in _lifted(written, row).items()}  # fmt: skip
        behind = {_own_name(key, row): names for key, names in refers.items() if names}
        camel = _camel(stated, row)
        token, properties = (row.token, placed(row, camel)) if row else (native(kind), camel)
        made.append((token, str(name), properties, behind))
    return Made(tuple(made), "; ".join(undecided))


# They add no machines: docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-reference.html
_OWN_MACROS: Final = ("AWS::LanguageExtensions", "AWS::Serverless-2016-10-31", "AWS::SecretsManager-2020-07-23",
                      "AWS::SecretsManager-2024-09-16")  # fmt: skip


def _references(value: Any, language: Intrinsics) -> Iterator[str]:
    """Names of the same template that a value is made of: by `Ref`, `Fn::GetAtt` or in the text of `Fn::Sub`."""
    value = language.chosen(value)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "Ref" and isinstance(inner, str):
                yield inner
            elif key == "Fn::GetAtt":
                yield (inner if isinstance(inner, str) else str([*inner, ""][0])).partition(".")[0]
            elif key == "Fn::Sub" and isinstance(text := inner[0] if isinstance(inner, list) and inner else inner, str):
                yield from (match.partition(".")[0] for match in re.findall(r"\$\{([\w.]+)\}", text))
            yield from _references(inner, language)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each, language)


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


def arm(inputs: Mapping[str, Any], location: Any = UNKNOWN) -> Made:
    """The resources of a deployment of Azure's resource manager whose template is in the program.

    `location` is that of the resource group in which it deploys.
    """
    inner = inputs.get("properties")
    if isinstance(inner, Unknown):
        raise Unread("its template is known only after deployment")
    stated = {**inputs, **inner} if isinstance(inner, Mapping) else inputs
    key = next((each for each in ("template", "templateContent", "templateBody") if stated.get(each) is not None), "")
    body = _body(stated, key or "template", "templateLink")
    scope = _scope(body, stated, {"resourcegroup": location, "deployment": inputs.get("location", UNKNOWN)})
    undecided: list[str] = []
    rows = tuple(_arm_resources(body.get("resources"), scope, "", undecided))
    return Made(rows, "; ".join(undecided))


def _scope(body: Mapping[str, Any], stated: Mapping[str, Any], places: Mapping[str, Any]) -> Scope:
    """What the expressions of a template may name."""
    keys = ("parameters", "parametersContent", "parametersBody")
    given: Any = next((stated[each] for each in keys if stated.get(each) is not None), {})
    given = _parsed(given) if isinstance(given, str) else given
    if stated.get("parametersLink") is not None:
        given = UNKNOWN
    if isinstance(given, Mapping) and isinstance(given.get("parameters"), Mapping) and "$schema" in given:
        given = given["parameters"]  # a file of parameters as a whole
    values = {str(name).lower(): value for name, value in given.items()} if isinstance(given, Mapping) else {}

    def parameter(scope: Scope, name: str, declared: Any) -> Any:
        if isinstance(given, Unknown) or not isinstance(declared, Mapping):
            return UNKNOWN
        value = values.get(name.lower())
        if isinstance(value, Mapping) and ("value" in value or "reference" in value):
            value = value.get("value", UNKNOWN)
        if value is None:
            return scope.value(declared.get("defaultValue", UNKNOWN))
        return _typed(value, str(declared.get("type", "")).lower())

    parameters = _mapping(body.get("parameters"))
    variables = dict(_mapping(body.get("variables")))
    loops = {str(each["name"]): each for each in variables.pop("copy", None) or ()}
    return Scope(
        parameters=Names({name: partial(parameter, name=name, declared=each) for name, each in parameters.items()}),
        variables=Names({name: partial(Scope.value, written=value) for name, value in variables.items()}
                        | {name: partial(Scope.repeated, loop=loop) for name, loop in loops.items()}),
        places=places,
    )  # fmt: skip


def _typed(value: Any, kind: str) -> Any:
    """The value of a parameter as its type has it: older resources give each as text.

    >>> _typed("3", "int"), _typed("True", "bool"), _typed("[1]", "array"), _typed("3", "string")
    (3, True, [1], '3')
    """
    if not isinstance(value, str) or kind not in ("int", "bool", "array", "object"):
        return value
    try:
        return json.loads(value.lower() if kind == "bool" else value)
    except ValueError:
        return UNKNOWN


def _arm_resources(listed: Any, scope: Scope, parent: str, undecided: list[str]) -> Iterator[Row]:
    rows = list(listed.values()) if isinstance(listed, Mapping) else listed or []
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise Unread("the resources of its template are not a list")
    for number, resource in enumerate(rows):
        if not isinstance(resource, Mapping) or not isinstance(resource.get("type"), str):
            raise Unread(f"resource {number + 1} of its template has no type")
        kind = f"{parent}/{resource['type']}" if parent and "." not in resource["type"] else resource["type"]
        plain = f"{kind.rpartition('/')[2]}-{number + 1}"
        if not isinstance(loop := resource.get("copy"), Mapping):
            yield from _arm_resource(resource, kind, plain, scope, undecided)
            continue
        times = scope.times(loop)
        if isinstance(times, Unknown):
            undecided.append(f"how many of {plain} ({kind}) it makes, by `copy`, is known only after deployment")
            continue
        for turn in range(times):
            within = scope.turn(str(loop.get("name", "")), turn)
            yield from _arm_resource(resource, kind, f"{plain}-{turn}", within, undecided)


def _arm_resource(
    resource: Mapping[str, Any], kind: str, plain: str, scope: Scope, undecided: list[str]
) -> Iterator[Row]:
    """One resource with those in it; `plain` is its name where the template's is not known.

    A condition is a resource's own, and not that of those in it: "Conditional deployment doesn't cascade to child
    resources", learn.microsoft.com/azure/azure-resource-manager/templates/conditional-resource-deployment.
    """
    name = scope.value(resource.get("name"))
    label = name if isinstance(name, str) else plain
    holds = scope.value(resource.get("condition", True)) if resource.get("existing") is not True else False
    holds = holds if isinstance(holds, Unknown) else str(holds).lower() == "true"
    if isinstance(holds, Unknown):
        undecided.append(f"whether it makes {label} ({kind}) depends on a condition")
    elif holds and kind.lower() == "microsoft.resources/deployments":
        yield from _arm_nested(resource, label, scope, undecided)
    elif holds:
        stated = scope.value({key: value for key, value in resource.items() if key not in _ARM_OWN})
        properties = stated.pop("properties", {})
        yield _token(kind), label, {**properties, **stated} if isinstance(properties, Mapping) else stated, {}
    yield from _arm_resources(resource.get("resources"), scope, kind, undecided)


def _arm_nested(resource: Mapping[str, Any], label: str, scope: Scope, undecided: list[str]) -> Iterator[Row]:
    """What a deployment within a template makes: its expressions name what the outer template does, unless it says so.

    learn.microsoft.com/azure/azure-resource-manager/templates/linked-templates, "Expression evaluation scope".
    """
    properties = _mapping(resource.get("properties"))
    template = properties.get("template")
    if not isinstance(template, Mapping):
        undecided.append(f"the deployment {label} in its template has its own at another place")
        return
    evaluated = properties.get("expressionEvaluationOptions")
    if isinstance(evaluated, Mapping) and str(evaluated.get("scope")).lower() == "inner":
        given = {key: scope.value(properties.get(key)) for key in ("parameters", "parametersLink")}
        own = {**scope.places, "deployment": scope.value(resource.get("location", UNKNOWN))}
        scope = _scope(template, given, own)
    if resource.get("resourceGroup") is not None:
        scope = replace(scope, places={**scope.places, "resourcegroup": UNKNOWN})
    yield from _arm_resources(template.get("resources"), scope, "", undecided)


_ARM_OWN: Final = ("type", "apiVersion", "dependsOn", "resources", "comments", "copy", "condition", "name")


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
    """YAML with the short forms of CloudFormation's functions."""


def _short(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: node.value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else ""}


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
