"""The server as a client meets it: what it offers, what it refuses, that it writes nothing, and how fast it answers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizewell.agents import answering, fitting
from sizewell.agents.calls import Done
from sizewell.agents.projects import Line
from sizewell.agents.tools import BY_NAME, TOOLS, Arguments
from sizewell.cli import mcp
from sizewell.cli.main import COMMANDS
from sizewell.cli.new import WORKLOADS
from sizewell.cli.reference import EXITS
from sizewell.sizing.errors import UsageError

from .clients import Client

CHAT = """name: chat
kind: inference
model: meta-llama/Llama-3.1-8B-Instruct
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
slo: {ttft: 1s, tpot: 50ms, percentile: p95}
infra: [aws/us-east-1]
"""
OWNED = "ttl: 30d\nowner: ml\ncost_center: ml\n"
SPEC = "stacks/specs/dev/chat.yaml"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sizewell", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_each_tool_is_typed_reads_alone_and_runs_a_command(client: Client) -> None:
    tools = client.portal.call(client.session.list_tools).tools
    assert [tool.name for tool in tools] == list(BY_NAME)
    for tool in tools:
        assert tool.annotations.read_only_hint
        schema = tool.input_schema
        assert schema["additionalProperties"] is False
        assert all(each.get("description") or each.get("enum") for each in schema["properties"].values()), tool.name
    (begun,) = (tool.input_schema["properties"]["workload"]["enum"] for tool in tools if tool.name == "new_spec")
    assert begun == list(WORKLOADS)
    assert {tool.command.partition(" ")[0] for tool in TOOLS} - {""} <= set(COMMANDS)
    listed = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools)
    assert listed < 16_000  # which every session of a client carries


def test_next_steps_name_tools_and_commands_that_exist() -> None:
    for tool in TOOLS:
        for step in (each for steps in tool.after.values() for each in steps):
            for word in re.findall(r"`sizewell (\w+)", step):
                assert word in COMMANDS, step
            for word in re.findall(r"\b[a-z]+_[a-z]+\b", step.replace("cost_center", "")):
                assert word in BY_NAME, step


@pytest.mark.usefixtures("unchanged")
def test_from_a_workload_to_a_stack_that_passes_the_policies(client: Client, shop: Path, tmp_path: Path) -> None:
    """Spec, size, stack, preview, policy, fix: then the texts are the project's, and the commands say the same."""
    (stack,) = (each for each in client.ask("project").data["answer"]["stacks"] if each["stack"] == "dev")
    text = client.ask("new_spec", workload="chat", load="4", infra="aws/us-east-1").data["answer"]["text"]
    mistyped = text.replace("traffic:", "trafic:")
    refused = client.ask("validate_spec", spec=mistyped)
    assert refused.failed
    assert "did you mean 'traffic'?" in refused.text
    assert not client.ask("validate_spec", spec=text).failed
    sized = client.ask("size", spec=text).data
    machine = sized["answer"]["workloads"][0]["pools"][0]["instance_type"]
    alone = {stack["specs"][0]: "", SPEC: text}
    judged = client.ask("policy", stack="dev", changes=alone).data
    assert judged["exit_code"] == 1
    results = judged["answer"]["dev"]["results"]
    assert len({(each["rule"], each["fix"]) for each in results}) == len(results)
    assert len(results[0]["resources"]) > 1
    fix = results[0]["fix"]
    assert "set owner and expires" in fix or "set owner and ttl" in fix
    fixed = {**alone, SPEC: f"{text}{OWNED}"}
    assert client.ask("policy", stack="dev", changes=fixed).data["answer"]["dev"]["ok"]
    previewed = client.ask("preview", stack="dev", changes=fixed).data
    assert machine in json.dumps(previewed["answer"]["stacks"][0]["rows"])
    assert "sizewell size --stack dev" in previewed["next"][-1]

    own = tmp_path / "shop"
    subprocess.run(["cp", "-r", str(shop), str(own)], check=True)
    (own / stack["specs"][0]).unlink()
    (own / SPEC).write_text(fixed[SPEC])
    assert run(own, "size", "--stack", "dev").returncode == 0
    assert run(own, "policy", "dev").returncode == 0
    after = json.loads(run(own, "preview", "dev", "--json").stdout)["after"]
    assert after["usd_per_month"] == previewed["answer"]["after"]["usd_per_month"]


def test_an_answer_is_the_json_of_the_command(client: Client, shop: Path) -> None:
    decided = json.loads(run(shop, "size", "stacks/specs/dev/notebook.yaml", "--json").stdout)
    for path in ("workloads[0].pools", "workloads[0].cost", "seal"):
        part = client.ask("size", spec="stacks/specs/dev/notebook.yaml", part=path).data["answer"]
        assert part == fitting.part(decided, path)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("size", {"spec": CHAT}), ("explain", {"spec": CHAT}), ("preview", {"stack": "dev"}), ("policy_rules", {}), ("docs", {"topic": "tear-down"}), ("economics", {"spec": CHAT}), ("forecast", {"stack": "dev", "months": 3})]
)  # fmt: skip
def test_what_is_cut_can_be_asked_for(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    data = client.ask(tool, **arguments).data
    paths = [line.partition(":]: ")[0] + ":]" if ":]: " in line else line.partition(": ")[0] for line in data["cut"]]
    assert paths
    for path in paths:
        if not path.startswith("and "):
            reply = client.ask(tool, **arguments, part=path)
            assert not reply.failed, f"{path}: {reply.text}"
            assert reply.data["answer"]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("sise", {}, r"sise: is not a tool; choose from project, .*\n  fix: did you mean size\?"),
        ("destroy", {}, r"destroy: is not a tool; .*\n  fix: none of them changes anything"),
        ("size", {"spec": CHAT, "stak": "dev"}, r"size: stak: unknown argument; size takes part, spec, on\n  fix: leave it"),
        ("preview", {"stak": "dev"}, r"preview: stack: is missing\n  fix: .*\nstak: unknown argument.*\n  fix: did you mean stack\?"),
        ("economics", {"spec": CHAT, "months": "many"}, r"months: must be a valid integer.*, got 'many'\n  fix: write over how long"),
        ("economics", {"spec": CHAT, "months": 0}, r"months: must be greater than or equal to 1, got '0'"),
        ("simulate", {"spec": CHAT, "burstiness": -2}, r"burstiness: must be greater than or equal to 0"),
        ("new_spec", {"workload": "game"}, r"workload: must be 'chat', .*, got 'game'"),
        ("new_spec", {"workload": "chat", "model": "/etc/config.json"}, r"new_spec: model: /etc/config\.json is a file\n  fix: name a model"),
        ("new_spec", {"workload": "chat", "model": "no/such-model"}, r"no/such-model(?s:.*)fix: "),
        ("size", {"spec": "/etc/passwd"}, r"size: spec: /etc/passwd is outside of the project .*\n  fix: name a file inside it"),
        ("size", {"spec": "../../shop.yaml"}, r"spec: \.\./\.\./shop\.yaml is outside of the project"),
        ("size", {"spec": "nothing.yaml"}, r"spec: nothing\.yaml: no such file\n  fix: name a file of the project, or give the text"),
        ("size", {"spec": "stacks"}, r"spec: stacks: no such file"),
        ("size", {"spec": "a\0b"}, r"size: embedded null byte\n  fix: name another file"),
        ("size", {"spec": "x" * 5_000}, r"File name too long.*\n  fix: name another file"),
        ("size", {"spec": "--show-spec"}, r"spec: is not such a value, got '--show-spec'"),
        ("size", {"spec": "name: chat\nkind: inference\nmodel: {config: /etc/hostname}\n"}, r"spec: model\.config: /etc/hostname is outside of the project"),
        ("size", {"spec": CHAT.replace("rps: 4", "requests: ../../log.csv")}, r"traffic\.requests"),
        ("size", {"spec": "name: [chat\n"}, r"spec"),
        ("size", {"spec": CHAT.replace("rps: 4", "rps: many")}, r"spec:\d+:\d+: traffic\.rps: .*many"),
        ("size", {"spec": CHAT, "on": "tomorrow"}, r"on: is not such a value, got 'tomorrow'\n  fix: write use the prices|on: .*tomorrow"),
        ("size", {"spec": CHAT, "part": "workloads[9]"}, r"part: workloads has no \[9\]\n  fix: it is a list of 1"),
        ("size", {"spec": CHAT, "part": "work"}, r"part: the answer has no 'work'\n  fix: it has schema, "),
        ("policy", {"stack": "--pack=here"}, r"policy: stack: must be a name without blanks or options, got '--pack=here'"),
        ("preview", {"stack": "nothing"}, r"no stack 'nothing'\n  fix: name one of dev"),
        ("preview", {"stack": "dev", "changes": {"stacks/__main__.py": "import os"}}, r"changes: stacks/__main__\.py: is not a file that can be tried\n  fix: name stacks/specs"),
        ("preview", {"stack": "dev", "changes": {"stacks/specs/../../x.yaml": "a"}}, r"is not a file that can be tried"),
        ("preview", {"stack": "dev", "changes": {SPEC: CHAT.replace("model: meta-llama/Llama-3.1-8B-Instruct", "model: {config: /etc/hostname}")}}, r"chat\.yaml: model\.config: /etc/hostname is outside"),
        ("preview", {"stack": "dev", "changes": {SPEC: "name: [chat\n"}}, r"stacks/specs/dev/chat\.yaml"),
        ("docs", {"topic": "tear-down", "search": "zebra"}, r"has no paragraph with 'zebra'"),
        ("docs", {"search": "zebra"}, r"no page has a paragraph with 'zebra'\n  fix: search for fewer words"),
        ("check_decisions", {"stack": "nope"}, r"no specs for stack 'nope'.*\n  fix: .*name a stack that has some: dev"),
        ("docs", {"topic": "no-such-page"}, r"no page is called 'no-such-page'\n  fix: "),
        ("policy_rules", {"rule": "zebra"}, r"no rule has 'zebra'"),
        ("explain", {"spec": CHAT, "why": "-h"}, r"why: is not such a value, got '-h'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchanged")
def test_it_refuses_with_path_and_way_out(client: Client, tool: str, arguments: dict[str, Any], says: str) -> None:
    reply = client.ask(tool, **arguments)
    assert reply.failed, reply.text
    assert re.search(says, reply.text), reply.text
    assert "/sizewell-" not in reply.text
    assert "standard input" not in reply.text


def test_a_link_out_of_the_project_is_refused(client: Client, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "chat.yaml").write_text(CHAT)
    links = {shop / "linked.yaml": tmp_path / "chat.yaml", shop / "stacks/specs/linked": tmp_path}
    for link, target in links.items():
        link.symlink_to(target)
    try:
        reply = client.ask("size", spec="linked.yaml")
        assert reply.failed
        assert "linked.yaml is outside of the project" in reply.text
        assert "by a symbolic link" in reply.text
        reply = client.ask("preview", stack="dev", changes={"stacks/specs/linked/new.yaml": CHAT})
        assert reply.failed
        assert "outside of the project" in reply.text
        assert not (tmp_path / "new.yaml").exists()
    finally:
        for link in links:
            link.unlink()


def test_a_program_that_ends_its_process_ends_its_call_alone(client: Client, shop: Path) -> None:
    program = shop / "stacks/__main__.py"
    own = program.read_text()
    try:
        program.write_text(
            "import os, signal\nprint('{')\nos.system('echo into the wire')\nos.kill(os.getpid(), signal.SIGKILL)\n"
        )
        reply = client.ask("preview", stack="dev")
        assert reply.failed
        assert "ended without an answer\n  fix: run it in a terminal" in reply.text
        program.write_text(f"import os\nprint('{{')\nos.write(1, b'into the wire')\n{own}")
        assert client.ask("preview", stack="dev").data["exit_code"] == 0
    finally:
        program.write_text(own)
    assert client.ask("policy", stack="dev").data["exit_code"] == 0


def test_an_edit_between_two_calls_counts(client: Client, shop: Path) -> None:
    path = shop / "stacks/specs/dev/notebook.yaml"
    own = path.read_text()
    assert client.ask("check_decisions", stack="dev").data["exit_code"] == 0
    path.write_text(own.replace("16GB..", "40GB.."))
    try:
        assert client.ask("check_decisions", stack="dev").data["exit_code"] == 4
    finally:
        path.write_text(own)


@pytest.mark.parametrize(
    ("tool", "line"), [("size", ("size", "stacks/specs/dev/notebook.yaml")), ("preview", ("preview", "dev"))]
)
def test_a_warm_answer_takes_less_than_the_command(
    client: Client, shop: Path, tool: str, line: tuple[str, ...]
) -> None:
    """Under a second where nothing else runs; a loaded machine slows the command as well, so the two are compared."""
    arguments = {"stack": "dev"} if tool == "preview" else {"spec": line[1]}
    client.ask(tool, **arguments)
    warm = min(client.ask(tool, **arguments).seconds for _ in range(4))
    begun = time.monotonic()
    assert run(shop, *line, "--json").returncode == 0
    assert warm < max(1.0, 0.8 * (time.monotonic() - begun)), warm


def test_without_the_extra_it_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "find_spec", lambda _name: None)
    monkeypatch.setattr(mcp.source, "install", lambda extra: f'pip install "sizewell[{extra}]"')
    with pytest.raises(
        UsageError, match=r'the package mcp is not installed in .*\n  fix: pip install "sizewell\[mcp\]"'
    ):
        mcp.command.callback(mcp.Arguments(list=False, json=False, project=None))


def test_a_change_is_tried_where_the_settings_name_a_base(shop: Path, tmp_path: Path) -> None:
    from .clients import connected

    own = tmp_path / "shop"
    subprocess.run(["cp", "-r", str(shop), str(own)], check=True)
    (own / "sizewell.toml").write_text('base = "main"\n')
    git = ("git", "-C", str(own), "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "a")):
        subprocess.run([*git, *words], check=True)
    with connected(own, {}) as client:
        data = client.ask("preview", stack="dev", changes={SPEC: f"{CHAT}{OWNED}"}).data
        assert data["exit_code"] == 0
        assert data["answer"]["before"] is None
        data = client.ask("preview", stack="dev").data
        assert data["answer"]["before"]["usd_per_month"] == data["answer"]["after"]["usd_per_month"]
        assert client.ask("policy", stack="dev", base="main").data["answer"]["dev"]["ok"]
        reply = client.ask("preview", stack="dev", base="nowhere")
        assert reply.failed
        assert "nowhere" in reply.text
        reply = client.ask("preview", stack="dev", base="main", changes={SPEC: CHAT})
        assert "fix: leave base or changes out" in reply.text
    listed = subprocess.run([*git, "worktree", "list"], capture_output=True, text=True, check=True).stdout
    assert len(listed.splitlines()) == 1


def test_a_change_that_cannot_be_decided_says_why_to_each_tool(client: Client, shop: Path) -> None:
    """The answer is that of the sizing: `policy` took it for a report by stack, and ended as an error of the protocol."""
    for spec in (CHAT.replace("aws/us-east-1", "gcp/us-central1"), CHAT.replace("ttft: 1s", "ttft: 1ms")):
        for tool in ("policy", "preview"):
            reply = client.ask(tool, stack="dev", changes={SPEC: f"{spec}{OWNED}"})
            assert reply.data["exit_code"] == 5, reply.text
            assert "change what `relax` and `nearest` name" in reply.data["next"][0]
            assert not any("commit" in step for step in reply.data["next"])


def test_a_change_over_its_budget_is_told_by_what_is_asked_of_it(client: Client) -> None:
    spec = f"{CHAT}{OWNED}budget: {{monthly: 100 USD}}\n"
    for tool in ("preview", "policy"):
        reply = client.ask(tool, stack="dev", changes={SPEC: spec})
        assert reply.data["exit_code"] == 2, reply.text
        assert "chat: budget monthly 100.00 USD: over by" in reply.data["remarks"]
        assert "budget" in reply.data["next"][0]


def test_files_of_the_copy_are_named_as_those_of_the_project(client: Client) -> None:
    broken = {"stacks/config/Pulumi.dev.yaml": "config: ["}
    for tool in ("preview", "policy"):
        reply = client.ask(tool, stack="dev", changes=broken)
        assert "stacks/config/Pulumi.dev.yaml:1" in reply.text
        assert "/sizewell-" not in reply.text
        assert "/copy" not in reply.text


def test_an_empty_answer_says_which_limit_leaves_nothing(client: Client) -> None:
    data = client.ask("offers", accelerator="B300", region="eu-central-1").data
    assert data["answer"] == []
    assert "it is sold without --region eu-central-1" in data["remarks"]
    assert data["next"] == ["offers without the limit that `remarks` names"]


def test_a_search_finds_pages_and_rows_of_tables(client: Client) -> None:
    pages = client.ask("docs", search="capacity block").data["answer"]
    assert pages
    assert all(each["found"] for each in pages)
    shown = client.ask("docs", topic=pages[0]["topic"], search="capacity block").data["answer"]["text"].lower()
    assert "capacity" in shown
    data = client.ask("docs", topic="spec", search="spot_policy").data
    assert "spot_policy" in data["answer"]["text"]
    assert "cut" not in data


def test_whatever_goes_wrong_in_an_answer_has_a_way_out() -> None:
    def broken(_root: Path, _args: Any, document: Any) -> Any:
        return document["rows"].get("a")

    class Said:
        root = Path()

        def __call__(self, _line: Any) -> Done:
            return Done(code=0, out='{"rows": []}', err="")

    for tool in TOOLS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(
                answering.BY_NAME,
                tool.name,
                replace(tool, shape=broken, takes=Arguments, line=lambda *_: Line(words=[])),
            )
            answer = answering.answer(Said(), EXITS, tool.name, {})
            assert answer.failed
            assert "AttributeError" in answer.text
            assert "\n  fix: run `sizewell " in answer.text


SLEEPS = """import os, pathlib, subprocess, tempfile, time
kept = tempfile.mkdtemp()
program = subprocess.Popen(["sleep", "97"])
pathlib.Path(os.environ["SEEN"]).write_text(f"{os.getpid()} {program.pid}")
time.sleep(97)
"""


@pytest.mark.parametrize(
    ("how", "loading"),
    [("cancel", False), ("close", False), ("SIGTERM", False), ("SIGKILL", False), ("cancel", True), ("SIGTERM", True)],
)
def test_a_call_that_nobody_waits_for_ends_with_all_that_it_started(
    shop: Path, tmp_path: Path, how: str, loading: bool
) -> None:
    own, seen, temporary = tmp_path / "shop", tmp_path / "seen", tmp_path / "t"
    subprocess.run(["cp", "-r", str(shop), str(own)], check=True)
    (own / "stacks/__main__.py").write_text(SLEEPS)
    temporary.mkdir()
    server = subprocess.Popen(
        [sys.executable, "-m", "sizewell", "mcp", "-q"],
        cwd=own, env={**os.environ, "TMPDIR": str(temporary), "SEEN": str(seen)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdin
    assert server.stdout
    assert server.stderr

    def send(method: str, number: int | None = None, **params: Any) -> None:
        of = {} if number is None else {"id": number}
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **of, "params": params}) + "\n")
        server.stdin.flush()
        if number and number != WAITING:
            assert f'"id":{number}' in server.stdout.readline()

    client = {"name": "a", "version": "1"}
    send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    send("notifications/initialized")
    if not loading:
        send("tools/call", 2, name="offers", arguments={"accelerator": "T4"})
    changes = {SPEC: f"{CHAT}{OWNED}"}
    send("tools/call", WAITING, name="preview", arguments={"stack": "dev", "changes": changes})
    if loading:
        time.sleep(0.5)
    else:
        until(lambda: seen.exists() and " " in seen.read_text())
    if how == "cancel":
        send("notifications/cancelled", requestId=WAITING)
        if not loading:
            until(lambda: not running(seen))
    if how.startswith("SIG"):
        server.send_signal(getattr(signal, how))
    else:
        server.stdin.close()
    server.wait(20)
    until(lambda: not held(temporary, own))
    assert not running(seen)
    if how != "SIGKILL":  # of which the folders of the server itself are left
        until(lambda: not list(temporary.iterdir()))
    assert "Traceback" not in server.stderr.read()


WAITING = 7


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 40
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def running(seen: Path) -> list[int]:
    """Which of the processes that were noted are there and no zombies."""
    numbers = seen.read_text().split() if seen.exists() else []
    states = [
        subprocess.run(["ps", "-o", "stat=", "-p", each], check=False, capture_output=True, text=True).stdout
        for each in numbers
    ]
    return [int(number) for number, state in zip(numbers, states, strict=True) if state.strip() and state[0] != "Z"]


def held(*folders: Path) -> list[str]:
    """The processes that work in a folder of a test, or say it in their environment."""
    listed = subprocess.run(["ps", "-eo", "pid=,stat="], capture_output=True, text=True, check=True).stdout.split("\n")
    found = []
    for line in filter(None, listed):
        number, state = line.split()
        with contextlib.suppress(OSError):
            said = Path(f"/proc/{number}/environ").read_bytes().decode(errors="replace")
            if state[0] != "Z" and any(str(folder) in said for folder in folders):
                found.append(number)
    return found


def test_outside_of_a_project_what_needs_none_answers(tmp_path: Path) -> None:
    from .clients import connected

    with connected(tmp_path, {}) as client:
        assert client.ask("size", spec=CHAT).data["exit_code"] == 0
        listed = client.ask("project").data
        assert listed["answer"]["is_project"] is False
        assert "sizewell init" in listed["next"][0]
        assert not any("preview" in step for step in listed["next"])
        reply = client.ask("preview", stack="dev")
        assert reply.failed
        assert "is not in a Pulumi project\n  fix: " in reply.text
        assert client.ask("preview", stack="dev", changes={SPEC: CHAT}).text == reply.text


@pytest.mark.parametrize(
    "document",
    [
        {"a": "x" * 40_000},
        [{"k": "v" * 100}] * 1_000,
        {str(n): n for n in range(5_000)},
        {"a": {"b": {"c": list(range(9_000))}}},
        [["y" * 30_000]],
        "z" * 50_000,
    ],
)
def test_any_document_is_cut_to_the_room_and_the_rest_has_a_path(document: Any) -> None:
    kept, cut = fitting.fitted(document)
    assert len(fitting.text(kept)) <= fitting.CHARACTERS + 200
    assert cut
    for line in cut:
        fitting.part(document, line.partition(":]: ")[0] + ":]" if ":]: " in line else line.partition(": ")[0])
