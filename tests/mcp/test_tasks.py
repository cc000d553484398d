"""What an agent is asked is solved by calls alone: tasks that were written before the tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .clients import Client

TASKS = yaml.safe_load((Path(__file__).parent / "tasks/tasks.yaml").read_text(encoding="utf-8"))


def test_there_are_twenty_and_one_of_stock() -> None:
    assert len({task["goal"] for task in TASKS}) == 21


@pytest.fixture
def given(shop: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    files = {shop / name: text for name, text in request.param.items()}
    before = {path: path.read_text() if path.exists() else None for path in files}
    for path, text in files.items():
        path.write_text(text)
    yield
    for path, text in before.items():
        path.unlink() if text is None else path.write_text(text)


@pytest.mark.parametrize(
    ("task", "given"), [(task, task.get("given", {})) for task in TASKS], ids=lambda each: str(each.get("goal", "")),
    indirect=["given"],
)  # fmt: skip
@pytest.mark.usefixtures("given", "unchanged")
def test_it_is_solved_by_calls_alone(client: Client, task: dict[str, Any]) -> None:
    answers: list[dict[str, Any]] = []
    for call in task["calls"]:
        reply = client.ask(call["tool"], **_filled(call.get("with", {}), answers))
        assert reply.failed == call.get("refused", False), reply.text
        if not reply.failed:
            codes = call.get("code", 0)
            assert reply.data["exit_code"] in (codes if isinstance(codes, list) else [codes]), reply.text
        for pattern in call.get("holds", ()):
            assert re.search(pattern, reply.text), f"{call['tool']}: no {pattern} in {reply.text}"
        answers.append({} if reply.failed else reply.data["answer"])


def _filled(value: Any, answers: list[dict[str, Any]]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, answers) for key, each in value.items()}
    if isinstance(value, str) and (match := re.fullmatch(r"\$(\d+)\.(\w+)", value)):
        return answers[int(match[1]) - 1][match[2]]
    return value
