"""The pack as a process that the Pulumi engine talks to. The only module that knows Pulumi's policy protocol.

It speaks the protocol directly: the Python SDK for policies decodes every resource again for every rule, which takes
a minute for a hundred rules on two thousand resources, and gives whole-stack rules the resources' outputs alone. Here
each resource is decoded once, and rules see inputs, as they do in the evaluator:

- `Analyze` comes with the inputs of one resource before it is created. They are kept. Rules that need this resource
  alone are judged at once, so that `up` refuses a purchase before it is made.
- `AnalyzeStack` comes at the end with every resource and its dependencies; all other rules are judged then, on the
  kept inputs.

The engine never says here what happens to a resource (create, update, replace): no changes are computed, and rules
that need them are judged by `sizewell preview` alone (`evaluator_only`).

The clock is read here, because this is the edge.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from concurrent import futures
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from policy.config import DEFAULT_FILE, Config, read_config
from policy.decisions import read_decision
from policy.engine import Report, Result, evaluate
from policy.rule import Level, Rule
from policy.rules import RULES
from resources.facts import facts
from resources.recorded import UNKNOWN, Plan, RecordedResource
from sizing.errors import SizewellError

if TYPE_CHECKING:
    from resources.pricing import Pricing

NAME: Final = "sizewell"
VERSION: Final = "0.1.0"  # as in PulumiPolicy.yaml and pyproject.toml; asking the installed package costs 50 ms
TOTAL: Final = "cost-total"  # not a rule: the line with the bill that a plain `pulumi preview` shows
DECISIONS: Final = Path(__file__).resolve().parent.parent / "stacks" / "decisions"
_ALONE: Final = ("things", "purchases", "grants", "openings", "jobs")  # subjects that one resource makes up
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  (a marker of the protocol)
_UNKNOWNS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)


def _protocol() -> tuple[Any, Any, Any, Any]:
    """The protocol's messages without the rest of the SDK, whose import alone takes longer than the pack may."""
    from importlib.util import find_spec

    if "pulumi" not in sys.modules:
        root = find_spec("pulumi")
        if root is None or not root.submodule_search_locations:
            raise ImportError("the pulumi package is not installed")
        path = Path(next(iter(root.submodule_search_locations)))
        for name, folder in (("pulumi", path), ("pulumi.runtime", path / "runtime")):
            module = ModuleType(name)
            module.__path__ = [str(folder)]
            sys.modules[name] = module
    from google.protobuf import empty_pb2
    from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

    return analyzer_pb2, analyzer_pb2_grpc, plugin_pb2, empty_pb2


def decode(value: Any) -> Any:
    """A protobuf value as plain JSON: sentinels become UNKNOWN, secrets are unwrapped, assets stay mappings."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in _UNKNOWNS else text
    if kind == "struct_value":
        return decode_struct(value.struct_value)
    if kind == "list_value":
        return [decode(entry) for entry in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    return None


def decode_struct(struct: Any) -> Any:
    fields = struct.fields
    if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
        return decode(fields["value"]) if "value" in fields else UNKNOWN
    return {key: decode(entry) for key, entry in fields.items()}


class Session:
    """What one engine run has told so far, and the judgements that follow. Knows no gRPC."""

    def __init__(self, config: Config, *, decisions: Path = DECISIONS, rules: tuple[Rule, ...] = RULES) -> None:
        self.config = config
        self.announced: dict[str, Level] = {}
        self.remediated: set[str] = set()
        self.project = os.environ.get("PULUMI_PROJECT", "")
        self.stack = os.environ.get("PULUMI_STACK", "")
        self.settings: Mapping[str, str] = {}
        self._decisions = decisions
        self._rules = rules
        self._seen: dict[str, RecordedResource] = {}
        self._told: set[tuple[str, str, str]] = set()
        self.total = True
        self.bill = ""

    def one(self, resource: RecordedResource) -> tuple[Result, ...]:
        """Definite violations that this resource alone makes; what is undetermined waits for the whole stack."""
        self._seen[resource.urn] = resource
        chain = [resource]
        while (parent := chain[-1].parent) and parent in self._seen and self._seen[parent] not in chain:
            chain.append(self._seen[parent])
        provider = (resource.provider or "").rsplit("::", 1)[0]
        if provider in self._seen and provider != resource.urn:
            chain.append(self._seen[provider])
        alone = tuple(rule for rule in self._rules if rule.subject in _ALONE)
        report = self._judge(tuple(reversed(chain)), alone, waivers=False)
        found = tuple(r for r in report.results if r.outcome == "violation" and r.urn == resource.urn)
        self._told.update((result.rule, result.urn, result.message) for result in found)
        return found

    def whole(self, resources: tuple[RecordedResource, ...]) -> Report:
        """Everything else, over all resources; inputs that were seen before replace the engine's outputs."""
        merged = tuple(
            resource
            if (seen := self._seen.get(resource.urn)) is None
            else replace(
                seen,
                parent=resource.parent or seen.parent,
                dependencies=resource.dependencies,
                property_dependencies=resource.property_dependencies,
                outputs=resource.outputs,
            )
            for resource in resources
        )
        report = self._judge(merged, self._rules, waivers=True)
        fresh = tuple(r for r in report.results if (r.rule, r.urn, r.message) not in self._told)
        return replace(report, results=fresh)

    def _judge(self, resources: tuple[RecordedResource, ...], rules: tuple[Rule, ...], *, waivers: bool) -> Report:
        plan = Plan(project=self.project, stack=self.stack, resources=resources, config=self.settings, origin="engine")
        today = datetime.now(UTC).date()
        pricing = decision = None
        catalog = None
        if waivers:
            from resources.pricing import price
            from sizing.catalog import load

            catalog = load()
            pricing = price(plan, catalog, on=today)
            self.bill = bill(pricing)
            decision = read_decision(self._decisions, self.stack)
        config = self.config if waivers else replace(self.config, waivers=self._applicable(resources))
        found = facts(plan, catalog, pricing=pricing, decision=decision, on=today, retention_visible=False)
        return evaluate(found, config, on=today, rules=rules, evaluator=False)

    def _applicable(self, resources: tuple[RecordedResource, ...]) -> Any:
        """Waivers for one resource; whether the others dangle is known only at the end."""
        names = {name for resource in resources for name in (resource.urn, resource.name)}
        today = datetime.now(UTC).date()
        return tuple(w for w in self.config.waivers if w.resource in names and w.expires >= today)


def _resource(message: Any, *, properties: str = "inputs") -> RecordedResource:
    options = message.options
    values = decode_struct(message.properties)
    provider = message.provider
    parent = getattr(message, "parent", "") or options.parent
    return RecordedResource(
        urn=message.urn,
        type=message.type,
        name=message.name,
        inputs=values,
        outputs=values if properties == "outputs" else {},
        parent=parent or None,
        custom=not message.type.startswith("sizewell-") and message.type != "pulumi:pulumi:Stack",
        protect=options.protect,
        ignore_changes=tuple(options.ignoreChanges),
        delete_before_replace=options.deleteBeforeReplace,
        aliases=tuple(options.aliases),
        dependencies=tuple(getattr(message, "dependencies", ())),
        property_dependencies={
            key: tuple(value.urns) for key, value in getattr(message, "propertyDependencies", {}).items()
        },
        provider=provider.urn or None,
    )


def bill(pricing: Pricing) -> str:
    """The stack's cost in one sentence."""
    cost = pricing.cost()
    monthly, once = cost.run_rate.usd_per_month, cost.one_off.usd
    text = f"{monthly.expected:,.2f} USD a month expected ({monthly.floor:,.2f} to {monthly.ceiling:,.2f})"
    if once.ceiling:
        text += f", {once.expected:,.2f} USD once"
    return f"{text}; {len(cost.unpriced)} without a price" if cost.unpriced else text


def servicer(session: Session) -> Any:
    """The gRPC side: messages in, diagnostics out."""
    proto, grpc_module, plugin, empty = _protocol()
    levels = {"advisory": proto.ADVISORY, "mandatory": proto.MANDATORY, "disabled": proto.DISABLED}

    def diagnostic(result: Result) -> Any:
        return proto.AnalyzeDiagnostic(
            policyName=result.rule,
            policyPackName=NAME,
            policyPackVersion=VERSION,
            description=f"prevents {result.prevents}",
            message=f"{result.message}\nfix: {result.fix}",
            urn=result.urn,
            enforcementLevel=levels[result.level],
        )

    class Servicer(grpc_module.AnalyzerServicer):  # type: ignore[misc, name-defined]
        def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return proto.AnalyzerHandshakeResponse()

        def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            session.project, session.stack = request.project, request.stack
            session.settings = dict(request.config)
            return proto.AnalyzerStackConfigureResponse()

        def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return plugin.PluginInfo(version=VERSION)

        def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            info = proto.AnalyzerInfo(name=NAME, version=VERSION, supportsConfig=True)
            environment = _environment(session.stack)
            for rule in RULES:
                if rule.evaluator_only:
                    continue
                level = session.config.level(rule, environment)
                session.announced[rule.id] = level
                entry = proto.PolicyInfo(
                    name=rule.id,
                    displayName=rule.id,
                    description=f"Prevents {rule.prevents}",
                    enforcementLevel=levels[level],
                    policy_type=proto.POLICY_TYPE_RESOURCE if rule.subject in _ALONE else proto.POLICY_TYPE_STACK,
                )
                for name, parameter in rule.parameters.items():
                    schema = {**parameter.schema, "description": parameter.meaning, "default": parameter.default}
                    entry.configSchema.properties.get_or_create_struct(name).update(schema)
                info.policies.append(entry)
            info.policies.append(
                proto.PolicyInfo(
                    name=TOTAL,
                    displayName=TOTAL,
                    description="What the stack costs, in one line; disable it where the line is not wanted",
                    enforcementLevel=proto.ADVISORY,
                    policy_type=proto.POLICY_TYPE_STACK,
                )
            )
            return info

        def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            session.config = configured(session, request.policyConfig, proto)
            return empty.Empty()

        def Analyze(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            results = session.one(_resource(request))
            return proto.AnalyzeResponse(diagnostics=[diagnostic(r) for r in results if r.level != "disabled"])

        def AnalyzeStack(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            report = session.whole(tuple(_resource(message, properties="outputs") for message in request.resources))
            found = [diagnostic(r) for r in report.results if r.outcome != "waived"]
            if session.total:
                line = proto.AnalyzeDiagnostic(
                    policyName=TOTAL,
                    policyPackName=NAME,
                    policyPackVersion=VERSION,
                    description="what the stack costs",
                    message=session.bill,
                    enforcementLevel=proto.ADVISORY,
                )
                found.append(line)
            return proto.AnalyzeResponse(diagnostics=found)

        def Remediate(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            response = proto.RemediateResponse()
            environment = _environment(session.stack)
            if "environment-tag" not in session.remediated or not environment:
                return response
            key = "tags" if request.type.startswith(("aws:", "azure-native:")) else "labels"
            stated = request.properties.fields.get(key)
            if stated is None or stated.WhichOneof("kind") != "struct_value":
                return response
            if any(name in stated.struct_value.fields for name in ("sizewell-environment", "environment", "env")):
                return response
            remedy = proto.Remediation(
                policyName="environment-tag",
                policyPackName=NAME,
                policyPackVersion=VERSION,
                description=f"adds {key}.sizewell-environment = {environment}",
            )
            remedy.properties.CopyFrom(request.properties)
            remedy.properties[key]["sizewell-environment"] = environment
            response.remediations.append(remedy)
            return response

        def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return empty.Empty()

    return Servicer()


def configured(session: Session, stated: Any, proto: Any) -> Config:
    """The file's configuration with what `--policy-pack-config` says over it.

    The engine repeats the announced level of every rule that nobody configured; only another level is a statement.
    """
    names = {proto.ADVISORY: "advisory", proto.MANDATORY: "mandatory", proto.DISABLED: "disabled"}
    level_changes: dict[str, Mapping[str, Level]] = dict(session.config.levels)
    settings = dict(session.config.settings)
    for rule, entry in stated.items():
        if rule == TOTAL:
            session.total = entry.enforcementLevel != proto.DISABLED
            continue
        if entry.enforcementLevel == proto.REMEDIATE:
            session.remediated.add(rule)
            level_changes[rule] = {"": "mandatory"}
            continue
        level = names.get(entry.enforcementLevel)
        if level is not None and level != session.announced.get(rule):
            level_changes[rule] = {"": level}  # type: ignore[dict-item]
        changes = decode_struct(entry.properties)
        if changes:
            settings[rule] = {**settings.get(rule, {}), **changes}
    return replace(session.config, levels=level_changes, settings=settings)


def _environment(stack: str) -> str:
    from resources.readers.common import stack_environment

    return stack_environment(stack)


def serve() -> None:
    """Listen on a free port of this machine, print it, and answer until the engine goes away."""
    file = Path(os.environ.get("SIZEWELL_POLICY_CONFIG") or DEFAULT_FILE)
    try:
        config = read_config(file)
    except SizewellError as error:
        print(f"policy pack {NAME}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    _, grpc_module, _, _ = _protocol()
    import grpc

    limit = 400 * 1024 * 1024
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=1),  # one at a time: a session is not shared between threads
        options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)],
    )
    grpc_module.add_AnalyzerServicer_to_server(servicer(Session(config)), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        server.stop(0)
