"""What holds for every command and every action of one: options, JSON, pipes, disks, colour, words that are mistyped."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.cli import output, terminal
from sizewell.cli.main import COMMANDS, main
from sizewell.cli.reference import EVERYWHERE, EXITS, VARIABLES
from sizewell.sizing.errors import UsageError

from .conftest import CHAT, ROOT, Done, Sizewell
from .lines import leaves
from .reads import exit_codes, variables

WITHOUT_JSON = {"completion": "a script for a shell is no data"}
# Reads that no name in the code tells, and under which name the page has them.
INDIRECT = {
    "clouds/rest.py: prefix": "AWS_ENDPOINT_URL*",
    "*_*": "AWS_ENDPOINT_URL*",
    "recording/evaluate/isolation.py: key": "PULUMI_CONFIG*",
    "teardown/notices.py: mail.password_env": "mail.password_env",
    "teardown/telling.py: name": "operators.*_env",
    "teardown/telemetry/prometheus.py: token_env": "prometheus.*.token_env",
    "launch/scripts/run.py: origin": "SIZEWELL_*",
    "launch/scripts/all_reduce.py: slurms": "SLURM_*",
    "launch/scripts/all_reduce.py: ours": "RANK",
    "launch/scripts/train_fsdp.py: name": "RANK",
    "launch/scripts/train_neuron.py: name": "RANK",
    "cli/settings.py: setting.variable": "SIZEWELL_USAGE",
    "SLURM_LOCALID": "SLURM_*",
}


LEAVES = dict(leaves())


@pytest.mark.parametrize("name", LEAVES)
def test_it_has_the_options_of_all_json_and_a_help_for_each_argument(name: str) -> None:
    command = LEAVES[name]
    options = {word for parameter in command.params for word in parameter.opts}
    assert {"-h", "-q", "--quiet", "--color", "--no-color", "-v", "--verbose", "--log-file"} <= options
    file = f"cli/{name.partition(' ')[0]}.py"
    if name in WITHOUT_JSON:
        assert "--json" not in options, f"`sizewell {name}` has --json: take it out of WITHOUT_JSON in this file"
    elif "--json" not in options:
        pytest.fail(f"`sizewell {name}`: add --json to the command in {file}, or say in WITHOUT_JSON why not")
    assert [parameter.name for parameter in command.params if not parameter.help] == []


@pytest.mark.parametrize("name", LEAVES)
def test_help_before_and_after_is_the_same(name: str, sizewell: Sizewell) -> None:
    assert sizewell("help", *name.split()) == sizewell(*name.split(), "--help")


def test_version_has_a_short_form(sizewell: Sizewell) -> None:
    assert sizewell("-V") == sizewell("--version")
    assert sizewell("help").out == sizewell("--help").out == sizewell().out


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("siz examples/chat.yaml", "did you mean size?"),
        ("previw", "did you mean preview?"),
        ("hepl size", "did you mean help?"),
        ("teardown pln", "did you mean plan?"),
        ("prices shw g6.xlarge", "did you mean show?"),
        ("--verison", "did you mean --version?"),
        ("size --jsn examples/chat.yaml", "did you mean --json?"),
        ("teardown plan --fromat=json", "did you mean --format?"),
        ("preview --stack dev", "name the stack without an option: `sizewell preview dev`"),
        ("preview -s dev", "name the stack without an option: `sizewell preview dev`"),
        ("policy --stak dev", "name the stack without an option: `sizewell policy dev`"),
        ("size examples/chat.yaml --output json", "write `sizewell size examples/chat.yaml --json`"),
        ("size examples/chat.yaml -o yaml", "it prints a table for people; --json prints JSON"),
        ("size examples/chat.yaml --region us-east-1", "write it in the spec: `infra: [aws/us-east-1]`"),
        ("size examples/chat.yaml --gpu H100", "write it in the spec: `resources: {accelerators: [H100]}`"),
        ("preview --jsn=dev", "see `sizewell preview --help`"),  # --json takes no value
        ("doctor --region x", "see `sizewell doctor --help`"),
        ("preview --compare main", "did you mean --base?"),
        ("keep --util 2026-01-01", "did you mean --until?"),
        ("preview --format jsn", "did you mean json?"),
        ("size --color nevr x.yaml", "did you mean never?"),
        ("size --on someday x.yaml", "size: --on: must be a date such as 2026-08-20, got 'someday'"),
        ("size --stack --check", "size: --stack needs a value, got --check"),
        ("size x.yaml --stack", "size: option '--stack' requires an argument"),
        ("size --json=yes x.yaml", "size: option '--json' does not take a value"),
        ("keep", "keep: STACK is missing"),
        ("prices diff", "prices diff: --since is missing"),
        ("keep dev-aws prod-aws", "keep: 'prod-aws' is neither a duration nor a day nor a time"),
        ("keep dev-aws 4h prod-aws", "keep: got unexpected extra argument (prod-aws)"),
        ("teardown", "teardown: ACTION is missing; choose from plan, run, status"),
        ("--log-file", "sizewell: option '--log-file' requires an argument"),
        ("-q", "COMMAND is missing; choose from init, new"),
        ("reconcile dev-aws --adopt --delete", "reconcile: --adopt and --delete exclude each other"),
    ],
)
def test_what_is_mistyped_is_told_with_what_is_near(line: str, near: str, sizewell: Sizewell) -> None:
    done = sizewell(*line.split())
    assert (done.code, done.out) == (64, "")
    assert near in done.err
    assert done.err.count("\n") == 2


def test_a_spec_comes_through_standard_input(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chat.yaml").write_text(CHAT)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CHAT.encode())))
    day = ("--on", "2026-09-20", "--json")
    piped, named = sizewell("size", "-", *day), sizewell("size", str(tmp_path / "chat.yaml"), *day)
    assert json.loads(piped.out)["workloads"] == json.loads(named.out)["workloads"]


def test_a_plan_comes_through_standard_input() -> None:
    line = [sys.executable, "-m", "sizewell.cli.main", "teardown", "replay", "-", "--json"]
    text = (ROOT / "examples/timelines/weekend.json").read_text(encoding="utf-8")
    done = subprocess.run(line, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["at"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"name: x\nkind: notebok\n", "standard input:2:7: kind: must be"),
        (b"\xff", "is not UTF-8"),
        (b"#" * 1_000_001, "is larger than"),
    ],
)
def test_what_is_wrong_with_standard_input_is_told(
    data: bytes, says: str, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    done = sizewell("explain", "-")
    assert done.code == 64
    assert says in done.err
    assert sizewell("size", "-", "-").code == 64


PLAN = "tests/preview/fixtures/preview-create.json"
# One line of each command that prints, without a cloud, a backend or a stack's program.
PRINTING = {
    "size": ("size", "examples/chat.yaml"),
    "explain": ("explain", "examples/chat.yaml"),
    "policy": ("policy", "--list"),
    "simulate": ("simulate", "examples/chat.yaml"),
    "offers": ("offers", "L4"),
    "prices show": ("prices", "show", "g6.xlarge"),
    "prices diff": ("prices", "diff", "--since", "2026-07-01", "--on", "2026-09-20"),
    "launch": ("launch", "dev-aws", "--image", "registry.example.com/a:1", "-q"),
    "teardown replay": ("teardown", "replay", "examples/timelines/weekend.json"),
    "teardown schedule": ("teardown", "schedule", "github", "--image", "registry.example.com/a@sha256:" + "0" * 64),
    "doctor": ("doctor",),
    "preview": ("preview", "--plan", PLAN, "--format", "json"),
    "help": ("help", "size"),
}


def _to(descriptor: int, line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Done:
    """A command whose standard output is an open file of the system."""
    err = io.StringIO()
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", err)
        monkeypatch.chdir(ROOT)
        code = main(line)
    monkeypatch.undo()
    return Done(code, "", err.getvalue())


@pytest.mark.parametrize("name", PRINTING)
def test_a_reader_that_goes_away_and_a_full_disk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    gone = _to(writer, PRINTING[name], monkeypatch)
    assert gone.code == 141
    assert "sizewell:" not in gone.err
    if Path("/dev/full").exists():
        full = _to(os.open("/dev/full", os.O_WRONLY), PRINTING[name], monkeypatch)
        assert full.code == 74
        assert "could not be written" in full.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_file_on_a_full_disk(sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = sizewell("preview", "--plan", PLAN, "--format", "html", "--output", "/dev/full")
    assert done.code == 74
    assert "could not be written: No space left" in done.err
    with pytest.raises(UsageError, match=r"--json: .*nowhere"):
        output.write_file(Path("/nowhere/rows.json"), ["x"], "--json")


def test_quiet_leaves_remarks_out_but_no_errors(sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    line = ("size", "examples/chat.yaml", "--on", "2027-09-20")
    loud, quiet = sizewell(*line), sizewell(*line, "--quiet")
    assert "days old" in loud.err
    assert (quiet.out, quiet.err) == (loud.out, "")
    assert sizewell("-q", *line).err == ""
    assert "no such file" in sizewell("size", "nowhere.yaml", "-q").err


@pytest.mark.parametrize(
    ("flags", "environment", "is_terminal", "coloured"),
    [
        ((), {}, True, True),
        ((), {}, False, False),
        ((), {"FORCE_COLOR": "1"}, False, False),
        ((), {"NO_COLOR": "1"}, True, False),
        ((), {"NO_COLOR": ""}, True, True),
        ((), {"TERM": "dumb"}, True, False),
        (("--no-color",), {}, True, False),
        (("--color", "never"), {}, True, False),
        (("--color", "always"), {"NO_COLOR": "1"}, False, True),
    ],
)
def test_colour_is_for_terminals_and_who_asks(
    flags: tuple[str, ...],
    environment: dict[str, str],
    is_terminal: bool,
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both streams: a table with an amount over its budget, and an error."""
    main_side, side = pty.openpty() if is_terminal else os.pipe()[::1]
    shown = b""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    with os.fdopen(side, "w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", out)
        terminal.choose(color="always" if "always" in flags else "never" if flags else "auto")
        output.console().print("over", style="bold red")
        assert main(["size", *flags, "nowhere.yaml"]) == 64
        out.flush()
        while b"no such file" not in shown:  # a terminal hands on line by line
            shown += os.read(main_side, 65_536)
    os.close(main_side)
    monkeypatch.undo()
    terminal.choose()
    assert b"over" in shown
    assert b"no such file" in shown
    assert (b"\x1b[1;31m" in shown.partition(b"over")[0] or b"\x1b[" in shown.partition(b"\n")[0]) is coloured
    assert (b"\x1b[1;31msizewell:" in shown) is coloured


def test_the_page_lists_each_variable_that_the_code_reads_and_no_other() -> None:
    listed = {name for rows in VARIABLES.values() for name in rows}
    read = {INDIRECT.get(name, name) for name in variables()}
    assert read - listed == set()
    of_one_line = {"GOOGLE_ENDPOINT_URL*", "AZURE_ENDPOINT_URL*"}
    of_urllib = {"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"}  # tests/clouds/test_rest.py
    assert listed - read == of_one_line | of_urllib


def test_the_page_lists_each_exit_code_and_each_help_those_of_its_command() -> None:
    codes = exit_codes()
    assert codes.keys() == EXITS.keys()
    spec = importlib.util.spec_from_file_location("command_line_page", ROOT / "tools/command_line_page.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    for command in COMMANDS:
        own = {code for code, files in codes.items() if f"cli/{command}.py" in files}
        assert own - set(EVERYWHERE) <= page.codes_of(command), command
    assert (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8") == page.page()
