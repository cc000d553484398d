"""The contract: a checkpoint is whole or it is not there, whatever was killed, lost, altered or raced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import checkpoint
import numpy as np
import pytest
from checkpoint import CARRIERS, CorruptError, load, newest, prunable, save
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import SCRIPTS, Down, Killed, Memory, Table, Threads, together
from store import RefusedError, StoreError

PART = 96  # bytes of a part in these tests: small, so that there are many


def tensors(seed: int = 0) -> dict[str, tuple[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    return {
        "model/w": ("F32", random.standard_normal((7, 5)).astype("<f4")),
        "model/half": ("BF16", random.integers(0, 2**16, (4, 3)).astype("<u2")),
        "exp_avg/w": ("F32", random.standard_normal((7, 5)).astype("<f4")),
        "model/norm": ("F32", random.standard_normal(1).astype("<f4")),
        "count": ("I64", np.array(seed, "<i8")),
    }


def saved(store: Any, step: int, *, size: int = 2, seed: int | None = None, part_bytes: int = PART) -> list[Any]:
    made = tensors(step if seed is None else seed)
    return together(
        size,
        lambda comm: save(
            store, comm, step, Table(made, comm.rank, size).blocks, {"step": step}, part_bytes=part_bytes
        ),
    )


def loaded(store: Any, *, size: int = 2, say: Any = lambda _: None) -> tuple[list[Any], list[Table]]:
    tables = [Table(tensors(), rank, size, empty=True) for rank in range(size)]
    return together(size, lambda comm: load(store, comm, tables[comm.rank].blocks, say)), tables


@st.composite
def states(draw: st.DrawFn) -> dict[str, tuple[str, np.ndarray]]:
    made = {}
    for number in range(draw(st.integers(1, 4))):
        dtype = draw(st.sampled_from(sorted(CARRIERS)))
        shape = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
        carrier = np.dtype(CARRIERS[dtype])
        raw = draw(st.binary(min_size=1, max_size=8))
        values = np.resize(np.frombuffer(raw * carrier.itemsize, carrier), shape)
        made[f"t{number}"] = (dtype, values.copy())
    return made


@settings(deadline=None, max_examples=60)
@given(states(), st.integers(1, 4), st.integers(1, 4), st.integers(16, 200))
def test_what_some_processes_wrote_any_number_reads_to_the_last_bit(
    state: dict[str, tuple[str, np.ndarray]], writers: int, readers: int, part_bytes: int
) -> None:
    store = Memory()
    manifests = together(
        writers, lambda comm: save(store, comm, 7, Table(state, comm.rank, writers).blocks, {}, part_bytes=part_bytes)
    )
    assert all(not isinstance(each, BaseException) for each in manifests), manifests
    tables = [Table(state, rank, readers, empty=True) for rank in range(readers)]
    found = together(readers, lambda comm: load(store, comm, tables[comm.rank].blocks))
    assert [each.step for each in found] == [7] * readers
    assert all(table.same_as(state) for table in tables)


def test_parts_are_safetensors_files() -> None:
    store = Memory()
    saved(store, 1, size=1)
    for name, data in store.objects.items():
        if name.endswith(".safetensors"):
            length = int.from_bytes(data[:8], "little")
            header = json.loads(data[8 : 8 + length])
            assert length % 8 == 0
            ends = [tensor["data_offsets"][1] for key, tensor in header.items() if key != "__metadata__"]
            assert max(ends) == len(data) - 8 - length
            assert all(isinstance(value, str) for value in header["__metadata__"].values())


@pytest.mark.parametrize("size", [1, 2])
def test_killed_anywhere_in_a_save_the_one_before_is_read(size: int) -> None:
    probe = Memory()
    saved(probe, 20, size=size)
    puts = len(probe.puts)
    assert puts > 4  # several parts, then the manifest
    for dies_at in range(puts + 1):
        store = Memory()
        saved(store, 10, size=size)
        store.puts, store.dies_at = [], dies_at
        outcomes = saved(store, 20, size=size)
        found, tables = loaded(store)
        survived = dies_at == puts
        assert survived or any(isinstance(each, BaseException) for each in outcomes)
        assert [each.step for each in found] == [20 if survived else 10] * 2, dies_at
        assert all(table.same_as(tensors(20 if survived else 10)) for table in tables)


def test_the_manifest_is_last_and_the_pointer_after_it() -> None:
    store = Memory()
    saved(store, 3)
    assert store.puts[-1].startswith("manifests/")
    assert all(name.startswith("parts/") for name in store.puts[:-1])
    assert store.points == ["latest.json"]
    assert json.loads(store.objects["latest.json"])["step"] == 3


def test_where_nothing_can_be_replaced_nothing_is() -> None:
    store = Memory(overwrites=False)
    for step in (1, 2, 2):
        saved(store, step)
    assert not store.points
    assert len(set(store.puts)) == len(store.puts)
    assert loaded(store)[0][0].step == 2


def test_a_pointer_of_a_newer_release_stays(capsys: pytest.CaptureFixture[str]) -> None:
    store = Memory()
    newer = b'{"schema": "sizewell.checkpoint-pointer/9", "step": 1}'
    store.objects["latest.json"] = newer
    saved(store, 2)
    assert store.objects["latest.json"] == newer
    assert "latest.json was not set: it is of schema 'sizewell.checkpoint-pointer/9'" in capsys.readouterr().err
    assert loaded(store)[0][0].step == 2, "no reader depends on it"


def test_the_pointer_does_not_go_back() -> None:
    store = Memory()
    saved(store, 9)
    saved(store, 4)
    assert json.loads(store.objects["latest.json"])["step"] == 9


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_changed_byte_anywhere_sends_all_to_the_one_before(data: st.DataObject) -> None:
    store = Memory()
    saved(store, 1)
    older = set(store.objects)
    saved(store, 2)
    name = data.draw(st.sampled_from(sorted(n for n in store.objects if n not in older and not n.startswith("latest"))))
    content = store.objects[name]
    how = data.draw(st.sampled_from(["flip", "cut", "lost", "empty"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if how == "flip":
        store.objects[name] = (
            content[:at] + bytes([content[at] ^ 1 << data.draw(st.integers(0, 7))]) + content[at + 1 :]
        )
    elif how == "lost":
        del store.objects[name]
    else:
        store.objects[name] = b"" if how == "empty" else content[:at]
    said: list[str] = []
    found, tables = loaded(store, say=said.append)
    assert [each.step for each in found] == [1, 1]
    assert all(table.same_as(tensors(1)) for table in tables)
    assert any("passed over" in text and "000000000002-" in text for text in said) or name.startswith("manifests/")


def test_a_changed_byte_that_looks_like_another_model_sends_all_to_the_one_before() -> None:
    """Every bit of a header in turn: names, types and shapes are read before the part is."""
    store = Memory()
    saved(store, 1)
    older = set(store.objects)
    saved(store, 2)
    name = min(n for n in store.objects if n not in older and n.startswith("parts/"))
    content = store.objects[name]
    end = 8 + int.from_bytes(content[:8], "little")
    for at in range(8, end):
        store.objects[name] = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        assert [each.step for each in loaded(store)[0]] == [1, 1], at


def test_when_no_checkpoint_can_be_read_the_run_does_not_start_from_nothing() -> None:
    store = Memory()
    saved(store, 1)
    part = next(name for name in store.objects if name.startswith("parts/"))
    store.objects[part] = b"x" * len(store.objects[part])
    for outcome in loaded(store)[0]:
        assert isinstance(outcome, RefusedError)
        assert "there are checkpoints and none can be read" in str(outcome)


def test_without_any_checkpoint_a_run_starts() -> None:
    assert loaded(Memory())[0] == [None, None]


def test_parts_without_a_manifest_are_no_checkpoint() -> None:
    store = Memory()
    saved(store, 1)
    for name in [name for name in store.objects if name.startswith("manifests/")]:
        del store.objects[name]
    assert loaded(store)[0] == [None, None]


def test_a_checkpoint_of_another_model_is_refused_in_words_and_not_passed_over() -> None:
    store = Memory()
    saved(store, 1)
    other = {"model/w": ("F32", np.zeros((9, 5), "<f4"))}
    outcomes = together(2, lambda comm: load(store, comm, Table(other, comm.rank, 2).blocks))
    assert all(isinstance(each, RefusedError) for each in outcomes)
    assert "model/w is F32[7, 5] there and F32[9, 5] here: it is of another model" in str(outcomes[0])
    other = {"model/new": ("F32", np.zeros((9, 5), "<f4"))}
    outcomes = together(1, lambda comm: load(store, comm, Table(other, comm.rank, 1).blocks))
    assert "has no tensor model/new" in str(outcomes[0])


def test_what_one_process_meets_all_raise() -> None:
    store = Down(dies_at=1)
    for outcome in saved(store, 1):
        assert isinstance(outcome, StoreError)
        assert not isinstance(outcome, RefusedError)
        assert "no answer" in str(outcome)
    assert not store.list("manifests/")


def test_a_store_that_does_not_answer_is_no_reason_to_take_an_older_one() -> None:
    store = Memory()
    saved(store, 1)
    saved(store, 2)
    fine = store.get

    def get(name: str, start: int = 0, length: int | None = None) -> bytes:
        if name.startswith("parts/000000000002"):
            raise StoreError("timed out")
        return fine(name, start, length)

    store.get = get  # type: ignore[method-assign]
    assert [str(each) for each in loaded(store)[0]] == ["timed out"] * 2


def test_two_runs_that_race_leave_two_whole_checkpoints() -> None:
    store = Memory()
    outcomes = together(2, lambda comm: save(store, checkpoint.Alone(), 5, Table(tensors(comm.rank), 0, 1).blocks, {}))
    assert all(not isinstance(each, BaseException) for each in outcomes)
    whole = list(newest(store))
    assert len(whole) == 2
    assert {part.name for part in whole[0].parts}.isdisjoint(part.name for part in whole[1].parts)
    found, tables = loaded(store)
    assert found[0] == found[1]
    assert any(all(table.same_as(tensors(seed)) for table in tables) for seed in (0, 1))


def test_saving_a_step_again_does_not_touch_what_is_there() -> None:
    store = Memory()
    saved(store, 5)
    before = dict(store.objects)
    saved(store, 5)
    assert all(store.objects[name] == data for name, data in before.items() if name != "latest.json")


def test_a_manifest_of_a_later_schema_is_said_and_passed_over() -> None:
    store = Memory()
    saved(store, 1)
    name = next(name for name in store.objects if name.startswith("manifests/"))
    body = json.loads(store.objects[name]) | {"schema": "sizewell.checkpoint/2", "step": 2}
    store.objects[checkpoint.manifest_name(2, "aaaaaaaa")] = json.dumps(body).encode()
    said: list[str] = []
    assert loaded(store, say=said.append)[0][0].step == 1
    assert any("is of schema 'sizewell.checkpoint/2'" in text for text in said)


def test_prunable_names_only_what_no_reader_needs() -> None:
    store = Memory()
    for step in (1, 2, 3, 4):
        saved(store, step)
    store.dies_at = len(store.puts) + 2  # a kill left parts of step 5, the newest: they may be under way
    assert any(isinstance(each, Killed) for each in saved(store, 5))
    names, size = prunable(store, keep=2)
    assert {name.split("/")[1][:12] for name in names} == {"000000000001", "000000000002"}
    assert size == sum(len(store.objects[name]) for name in names)
    for name in names:
        del store.objects[name]
    assert [manifest.step for manifest in newest(store)] == [4, 3]
    assert prunable(store, keep=2) == ([], 0)
    assert prunable(store, keep=9) == ([], 0)


def test_a_truncated_manifest_says_so() -> None:
    store = Memory()
    saved(store, 1)
    name = next(name for name in store.objects if name.startswith("manifests/"))
    for cut in (0, 1, 40, len(store.objects[name]) - 1):
        with pytest.raises(CorruptError, match=r"cannot be read|does not match"):
            checkpoint.Manifest.from_json(name, store.objects[name][:cut])


def test_the_command_lists_verifies_and_says_what_may_go(tmp_path: Any) -> None:
    from store import connect

    uri = f"file://{tmp_path}/run"
    store = connect(uri)
    for step in (10, 20, 30):
        saved(store, step)
    part = next((tmp_path / "run/parts").glob("000000000030*/00000-0000*"))
    part.write_bytes(b"x" * part.stat().st_size)

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, SCRIPTS / "checkpoint.py", *words], capture_output=True, text=True, check=False
        )

    assert command("list", uri).stdout.count("all parts there") == 3
    verified = command("verify", uri).stdout.splitlines()
    assert "BROKEN" in verified[0]
    assert [line.split()[1] for line in verified if "every part read and right" in line] == ["20", "10"]
    gone = command("prunable", uri, "--keep", "2")
    assert gone.stdout
    assert all("000000000010" in line for line in gone.stdout.splitlines())
    assert command("list", "s3:/nothing").returncode == 64


def test_what_saves_that_were_cut_off_left_is_found_and_pruned(tmp_path: Any) -> None:
    """Of any step, also where too few checkpoints are there to keep; a save that may be under way stays."""
    from store import connect

    uri = f"file://{tmp_path}/run"
    store = connect(uri)
    for step in (10, 20):
        saved(store, step)
    orphans = [
        tmp_path / "run" / name for name in ("parts/000000000030-aaaaaaaa/00000-0000.safetensors", "parts/.part-x")
    ]
    fresh = tmp_path / "run/parts/000000000030-bbbbbbbb/00000-0000.safetensors"
    for path in (*orphans, fresh):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
    for path in orphans:
        os.utime(path, (time.time() - 90_000, time.time() - 90_000))

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, SCRIPTS / "checkpoint.py", *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    found = command("prunable", uri)
    assert sorted(found.stdout.split()) == sorted(path.relative_to(tmp_path / "run").as_posix() for path in orphans)
    assert "2 of them left by saves cut off" in found.stderr
    assert all(path.exists() for path in orphans), "prunable deletes nothing"
    assert command("prune", uri).returncode == 0
    assert [path.exists() for path in (*orphans, fresh)] == [False, False, True]
    assert command("verify", uri).stdout.count("every part read and right") == 2
    assert command("prune", uri, "--keep", "1").returncode == 0
    assert [manifest.step for manifest in newest(store)] == [20]
    assert not list((tmp_path / "run/parts").glob("000000000010*/*"))


def test_threads_of_these_tests_gather_in_order() -> None:
    assert together(3, lambda comm: comm.gather(str(comm.rank).encode())) == [[b"0", b"1", b"2"]] * 3
    assert together(3, lambda comm: comm.most(comm.rank)) == [2] * 3
    assert Threads is not None
