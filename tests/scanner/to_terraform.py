"""A recorded plan as the Terraform HCL that Checkov reads: AWS and Google Cloud.

HCL and not `.tf.json`, of which Checkov drops the rules of IAM. Names of types and blocks come from types.yaml, names
of inputs from the SDK. A value that only the cloud knows becomes a reference to the resource that it comes from, as the
plan's dependencies say, so that rules over several resources see a bucket and what protects it together; where the plan
does not say which, it becomes a variable. Nothing is made up.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sdk_types
import yaml
from pulumi import _types

from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.values import canonical

NAMES: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "types.yaml").read_text())
NOT_KNOWN = "var.known_after_apply"
NAMING = ("name", "bucket", "accountId", "arn", "email")


class UntranslatedError(KeyError):
    """Something in a plan that types.yaml does not name yet."""


def terraform(plan: Plan) -> str:
    """The AWS and Google Cloud resources of a plan as HCL."""
    return "\n".join(_resource(one, labels(plan), plan) for one in plan.resources if _is_ours(one))


def _is_ours(resource: RecordedResource) -> bool:
    kind = canonical(resource.type)
    if (
        not resource.custom
        or kind.startswith(("pulumi:", "azure-native:", "kubernetes:"))
        or kind in NAMES["no equivalent"]
    ):
        return False
    if kind not in NAMES["terraform"]:
        raise UntranslatedError(f"{kind}: name its Terraform type in tests/scanner/types.yaml")
    return True


@functools.lru_cache(maxsize=4)
def _labels(urns: tuple[tuple[str, str, str], ...]) -> dict[str, str]:
    made: dict[str, str] = {}
    for urn, kind, name in urns:
        label = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        label = label if label[0].isalpha() else f"r_{label}"
        address = f"{NAMES['terraform'][kind]}.{label}"
        count = sum(1 for one in made.values() if one == address or one.startswith(f"{address}--"))
        made[urn] = f"{address}--{count}" if count else address
    return made


def labels(plan: Plan) -> dict[str, str]:
    """URN -> address in Terraform ("aws_s3_bucket.store") of what the HCL has."""
    return _labels(tuple((one.urn, canonical(one.type), one.name) for one in plan.resources if _is_ours(one)))


def _resource(resource: RecordedResource, addresses: Mapping[str, str], plan: Plan) -> str:
    cls = sdk_types.args_class(canonical(resource.type))
    assert cls is not None, resource.type
    by_urn = plan.by_urn()
    lines = ['resource "{}" "{}" {{'.format(*addresses[resource.urn].split(".", 1))]
    for key, value in resource.inputs.items():
        sources = [by_urn[urn] for urn in resource.property_dependencies.get(key, ()) if urn in addresses]
        lines += _entry(key, value, _declared(cls, key), "  ", _Sources(sources, addresses))
    if resource.protect:
        lines += ["  lifecycle {", "    prevent_destroy = true", "  }"]
    return "\n".join([*lines, "}", ""])


class _Sources:
    """Where the unknown values below one input come from; each list takes its sources in their order."""

    def __init__(self, resources: Sequence[RecordedResource], addresses: Mapping[str, str]) -> None:
        self.resources, self.addresses = resources, addresses

    def named(self, key: str, value: str) -> str | None:
        """The reference that a known value stands for: the name of a resource that the input depends on."""
        for one in self.resources:
            if value in [one.inputs.get(naming) for naming in NAMING]:
                return f"{self.addresses[one.urn]}.{_attribute(key)}"
        return None

    def unknown(self, key: str, position: int = 0, of: int = 1) -> str:
        """The resource that an unknown value is an attribute of, where the dependencies leave no choice.

        Of several, those whose type shares a word with the input's name: `subnet_ids` are of `aws_subnet`.
        """
        words = {word.rstrip("s") for word in _snake(key).split("_")}
        if key.lower().endswith(("policy", "definition", "document")):
            return NOT_KNOWN  # a text that mentions its sources is none of them
        types = {one.urn: set(self.addresses[one.urn].split(".")[0].split("_")) for one in self.resources}
        shared = {urn: len(words & kind) for urn, kind in types.items()}
        fitting = [urn for urn, count in shared.items() if count == max(shared.values())]
        if len(fitting) < of == len(self.resources):
            fitting = [
                one.urn if one.urn in fitting else "" for one in self.resources
            ]  # each source is one of the list
            return f"{self.addresses[fitting[position]]}.{_attribute(key)}" if fitting[position] else NOT_KNOWN
        if len(fitting) != of or (not shared[fitting[0]] and not words & {"id", "arn", "email", "name"}):
            return NOT_KNOWN
        return f"{self.addresses[fitting[position]]}.{_attribute(key)}"


def _attribute(key: str) -> str:
    snake = _snake(key)
    if snake.endswith(("arn", "arns")):
        return "arn"
    return "email" if "service_account" in snake else "id"


def _entry(key: str, value: Any, declared: tuple[str, Any], indent: str, sources: _Sources) -> list[str]:
    """One input as the lines of an attribute or of one or more blocks."""
    name, kind = declared
    if value is None:
        return []
    element = _kind(kind)
    if isinstance(element, type) and _types.is_input_type(element) and isinstance(value, Mapping):
        return _block(name, value, element, indent, sources)
    if isinstance(element, list) and isinstance(value, (list, tuple)):
        inner = _kind(element[0])
        if isinstance(inner, type) and _types.is_input_type(inner):
            if not value:
                return [f"{indent}{name} = []"]
            if key not in NAMES["blocks"]:
                raise UntranslatedError(f"{key}: name its blocks in tests/scanner/types.yaml")
            blocks = [item for item in value if isinstance(item, Mapping)]
            return [line for item in blocks for line in _block(NAMES["blocks"][key], item, inner, indent, sources)]
    return [f"{indent}{name} = {_expression(key, value, sources)}"]


def _block(name: str, value: Mapping[str, Any], cls: type, indent: str, sources: _Sources) -> list[str]:
    lines = [f"{indent}{name} {{"]
    for key, item in value.items():
        if not key.startswith("__"):
            lines += _entry(key, item, _declared(cls, key), indent + "  ", sources)
    return [*lines, f"{indent}}}"]


def _expression(key: str, value: Any, sources: _Sources, position: int = 0, of: int = 1) -> str:
    if value is UNKNOWN:
        return sources.unknown(key, position, of)
    if isinstance(value, Mapping):
        inner = [f"{_quoted(name)} = {_expression(name, item, sources)}" for name, item in value.items()]
        return "{ " + ", ".join(inner) + " }"
    if isinstance(value, (list, tuple)):
        of = sum(item is UNKNOWN for item in value)
        place = iter(range(of))
        items = [_expression(key, item, sources, next(place) if item is UNKNOWN else 0, of) for item in value]
        return f"[{', '.join(items)}]"
    if isinstance(value, str):
        return sources.named(key, value) or _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


@functools.cache
def _spellings(cls: type) -> dict[str, str]:
    return {pulumi: python.rstrip("_") for python, pulumi in _types.input_type_py_to_pulumi_names(cls).items()}


def _declared(cls: type, key: str) -> tuple[str, Any]:
    """How Terraform spells an input, and its declared type."""
    return _spellings(cls).get(key, _snake(key)), sdk_types._properties(cls).get(key)


def _kind(declared: Any) -> Any:
    """The class of an object's input, [declared type of an element] for a list, else something that is no block."""
    for choice in sdk_types._alternatives(declared) if declared is not None else ():
        origin = getattr(choice, "__origin__", None)
        if isinstance(choice, type) and _types.is_input_type(choice):
            return choice
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return [choice.__args__[0]]
    return None
