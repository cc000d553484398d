"""docs/howto/tear-down.md: each command of `sizewell teardown` that it names is run, in its order; all others are read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from sizewell.cli import project
from sizewell.cli import teardown as command
from sizewell.cli.main import main
from sizewell.sizing.records import stackname
from sizewell.teardown import backend
from sizewell.teardown.telemetry import cloudwatch
from tests.cli.lines import parsed
from tests.teardown import world
from tests.teardown.test_run import described, stack

GUIDE = Path(__file__).parents[2] / "docs/howto/tear-down.md"
DIGEST = f"sha256:{'ab' * 32}"
COMMANDS = [
    line.replace("sha256:DIGEST", DIGEST).replace("REGISTRY/", "ghcr.io/petsnap/").replace("OWNER/NAME", "petsnap/stacks")
    for block in re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]  # fmt: skip
STACKS = GUIDE.with_name("run-a-stack.md").read_text(encoding="utf-8")
HELD = (
    "sizewell teardown pause",
    "sizewell teardown resume",
)  # nothing would be done after them; test_observe.py has them
RUN = [line for line in COMMANDS if line.startswith("sizewell teardown") and not line.startswith(HELD)]
SAYS = {  # of each command, a word of its answer
    "sizewell teardown plan": "train",
    "sizewell teardown plan --format markdown": "| dev-aws |",
    "sizewell teardown plan --format html > plan.html": "<svg",
    "sizewell teardown plan --format json > plan.json": '"sha256"',
    "sizewell teardown status": "pool to be emptied",
    "sizewell teardown status --html fleet.html": "",
    "sizewell teardown publish": "settings 1, published on",
    "sizewell teardown run": "nothing was changed (no --yes)",
    "sizewell teardown run --yes": "1 done",
    "sizewell teardown run --plan plan.json --yes": "",
    "sizewell teardown report": "dev-aws",
    "sizewell teardown replay FILE": "empty",
    "sizewell teardown observed dev-aws": "g6.12xlarge",
    'sizewell teardown accept-gap --reason "a full disk"': "nothing to accept",
}


def test_every_line_is_a_command_as_its_parser_has_it():
    assert len(COMMANDS) >= 18
    for line in COMMANDS:
        words = shlex.split(line.partition(" > ")[0])
        assert words.pop(0) == "sizewell", line
        parsed(words)  # click's own error where it is none


def test_the_guide_is_followed(evening, monkeypatch, capsys, tmp_path):
    stack(evening)
    evening.told()
    monkeypatch.setattr(cloudwatch, "HISTORY_S", 1800.0)  # six plans are made, and moto looks at each sample
    (evening.folder / "Pulumi.yaml").write_text("name: sizewell\n")
    (evening.folder / "stacks/config").mkdir(parents=True)
    settings = f"schema: sizewell.teardown/1\njournal: {evening.config.journal}\n"
    (evening.folder / "stacks/config/teardown.yaml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(project, "root", lambda: evening.folder)
    monkeypatch.setattr(command, "opened", lambda _: (evening.config, evening.journal, evening.reader))
    monkeypatch.setattr(backend, "Backend", lambda root: world.ShelfBackend(root=root, shelf=evening.shelf))
    for line in RUN:
        written, _, file = line.partition(" > ")
        kept = sorted((evening.folder / ".sizewell/timelines").glob("*.json"))  # of the acts so far
        code = main([str(kept[0]) if word == "FILE" else word for word in shlex.split(written)[1:]])
        said = capsys.readouterr()
        assert code in (0, 6), (line, said.err)
        if file:
            Path(file).write_text(said.out, encoding="utf-8")
        words = SAYS.get(line, "teardown")
        assert words in said.out, (line, said.out, said.err)
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 0
    assert json.loads(Path("plan.json").read_text())["schema"] == "sizewell.teardown-plan/1"


@pytest.mark.parametrize("word", stackname._WORDS)
def test_each_word_for_an_environment_stands_on_the_page(word: str) -> None:
    assert f"`{word}`" in STACKS.partition("2. **Decide**")[0]
