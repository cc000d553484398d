"""The loop that saves and resumes, with a job of one number: what it does with a store that fails, and with settings of another run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkpoint import Alone, Block
from processes import Memory
from run import AGAIN, DONE, OVER, Settings, Stop, WrongInputError, read_settings, train
from store import RefusedError, StoreError

PLAIN = Settings(checkpoint_uri="file:///run", checkpoint_steps=2, checkpoint_interval_s=900.0, steps=6)


class Count:
    """A model of one number, which each step moves by what follows from the step and the sample."""

    def __init__(self) -> None:
        self.value = np.zeros(1, "<f4")
        self.seen: list[tuple[int, int]] = []

    def blocks(self) -> list[Block]:
        def write(values: np.ndarray) -> None:
            self.value[...] = values

        return [Block("value", "F32", (1,), (0,), (1,), lambda: self.value, write)]

    def resumed(self, step: int) -> None:
        self.seen.append((step, -1))

    def step(self, step: int, first_sample: int) -> float:
        self.seen.append((step, first_sample))
        self.value += 0.5 * step + first_sample
        return float(self.value[0])

    def describe(self) -> dict[str, Any]:
        return {"vocab": 7}


class Fails(Memory):
    """A store that does not take these manifests, by the number of the attempt."""

    def __init__(self, *attempts: int, kind: type[StoreError] = StoreError) -> None:
        super().__init__()
        self.attempts, self.kind, self.tries = attempts, kind, 0

    def put(self, name: str, data: bytes) -> None:
        if name.startswith("manifests/"):
            self.tries += 1
            if self.tries in self.attempts:
                raise self.kind(f"{name}: no answer")
        super().put(name, data)


@pytest.fixture(autouse=True)
def _own_signals() -> Any:
    import signal

    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def ran(store: Any, job: Any = None, **changes: Any) -> tuple[int, Count]:
    job = job or Count()
    settings = replace(PLAIN, **changes)
    return train(settings, job, Alone(), store, Stop(settings)), job


def test_what_is_stopped_and_resumed_is_what_ran_through() -> None:
    whole, broken = Memory(), Memory()
    through = ran(whole)[1].value[0]
    for steps in (1, 3, 4, 6):
        code, job = ran(broken, steps=steps)
        assert code == DONE
    assert job.value[0] == through
    assert job.seen == [(4, -1), (4, 32), (5, 40)]


@pytest.mark.parametrize("failing", [(1,), (2,), (1, 2)])
def test_a_store_that_answers_again_costs_nothing(failing: tuple[int, ...], capsys: pytest.CaptureFixture[str]) -> None:
    store = Fails(*failing)
    assert ran(store)[0] == DONE
    said = capsys.readouterr().out
    assert said.count("was not saved") == len(failing)
    assert "was not saved (1 of 3): manifests/" in said
    assert "saved step 6" in said
    assert ran(store)[1].seen == [(6, -1)]


def test_three_failures_one_after_another_are_the_end() -> None:
    with pytest.raises(StoreError, match="no answer"):
        ran(Fails(1, 2, 3, 4), steps=100)


def test_the_last_save_has_to_succeed() -> None:
    with pytest.raises(StoreError):
        ran(Fails(3))


def test_no_permission_ends_at_once() -> None:
    store = Fails(1, kind=RefusedError)
    with pytest.raises(RefusedError):
        ran(store)
    assert store.tries == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"seed": 1}, "seed was 0, is 1"), ({"sequence_length": 8}, "sequence_length was 1024, is 8")],
)
def test_another_run_is_not_resumed(changes: dict[str, Any], says: str) -> None:
    store = Memory()
    ran(store)
    with pytest.raises(RefusedError, match=says) as error:
        ran(store, **changes)
    assert "Use another prefix, or that run's settings" in str(error.value)


def test_more_steps_and_another_pace_are_the_same_run() -> None:
    store = Memory()
    ran(store)
    assert ran(store, steps=8, checkpoint_steps=1, grace_s=120.0, learning_rate=1e-4)[1].seen == [
        (6, -1),
        (6, 48),
        (7, 56),
    ]


def test_a_notice_counts_as_told_to_end(tmp_path: Any) -> None:
    notice = tmp_path / "notice"
    notice.write_text("")
    store = Memory()
    assert ran(store, notice_file=str(notice))[0] == AGAIN
    assert not store.list("manifests/")  # nothing was done, nothing is to be saved


@pytest.mark.parametrize("left", [10.0, 0.0])
def test_a_deadline_is_met_with_a_save_or_without_time_for_one_not_at_all(left: float) -> None:
    store = Memory()
    moment = "2000-01-01T00:00:00Z" if not left else "2100-01-01T00:00:00Z"
    assert ran(store, deadline=moment)[0] == (DONE if left else OVER)


class Slow(Count):
    def step(self, step: int, first_sample: int) -> float:
        time.sleep(0.05)
        return super().step(step, first_sample)


def test_a_time_limit_counts_the_running_of_all_starts_and_not_the_waiting_between_them() -> None:
    store = Memory()
    assert ran(store, Slow(), steps=6, checkpoint_steps=1, time_limit_s=60.0)[0] == DONE
    used = max(json.loads(store.get(name))["meta"]["ran_s"] for name in store.list("manifests/"))
    assert 0.3 <= used < 30
    time.sleep(0.3)  # nobody runs
    code, job = ran(store, Slow(), steps=1000, checkpoint_steps=1, time_limit_s=used + 0.5)
    assert code == OVER
    assert 6 < job.seen[-1][0] < 6 + 15, "what its first start took is part of the limit, the pause is not"
    assert ran(store, Slow(), steps=1000, time_limit_s=used + 0.5)[0] == OVER, "and it stays over"


def test_all_faults_of_settings_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZEWELL_STEPS", "many")
    monkeypatch.delenv("SIZEWELL_CHECKPOINT_URI", raising=False)
    with pytest.raises(WrongInputError) as error:
        read_settings(["--precision", "fp7", "--pipeline", "2", "--stepz", "3"])
    lines = str(error.value).splitlines()
    assert len(lines) == 6, lines
    assert any("--stepz: no such argument" in line for line in lines)
    assert any("a layout with pipeline parallelism needs Megatron-LM, torchtitan or MaxText" in line for line in lines)


LLAMA = [f"model.layers.{layer}.self_attn.{one}_proj" for layer in range(2) for one in "qkvo"]


def test_adapters_are_on_the_matrices_that_are_named_and_a_name_that_is_not_there_is_refused():
    tuned = replace(PLAIN, method="lora")
    assert tuned.adapted(LLAMA) == "all-linear"
    assert read_settings(["--checkpoint-uri", "file:///run", "--lora-targets", "q_proj,v_proj"]).adapted(LLAMA) == [
        "q_proj",
        "v_proj",
    ]
    for targets, matrices, own in (
        ("q_proj,v_proj", ("gpt_neox.layers.0.attention.query_key_value",), ["query_key_value"]),
        ("q_proj,o_proj", ("h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_proj"), ["c_attn", "attn.c_proj"]),
        ("gate_proj,up_proj,down_proj", ("mlp.gate_up_proj", "mlp.down_proj"), ["gate_up_proj", "down_proj"]),
        ("c_attn", ("h.0.attn.c_attn",), ["c_attn"]),
    ):
        assert replace(tuned, lora_targets=targets).adapted(matrices) == own
    for wrong, said in (
        ("q_proj,c_attn", "is named c_attn; there are k_proj, o_proj, q_proj, v_proj"),
        (",", "nothing"),
    ):
        with pytest.raises(WrongInputError, match=said):
            replace(tuned, lora_targets=wrong).adapted(LLAMA)
    narrow = replace(tuned, lora_targets="q_proj,v_proj")
    assert narrow.identity() != tuned.identity()  # a checkpoint of other adapters is of another run
