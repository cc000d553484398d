"""The pack as a process that the Pulumi engine talks to. With `session`, all that knows Pulumi's policy protocol.

It speaks the protocol directly: the Python SDK for policies decodes every resource again for every rule, which takes
a minute for a hundred rules on two thousand resources, and gives whole-stack rules the resources' outputs alone. Here
each resource is decoded once, and rules see inputs, as they do in the evaluator:

- `GetAnalyzerInfo` and `Configure` come first, and the engine waits for them before it starts the program. They are
  answered from what the rules announced of themselves; the rules, prices and facts are loaded when both are answered,
  while the program imports its own libraries. What fails there fails the first judgement: nothing passes unjudged.
- `Analyze` comes with the inputs of one resource before it is created. They are kept. Rules that need this resource
  alone are judged at once, so that `up` refuses a purchase before it is made.
- `AnalyzeStack` comes at the end with every resource and its dependencies; all other rules are judged then, on the
  kept inputs.

The engine never says here what happens to a resource (create, update, replace): no changes are computed, and rules
that need them are judged by `sizewell preview` alone (`evaluator_only`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Collection, Iterator
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sizewell.policy.announced import announced
from sizewell.policy.announcement import ALONE, TOTAL
from sizewell.policy.config import DEFAULT_FILE, read_config, unknown_rules
from sizewell.policy.opening import Opening
from sizewell.sdk import protocol
from sizewell.sizing.errors import ConfigError, SizewellError

if TYPE_CHECKING:
    from sizewell.policy.engine import Result
    from sizewell.policy.session import Session

NAME: Final = "sizewell"
VERSION: Final = "0.1.0"  # as in PulumiPolicy.yaml and pyproject.toml; asking the installed package costs 50 ms


def serve(*, config: Path | None = None, decisions: Path | None = None) -> None:
    """Listen on a free port of this machine, print it, and answer until the engine goes away.

    `config` is the project's own configuration, over which SIZEWELL_POLICY_CONFIG goes; `decisions` is the folder of
    its committed decisions.
    """
    said = announced()
    own = config if config is not None and config.exists() else DEFAULT_FILE
    try:
        settings = read_config(Path(os.environ.get("SIZEWELL_POLICY_CONFIG") or own), said)
    except SizewellError as error:
        print(f"policy pack {NAME}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    opening = Opening(
        said=said,
        config=settings,
        decisions=decisions,
        project=os.environ.get("PULUMI_PROJECT", ""),
        stack=os.environ.get("PULUMI_STACK", ""),
    )
    proto, services, plugin = protocol.modules("analyzer_pb2", "analyzer_pb2_grpc", "plugin_pb2")
    import grpc

    limit = 400 * 1024 * 1024
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=1),  # one at a time: a session is not shared between threads
        options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)],
    )
    services.add_AnalyzerServicer_to_server(servicer(opening, proto, services, plugin), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    try:
        opening.heard.wait()
        _load(opening)
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        opening.session.cancel()  # nobody waits for it any more
        server.stop(0)


def _load(opening: Opening) -> None:
    """Put the session where judgements wait for it, or what prevented it."""
    try:
        from sizewell.policy.session import Session

        opening.session.set_result(Session(opening))
    except Exception as error:  # noqa: BLE001  (told to whoever asks for a judgement)
        opening.session.set_exception(error)
    gc.freeze()
    gc.enable()


def servicer(opening: Opening, proto: Any, services: Any, plugin: Any) -> Any:
    """The gRPC side: messages in, diagnostics out."""
    import grpc
    from google.protobuf import empty_pb2

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

    @contextlib.contextmanager
    def judging(context: Any) -> Iterator[Session]:
        """The session, when it is there. What fails is the pack's own fault, and fails the run."""
        opening.heard.set()
        try:
            yield opening.session.result()
        except SizewellError as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001  (a broken pack must fail, not pass)
            fault = f"the rule pack failed, so nothing was checked ({_last(error)})"
        else:
            return
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"policy pack {NAME}: {fault}")

    class Servicer(services.AnalyzerServicer):  # type: ignore[misc]  # the generated stub has no types
        def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return proto.AnalyzerHandshakeResponse()

        def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            opening.project, opening.stack = request.project, request.stack
            opening.settings = dict(request.config)
            return proto.AnalyzerStackConfigureResponse()

        def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return plugin.PluginInfo(version=VERSION)

        def GetAnalyzerInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            info = proto.AnalyzerInfo(name=NAME, version=VERSION, supportsConfig=True)
            environment = opening.environment()
            for rule in opening.said:
                if rule.evaluator_only:
                    continue
                level = opening.config.level(rule, environment)
                opening.levels[rule.id] = level
                entry = info.policies.add(
                    name=rule.id,
                    displayName=rule.id,
                    description=f"Prevents {rule.prevents}",
                    enforcementLevel=levels[level],
                    policy_type=proto.POLICY_TYPE_RESOURCE if rule.subject in ALONE else proto.POLICY_TYPE_STACK,
                )
                for name, parameter in rule.parameters.items():
                    schema = {**parameter.schema, "description": parameter.meaning, "default": parameter.default}
                    entry.configSchema.properties.get_or_create_struct(name).update(schema)
            info.policies.add(
                name=TOTAL,
                displayName=TOTAL,
                description="The stack's cost in one line, and what is waived; disable it if it is not wanted",
                enforcementLevel=proto.ADVISORY,
                policy_type=proto.POLICY_TYPE_STACK,
            )
            return info

        def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
            if wrong := unknown_rules(set(request.policyConfig) - {TOTAL, "all"}, opening.said):
                refusal = ConfigError(wrong, subject="--policy-pack-config")
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"policy pack {NAME}: {refusal}")
            opening.stated = dict(request.policyConfig)
            if opening.session.done():
                with judging(context) as session:
                    session.configure()
            opening.heard.set()
            return empty_pb2.Empty()

        def Analyze(self, request: Any, context: Any) -> Any:  # noqa: N802
            with judging(context) as session:
                diagnostics = [diagnostic(result) for result in session.one(request) if result.level != "disabled"]
                return proto.AnalyzeResponse(diagnostics=diagnostics)

        def AnalyzeStack(self, request: Any, context: Any) -> Any:  # noqa: N802
            with judging(context) as session:
                report = session.whole(request.resources)
                diagnostics = [diagnostic(result) for result in report.results if result.outcome != "waived"]
                if session.total:
                    waived = [f"waived: {r.rule} for {r.resource or 'the stack'}: {r.reason}" for r in report.waived]
                    line = proto.AnalyzeDiagnostic(
                        policyName=TOTAL,
                        policyPackName=NAME,
                        policyPackVersion=VERSION,
                        description="what the stack costs",
                        message="\n".join([session.bill, *waived]),
                        enforcementLevel=proto.ADVISORY,
                    )
                    diagnostics.append(line)
                return proto.AnalyzeResponse(diagnostics=diagnostics)

        def Remediate(self, request: Any, context: Any) -> Any:  # noqa: N802
            with judging(context) as session:
                return _remedies(request, session.remediated, opening.environment(), proto)

        def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
            return empty_pb2.Empty()

    return Servicer()


def _remedies(request: Any, remediated: Collection[str], environment: str, proto: Any) -> Any:
    """The only mend that is safe: a missing environment tag."""
    response = proto.RemediateResponse()
    if "environment-tag" not in remediated or not environment:
        return response
    key = "tags" if request.type.startswith(("aws:", "azure-native:")) else "labels"
    stated = request.properties.fields.get(key)
    if stated is None or stated.WhichOneof("kind") != "struct_value":
        return response
    if any(name in stated.struct_value.fields for name in ("sizewell-environment", "environment", "env")):
        return response
    remedy = response.remediations.add(
        policyName="environment-tag",
        policyPackName=NAME,
        policyPackVersion=VERSION,
        description=f"adds {key}.sizewell-environment = {environment}",
    )
    remedy.properties.CopyFrom(request.properties)
    remedy.properties[key]["sizewell-environment"] = environment
    return response


def _last(error: BaseException) -> str:
    """What failed and where, in one line."""
    if isinstance(error, SyntaxError):  # names its place itself
        return f"SyntaxError: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f", {Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
