"""The stores: files here, and the three clouds' real clients against stand-ins that hold the writer to its rights."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import PYTHON
from store import MissingError, RefusedError, TakenError, connect


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("", "scheme 'missing' is none of file:///path, s3://bucket/prefix, gs://bucket/prefix, az://account"),
        ("s4://bucket/run", "scheme 's4' is none of"),
        ("/data/run", "scheme 'missing' is none of"),
        ("s3:/bucket/run", "no bucket in it; write s3://bucket/prefix"),
        ("s3:///run", "no bucket in it"),
        ("s3://Bucket_/run", "'Bucket_' is no name of a bucket"),
        ("gs://", "no bucket in it; write gs://bucket/prefix"),
        ("s3://bucket/run?region=eu", "no ?, # or @ in it"),
        ("s3://key@bucket/run", "no ?, # or @ in it"),
        ("file://run", "needs an absolute path; write file:///path"),
        ("file:///", "needs an absolute path"),
        ("az://account", "needs an account and a container; write az://account/container/prefix"),
        ("az://Not-An-Account/c/p", "needs an account and a container"),
    ],
)
def test_a_wrong_uri_is_refused_with_the_right_form(uri: str, says: str) -> None:
    with pytest.raises(RefusedError) as error:
        connect(uri)
    assert says in str(error.value)
    assert repr(uri) in str(error.value)
    assert "\n" not in str(error.value)


def test_files_are_put_once_and_shown_whole(tmp_path: Path) -> None:
    store = connect(f"file://{tmp_path}/run")
    assert store.list() == {}
    store.put("a/b", b"12345")
    store.put("a/b", b"12345")
    with pytest.raises(TakenError, match="is taken by other content; nothing was overwritten"):
        store.put("a/b", b"other")
    assert (store.get("a/b"), store.get("a/b", 1, 2)) == (b"12345", b"23")
    with pytest.raises(MissingError, match="a/c: there is no such file"):
        store.get("a/c")
    (tmp_path / "run/a/.part-xyz").write_bytes(b"half")  # of a writer that was killed
    store.point("latest.json", b"1")
    store.point("latest.json", b"2")
    assert store.list() == {"a/b": 5, "latest.json": 1}
    assert store.list("a/") == {"a/b": 5}


def test_of_many_that_put_one_name_one_wins(tmp_path: Path) -> None:
    store = connect(f"file://{tmp_path}/run")

    def put(number: int) -> bool:
        try:
            store.put("x", b"%d" % number * 1000)
        except TakenError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(put, range(8)))
    assert won.count(True) == 1
    assert store.get("x") == b"%d" % won.index(True) * 1000


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:  # as the system does to anyone but root, who runs these tests too
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(RefusedError, match="Permission denied; use a folder that this user may write"):
        connect(f"file://{tmp_path}/run").put("x", b"x")


def test_a_file_or_a_broken_link_in_the_place_of_a_folder_is_not_read_as_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "journal").symlink_to(tmp_path / "nowhere")
    for uri, below in ((f"file://{tmp_path}/file", ""), (f"file://{tmp_path}", "journal/")):
        for ask in (connect(uri).list, connect(uri).written):
            with pytest.raises(RefusedError, match="Not a directory"):
                ask(below)
    assert connect(f"file://{tmp_path}/none").list("journal/") == {}


def test_a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "record.json")
    with pytest.raises(RefusedError, match="is no file"):
        connect(f"file://{tmp_path}").get("record.json")


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RefusedError, match="use a folder that this user may write"):
        connect(f"file://{tmp_path}/run/below").put("x", b"x")


Outcomes = Mapping[str, Mapping[str, list[str]]]


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What the stores did; the processes of one test run share what the first of them saw."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    seen = folder / "stores.json"
    with (folder / "stores.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not seen.exists():
            check = Path(__file__).parent / "stores_check.py"
            env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "GOOGLE_", "AZURE_"))}
            run = subprocess.run([PYTHON, check], capture_output=True, text=True, timeout=240, check=False, env=env)
            assert run.returncode == 0, run.stderr
            seen.write_text(run.stdout)
        return json.loads(seen.read_text())  # type: ignore[no-any-return]


EVERYWHERE = {
    "put": ["", "None"],
    "get": ["", "True"],
    "get a range": ["", "True"],
    "get the start": ["", "True"],
    "list": ["", "{'a/b.bin': 2048}"],
    "put the same again": ["", "None"],
    "what is there then": ["", "True"],
    "put much": ["", "None"],
    "get much": ["", "True"],
    "nothing there": ["", "None"],
    "save": ["", "4"],
    "load": ["", "4"],
    "loaded the same": ["", "True"],
}


@pytest.mark.frameworks
@pytest.mark.parametrize("cloud", ["s3", "gs", "az"])
@pytest.mark.parametrize("asked", sorted(EVERYWHERE))
def test_the_clouds_do_what_the_contract_asks(clouds: Outcomes, cloud: str, asked: str) -> None:
    assert clouds[cloud][asked] == EVERYWHERE[asked]


@pytest.mark.frameworks
@pytest.mark.parametrize("cloud", ["s3", "gs", "az"])
def test_what_is_taken_is_not_overwritten(clouds: Outcomes, cloud: str) -> None:
    kind, text = clouds[cloud]["put something else"]
    assert kind == "TakenError"
    assert text.endswith("/runs/one/a/b.bin: is taken by other content; nothing was overwritten")


@pytest.mark.frameworks
@pytest.mark.parametrize("cloud", ["gs", "az"])
def test_no_object_is_made_twice(clouds: Outcomes, cloud: str) -> None:
    assert clouds[cloud]["made once"] == ["", "True"]


@pytest.mark.frameworks
def test_google_s_objects_are_locked_for_as_long_as_is_told(clouds: Outcomes) -> None:
    assert clouds["gs"]["locked"] == ["", "True"]


@pytest.mark.frameworks
def test_the_writer_of_these_tests_may_not_delete(clouds: Outcomes) -> None:
    assert clouds["s3"]["delete"][0] == "AccessDenied"


@pytest.mark.frameworks
def test_who_prunes_needs_what_the_page_says_and_may_not_write(clouds: Outcomes) -> None:
    """Under the policies of docs/howto/train-and-resume.md: a reader finds what is left over, a pruner deletes it."""
    s3 = clouds["s3"]
    assert s3["reader finds"] == s3["pruner finds"] == s3["pruner prunes"] == ["", "0"]
    assert s3["reader prunes"] == ["", "64"]
    assert {s3[f"{who} writes"][0] for who in ("reader", "pruner")} == {"RefusedError"}
    left = "parts/000000000009-aa/00000-0000.safetensors"
    assert left in s3["after reader"][1]
    assert left not in s3["after pruner"][1]
    assert "parts/000000000004-" in s3["after pruner"][1]


@pytest.mark.frameworks
@pytest.mark.parametrize(("cloud", "kind"), [("s3", ""), ("az", ""), ("gs", "RefusedError")])
def test_a_pointer_stands_only_where_a_writer_may_replace(clouds: Outcomes, cloud: str, kind: str) -> None:
    assert clouds[cloud]["point"][0] == kind


@pytest.mark.frameworks
@pytest.mark.parametrize(
    ("cloud", "needs"),
    [
        ("s3", "the job's identity needs s3:GetObject, s3:PutObject and s3:ListBucket there"),
        ("gs", "the job's identity needs storage.objects.create, get and list there"),
        ("az", "the job's identity needs read and write of blobs there"),
    ],
)
@pytest.mark.parametrize("asked", ["no permission to put", "no permission to list"])
def test_without_permission_one_message_says_what_is_needed(
    clouds: Outcomes, cloud: str, needs: str, asked: str
) -> None:
    kind, text = clouds[cloud][asked]
    assert kind == "RefusedError"
    assert needs in text
    assert "\n" not in text


@pytest.mark.frameworks
@pytest.mark.parametrize("cloud", ["gs", "az"])
def test_a_bucket_that_does_not_exist_is_no_missing_object(clouds: Outcomes, cloud: str) -> None:
    kind, text = clouds[cloud]["no bucket"]
    assert kind == "RefusedError"
    assert "does not exist" in text
