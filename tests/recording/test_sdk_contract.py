"""What `sizewell.sdk` relies on in Pulumi's SDK; `make sdk` runs this against the three newest releases.

First each name on its own, so that a release that changes one says which; then a program, whose plan has to be the same
with the SDK's own functions and with ours. `tests/engine/test_sdk_contract.py` holds the plan to the engine's.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pulumi
import pulumi.resource as pulumi_sdk
import pytest
from pulumi.output import _OutputData
from pulumi.runtime import resource as pulumi_resource
from pulumi.runtime import rpc as pulumi_rpc
from pulumi.runtime import settings as pulumi_settings
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.proto import analyzer_pb2_grpc

from sizewell.leave.reading import read_program
from sizewell.policy import adapter
from sizewell.policy.config import Config
from sizewell.policy.opening import Opening
from sizewell.recording.evaluate import evaluate, monitor, run
from sizewell.resources.recorded import UNKNOWN, Plan
from sizewell.sdk import protocol, quick, runtime
from sizewell.sdk.expressions import Attr, Ref

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/engine/plain/contract.py"
SDK = Path(runtime.FOLDER)

# The parameters of what we replace or call, as the SDK has them: ours take the same, in this order.
PARAMETERS = {
    pulumi_resource.create_urn: ["name", "type_", "parent", "project", "stack"],
    pulumi_rpc.transfer_properties: ["res", "props", "custom"],
    pulumi_rpc.resolve_properties: ["resolvers", "all_properties", "deps", "custom", "resolve_missing_as_unknown"],
    pulumi_rpc.is_rpc_secret: ["value"],
    pulumi_sdk.register_resource: [
        *("res", "ty", "name", "custom", "remote", "new_dependency", "props", "opts", "typ", "package_ref"),
    ],
    pulumi_sdk.read_resource: ["res", "ty", "name", "props", "opts", "typ", "package_ref"],
    pulumi.Config._get: ["self", "key", "use", "instead_of"],
    pulumi_rpc.unwrap_rpc_secret: ["value"],
}
FEATURES_LEFT_OUT = {  # of what a monitor may offer: why ours does not
    "OUTPUT_VALUES": "values in plain are what is recorded",
    "INVOKE_OUTPUT_VALUES": "an invoke is answered from its token alone",
    "CALL_OUTPUT_VALUES": "a call is refused",
    "BYTE_STRING": "values in plain are what is recorded",
    "INVOKE_DEPENDS_ON": "an invoke is answered at once",
    "INVOKE_PARENT": "an invoke is answered from its token alone",
    "REPLACEMENT_TRIGGER": "nothing is replaced",
    "SENDS_OPTIONS_TO_HOOKS": "hooks run when something is created; nothing is",
    "STATE_MIGRATIONS": "there is no state",
}
CALLS_LEFT_OUT = {"SupportsFeature"}  # asked one by one where GetDeploymentInfo is not implemented; it is


@pytest.mark.parametrize("function", PARAMETERS, ids=lambda function: function.__name__)
def test_what_is_replaced_has_the_parameters_that_ours_takes(function: Any) -> None:
    assert list(inspect.signature(function).parameters) == PARAMETERS[function]


def test_ours_take_what_the_functions_in_whose_place_they_stand_are_given() -> None:
    for module, name, ours in quick._INSTEAD:
        theirs = getattr(module, name)
        if inspect.isfunction(theirs) and inspect.isfunction(ours):
            inspect.signature(ours).bind(*inspect.signature(theirs).parameters)


def test_an_output_is_made_of_what_ours_is_made_of() -> None:
    assert list(inspect.signature(_OutputData).parameters) == ["resources", "value", "is_known", "is_secret"]
    assert "_data" in inspect.getsource(pulumi.Output), "where an output keeps its future"


def test_our_registry_of_callbacks_has_every_attribute_that_the_inherited_methods_read() -> None:
    (cls,) = ast.parse(textwrap.dedent(inspect.getsource(_CallbackServicer))).body
    assert isinstance(cls, ast.ClassDef)
    of_the_server = {"__init__", "serve", "shutdown", "Invoke"}
    inherited = [each for each in cls.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    read = {
        node.attr
        for method in inherited
        if method.name not in of_the_server
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    ours = runtime.Callbacks(None)
    assert [name for name in sorted(read) if not hasattr(ours, name)] == []


def test_monitor_and_engine_answer_every_call_that_the_sdk_makes() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*SDK.glob("*.py"), *(SDK / "runtime").glob("*.py"))]
    for receiver, ours in (("monitor", monitor.Monitor), ("engine", monitor.Engine)):
        called = {name for text in texts for name in re.findall(rf"\b{receiver}\.([A-Z]\w+)\(", text)}
        assert called, receiver
        assert [name for name in sorted(called - CALLS_LEFT_OUT) if not hasattr(ours, name)] == []


def test_each_feature_of_a_monitor_is_offered_or_left_out_for_a_reason() -> None:
    prefix = "RESOURCE_MONITOR_FEATURE_"
    numbers = {
        name.removeprefix(prefix): getattr(runtime.resource_pb2, name)
        for name in dir(runtime.resource_pb2)
        if name.startswith(prefix)
    }
    offered = {name for name, number in numbers.items() if number in monitor._FEATURES}
    assert set(numbers) - offered - set(FEATURES_LEFT_OUT) <= {"UNSPECIFIED"}
    assert offered.isdisjoint(FEATURES_LEFT_OUT)


def test_settings_take_what_an_evaluation_states_and_keep_our_registry() -> None:
    names = ("project", "stack", "monitor", "engine", "dry_run", "organization", "root_directory")
    inspect.signature(pulumi_settings.Settings).bind(**dict.fromkeys(names))
    assert "SETTINGS.callbacks" in inspect.getsource(pulumi_settings._get_callbacks)


# -- a program -----------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: team\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {'team:word': w}\n")
    (tmp_path / "__main__.py").write_text(PROGRAM.read_text(encoding="utf-8"))
    return tmp_path


def test_the_program_is_recorded_as_it_is_written(project: Path) -> None:
    plan = evaluate(project, "dev")
    made = {resource.name: resource for resource in plan.resources}
    assert list(made) == ["team-dev", "group", "t-inner", "t-outer", "t-last"]
    assert made["t-inner"].inputs == {"label": "xtgs", "nested": {"deep": [1, 2]}}
    assert made["t-inner"].protect
    assert made["t-outer"].inputs == {
        "all": "xtgs,y", "both": UNKNOWN, "doubled": 42, "label": "s", "of": UNKNOWN, "region": "dev",
        "secret": {"key": "value"}, "size": UNKNOWN, "word": "w",
    }  # fmt: skip
    assert made["t-outer"].secret_paths == ("secret",)
    assert made["t-outer"].dependencies == (made["t-inner"].urn,)
    assert plan.outputs == {"label": "xtgs", "arn": UNKNOWN, "doubled": 42}


def test_the_plan_is_the_same_with_the_sdks_own_functions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = evaluate(project, "dev")
    monkeypatch.setattr(run, "quick", contextlib.nullcontext)
    assert evaluate(project, "dev") == ours


ASKING = """
import json, os, pulumi
pulumi.runtime.invoke("a:b:c", {})
config = pulumi.Config()
config.get_bool("b"), config.get_int("i"), config.get_float("f"), config.get_object("o")
os.getenv("SIZEWELL_X"), "SIZEWELL_X" in os.environ, os.environ.get("SIZEWELL_X")
os.environ.copy(), dict(os.environ), os.environ | {}, {} | os.environ, os.environ["PATH"]
json.loads("{}"), json.dumps({"a": 1})
pulumi.runtime.is_dry_run()
try:
    json.dumps(object())
except TypeError:
    pass

async def waits():
    reference = pulumi.StackReference("o/p/dev")
    await reference.get_output_details("x")
    await reference.outputs.is_known()

pulumi.Output.from_input(waits())
"""


def test_the_sdk_calls_what_stands_in_its_functions_places(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that the SDK no longer looks up where ours is put costs time, and nobody would notice."""
    called: set[str] = set()

    def counting(name: str, function: Any) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            called.add(name)
            return function(*arguments, **named)

        return counted

    instead = [
        (module, name, counting(name, ours) if callable(ours) and name != "asyncio" else ours)
        for module, name, ours in quick._INSTEAD
    ]
    monkeypatch.setattr(quick, "_INSTEAD", tuple(instead))
    evaluate(project, "dev")
    (project / "__main__.py").write_text(ASKING)
    evaluate(project, "dev")
    # Of the standard library and of PyYAML, which the SDK has no need of here:
    outside = {"safe_load", "getaddrinfo", "create_connection", "system", "popen", "communicate", "wait", "poll"}
    assert {name for _, name, _ in instead} - called == {"asyncio", *outside}


def test_calls_of_the_monitor_are_told_from_those_of_a_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the module of the function that the SDK hands its loop; a call that is not recognised runs in a thread."""
    told: list[bool] = []
    theirs = runtime.calls_the_monitor
    monkeypatch.setattr(runtime, "calls_the_monitor", lambda function: told.append(theirs(function)) or told[-1])
    assert isinstance(evaluate(project, "dev"), Plan)
    assert told
    assert all(told)


# -- the protocol of policy packs ------------------------------------------------------------------------------------


def test_the_protocol_is_imported_without_the_sdk_and_leaves_room_for_it() -> None:
    code = (
        "import sys\nfrom sizewell.sdk import protocol\n"
        "messages, services = protocol.modules('analyzer_pb2', 'analyzer_pb2_grpc')\n"
        "assert 'pulumi' not in sys.modules and 'pulumi.runtime' not in sys.modules\n"
        "import pulumi\nfrom pulumi.runtime.proto import analyzer_pb2\n"
        "assert pulumi.Output and analyzer_pb2.AnalyzeRequest is messages.AnalyzeRequest\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_pack_answers_every_call_of_the_protocol() -> None:
    modules = protocol.modules("analyzer_pb2", "analyzer_pb2_grpc", "plugin_pb2")
    servant = adapter.servicer(Opening(said=[], config=Config()), *modules)
    calls = {name for name in vars(analyzer_pb2_grpc.AnalyzerServicer) if name[0].isupper()}
    assert calls
    own = {name for name in calls if getattr(type(servant), name) is not getattr(modules[1].AnalyzerServicer, name)}
    assert calls - own == set()


# -- nobody else -----------------------------------------------------------------------------------------------------


def test_nothing_else_in_the_package_touches_names_that_the_sdk_does_not_publish() -> None:
    published = {"pulumi.runtime.is_dry_run"}
    found = []
    for path in (ROOT / "src").rglob("*.py"):
        if "/sdk/" in path.as_posix():
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute):
                names = [ast.unparse(node)]
            private = [n for n in names if re.match(r"pulumi(\.runtime\b|(\.\w+)*\._)", n)]
            found += [f"{path.name}:{node.lineno} {name}" for name in private if name not in published]  # type: ignore[attr-defined]
    assert [each for each in found if not each.endswith(" pulumi.runtime")] == []


def test_a_traced_run_says_from_which_output_an_input_is(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: traced\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(
        "import pulumi_aws as aws\n"
        "first = aws.sqs.Queue('first')\n"
        "aws.sqs.Queue('second', tags={'of': first.arn.apply(lambda arn: arn), 'id': first.id})\n"
    )
    program = read_program(tmp_path, "dev")
    first, second = (f"urn:pulumi:dev::traced::aws:sqs/queue:Queue::{name}" for name in ("first", "second"))
    tags = dict(program.resources[second].inputs["tags"].entries)
    assert tags == {"of": Attr(Ref(first), "arn"), "id": Attr(Ref(first), "id")}
