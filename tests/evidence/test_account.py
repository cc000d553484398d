"""The engine's and the clouds' side of a run, with a state that is given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizewell.cli import evidence
from sizewell.evidence import world
from sizewell.evidence.journal import Clock, Journal, path_of
from sizewell.evidence.run import Run
from sizewell.sizing.errors import ServiceError, UsageError

from .pretend import notes


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One stack with a resource; `destroyed` lists what its engine has destroyed."""
    clock, destroyed = Clock(), []
    own = notes(clock, stacks=["trial"])
    journal = Journal(path_of(tmp_path, "trial"), own, clock, resumed=False)
    state = SimpleNamespace(resources=[SimpleNamespace(custom=True)], pending_operations=())
    backend = SimpleNamespace(stacks=lambda: [SimpleNamespace(name="trial")])
    config = SimpleNamespace(deleter=lambda *_: {})
    reader = SimpleNamespace(backend=backend, config=config, accounts=lambda _: ())

    def destroy(*_: Any, **__: Any) -> None:
        destroyed.append("trial")

    monkeypatch.setattr(world.act, "destroy", destroy)
    monkeypatch.setattr(world, "stack_parts", lambda *_: SimpleNamespace(clusters=(), environment="dev"))
    monkeypatch.setattr(world.Account, "_state", lambda *_: state)
    made = world.Account(
        root=tmp_path, project="sizewell", journal=journal, clock=clock, fresh=lambda: reader, checks=list,
        connect=lambda *_: True,
    )  # fmt: skip
    return SimpleNamespace(world=made, journal=journal, destroyed=destroyed)


def test_what_cannot_be_taken_in_keeps_nothing_standing(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import that fails for good is no reason to leave machines on; the record says that something is not known."""

    def fails(*_: Any) -> None:
        raise ServiceError("trial: pulumi import failed: no provider")

    monkeypatch.setattr(world.Account, "_adopt", fails)
    account.journal.begin("up", 1.0)
    with pytest.raises(ServiceError, match="no provider"):
        account.world.take_down(last=False)
    assert account.destroyed == []
    with pytest.raises(ServiceError, match="no provider"):
        account.world.take_down(last=True)
    assert account.destroyed == ["trial"]
    assert account.journal.notes.unseen == {"trial": 1}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"things": 3}, "3 resources have its tags or names already"),
        ({"fault": "no module named x"}, "its program does not evaluate: no module named x"),
        (KeyboardInterrupt, ""),
        ({}, None),
    ],
)
def test_a_stack_that_was_made_to_look_goes_where_the_run_is_refused(
    found: Any, said: str | None, account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, made, removed = account.world.fresh().backend, [], []
    backend.init, backend.remove, backend.stacks = made.append, removed.append, list

    def look() -> Any:
        if found is KeyboardInterrupt and len(made) == 2:
            raise KeyboardInterrupt
        last = len(made) == 2 and found is not KeyboardInterrupt
        return SimpleNamespace(**{"things": 0, "orphans": 0, "fault": ""} | (found if last else {}))

    monkeypatch.setattr(world.Account, "reconciler", lambda *_: SimpleNamespace(look=look))
    account.journal.notes.stacks = ["ttl-trial", "trial"]
    run = Run(journal=account.journal, world=account.world, clock=Clock())
    if said is None:
        evidence._must_be_empty(run)
        assert removed == []
    else:
        with pytest.raises((UsageError, KeyboardInterrupt), match=said):
            evidence._must_be_empty(run)
        assert removed == ["trial", "ttl-trial"]
    assert made == ["ttl-trial", "trial"]
