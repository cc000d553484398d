"""Each training script as two processes on CPU: killed, told to end, resumed from the store. Nothing is imitated but the hardware.

The processes are forked from one that has imported the frameworks (warm.py); test_scripts.py starts them by the line itself.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import small_disk
from processes import PYTHON, SCRIPTS

pytestmark = pytest.mark.frameworks

PATIENCE_S = 240  # on a machine that has much else to do
SMALL = {
    "SEQUENCE_LENGTH": "16",
    "SAMPLES_PER_STEP": "8",
    "MICRO_BATCH": "2",
    "STEPS": "100000",
    "WARMUP_STEPS": "4",
    "LEARNING_RATE": "0.003",
    "DIMENSIONS": "layers=2,hidden=32,heads=4,kv_heads=2,ffn=64,vocab=64",
    "DROPOUT": "0.1",
    "CHECKPOINT_STEPS": "2",
}
SIGNED = {  # moto looks whether there is one, not at what it says
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x"
}
KILLS_OF_JAX = 10  # each start traces and compiles
CONTRACT = Path(__file__).parents[1] / "control_plane/contract.json"
FSDP, NEURON, JAX = "train_fsdp.py", "train_neuron.py", "train_jax.py"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def _readable(client: socket.socket, patience_s: float) -> bool:
    """By poll, since select refuses descriptors from 1024 on, which a long run of tests may reach."""
    waiting = select.poll()
    waiting.register(client, select.POLLIN)
    return bool(waiting.poll(patience_s * 1000))


class Job:
    """What `subprocess.Popen` tells of a process, of one that the warm server keeps."""

    def __init__(self, at: Path, asked: dict[str, Any]) -> None:
        self._client = socket.socket(socket.AF_UNIX)
        self._client.connect(str(at))
        self._client.sendall(f"{json.dumps(asked)}\n".encode())
        self._file = self._client.makefile()
        self.pid, self.returncode = int(self._file.readline()), None

    def poll(self, patience_s: float = 0.0) -> int | None:
        if self.returncode is None and _readable(self._client, patience_s):
            self.returncode = int(self._file.readline())
        return self.returncode

    def told(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def gone(self) -> None:
        """SIGKILL to the launcher and all its processes at once: a machine that is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.poll(PATIENCE_S)
        self._client.close()


@dataclass
class Run:
    """A job of two processes under `spawn.py`, in a process group of its own."""

    job: Job
    output: Path
    log: Path

    def text(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def until(self, pattern: str) -> re.Match[str]:
        """Wait until the output has it; the output itself is the failure's text."""
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.text(), re.MULTILINE)):
            code = self.job.poll()
            assert code is None, f"ended with {code} before {pattern!r}:\n{self.text()}"
            assert time.monotonic() < end, f"no {pattern!r}:\n{self.text()}"
            time.sleep(0.02)
        return found

    def ended(self) -> int:
        code = self.job.poll(PATIENCE_S)
        assert code is not None, self.text()
        return code

    def losses(self) -> dict[int, float]:
        return {line["step"]: line["loss"] for line in map(json.loads, self.log.read_text().splitlines())}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a process that has imported the frameworks."""
    folder = tmp_path_factory.mktemp("warm")
    at = Path(os.path.relpath(folder / "socket")) if len(str(folder)) > 90 else folder / "socket"
    env = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PYTHONUNBUFFERED": "1"}
    env |= {"JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    errors = (folder / "errors.txt").open("wb")
    command = [PYTHON, Path(__file__).parent / "warm.py", at, SCRIPTS]
    (folder / "small").mkdir()
    if not small_disk.not_allowed():
        command = [*small_disk.line(folder / "small", 1600), *command]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=errors, stderr=errors, env=env) as server:
        end = time.monotonic() + PATIENCE_S
        while not at.exists():
            assert server.poll() is None, (folder / "errors.txt").read_text()
            assert time.monotonic() < end, "the frameworks are not imported"
            time.sleep(0.1)
        time.sleep(0.1)  # bound, then listening
        yield at
        server.terminate()


@dataclass
class Site:
    """Where runs are started and keep their state."""

    warm: Path
    folder: Path
    uri: str
    script: str = FSDP
    started: int = 0
    plain: dict[str, str] | None = None  # the environment, in place of SMALL

    @contextmanager
    def run(self, *, argv: list[str] | None = None, **settings: str) -> Iterator[Run]:
        self.started += 1
        output, log = self.folder / f"output-{self.started}.txt", self.folder / f"log-{self.started}.jsonl"
        small = {f"SIZEWELL_{key}": value for key, value in (SMALL | settings).items()}
        env = self.plain or (small | {"SIZEWELL_CHECKPOINT_URI": self.uri, "SIZEWELL_LOG": str(log)})
        env = env | {"SIZEWELL_COORDINATOR": f"127.0.0.1:{free_port()}", "PATH": os.environ["PATH"]}
        env |= {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
        env |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
        env["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # compiles in half the time
        if self.uri.startswith("s3://"):
            env["AWS_ENDPOINT_URL_S3"] = os.environ["SIZEWELL_TEST_S3"]
        argv = argv or [str(SCRIPTS / "spawn.py"), "--processes", "2", str(SCRIPTS / self.script)]
        job = Job(self.warm, {"argv": argv, "env": env, "output": str(output)})
        try:
            yield Run(job, output, log)
        finally:
            job.gone()


class Kept:
    """What is in the store, looked at from outside: a folder, or the stand-in for S3."""

    def __init__(self, uri: str) -> None:
        self._at = uri.removeprefix("file://") if uri.startswith("file://") else ""
        self._url = "" if self._at else f"{os.environ['SIZEWELL_TEST_S3']}/{uri.removeprefix('s3://')}"

    def manifests(self) -> dict[int, str]:
        """Names of the manifests, by step."""
        if self._at:
            names = [path.name for path in Path(self._at, "manifests").glob("*.json")]
        else:
            bucket, _, prefix = self._url.removeprefix(os.environ["SIZEWELL_TEST_S3"] + "/").partition("/")
            listing = self._asked(
                "GET", f"{os.environ['SIZEWELL_TEST_S3']}/{bucket}?list-type=2&prefix={prefix}/manifests/"
            )
            names = re.findall(r"manifests/([^<]+\.json)</Key>", listing.decode())
        return {int(name.split("-")[0]): f"manifests/{name}" for name in names}

    def get(self, name: str) -> Any:
        return json.loads(self._read(name))

    def cut(self, name: str, share: float) -> None:
        """Only so much of it is left, as after a write that ended midway: of 1, all but its last byte."""
        was = self._read(name)
        half = was[: min(len(was) - 1, int(len(was) * share))]
        if self._at:
            Path(self._at, name).write_bytes(half)
        else:
            self._asked("PUT", f"{self._url}/{name}", half)

    def _read(self, name: str) -> bytes:
        return Path(self._at, name).read_bytes() if self._at else self._asked("GET", f"{self._url}/{name}")

    def drop(self, name: str) -> None:
        if self._at:
            Path(self._at, name).unlink()
        else:
            self._asked("DELETE", f"{self._url}/{name}")

    @staticmethod
    def _asked(method: str, url: str, data: bytes | None = None) -> bytes:
        asked = urllib.request.Request(url, data, SIGNED, method=method)  # noqa: S310  (the stand-in's address)
        with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310
            return answer.read()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of a stand-in for S3, in a process of its own, as the store is while jobs die."""
    port = free_port()
    at = f"http://127.0.0.1:{port}"
    errors = (tmp_path_factory.mktemp("moto") / "errors.txt").open("wb")
    server = subprocess.Popen([PYTHON, "-m", "moto.server", "-p", str(port)], stdout=errors, stderr=errors)
    os.environ["SIZEWELL_TEST_S3"] = at
    end = time.monotonic() + 60
    while True:
        try:
            Kept._asked("PUT", f"{at}/checkpoints")
            break
        except OSError:
            assert time.monotonic() < end, "the stand-in for S3 does not start"
            time.sleep(0.2)
    yield "s3://checkpoints"
    server.terminate()
    server.wait()
    del os.environ["SIZEWELL_TEST_S3"]


@pytest.fixture(params=[FSDP, NEURON])
def site(request: pytest.FixtureRequest, warm: Path, tmp_path: Path) -> Site:
    """A folder as store; PyTorch's runs keep their state in S3."""
    script = request.param
    uri = f"{request.getfixturevalue('s3')}/{tmp_path.name}" if script == FSDP else f"file://{tmp_path}/store"
    return Site(warm, tmp_path, uri, script)


@pytest.fixture
def here(warm: Path, tmp_path: Path) -> Site:
    return Site(warm, tmp_path, f"file://{tmp_path}/store")


def test_a_job_that_is_ended_goes_on_as_if_it_had_not_been(site: Site) -> None:
    """Told to end, killed, and resumed from far back: what is done twice is the same twice, to the last bit."""
    kept = Kept(site.uri)
    with site.run() as told:
        told.until(r"^saved step 4:")
        told.job.told(signal.SIGTERM)
        assert told.ended() == 75, told.text()
    said = re.search(r"^(?:SIGTERM|another process was told to end): .*step (\d+)", told.text(), re.MULTILINE)
    assert said, told.text()
    saved = int(said[1])
    assert max(kept.manifests()) == saved == max(told.losses())
    last = saved + 4 - saved % 2
    with site.run() as killed:
        killed.until(rf"^saved step {last}:")
        killed.job.gone()
    assert f"step {saved}, sample {8 * saved}, saved by 2 processes" in killed.text()
    was = kept.get(kept.manifests()[last])
    for step, name in kept.manifests().items():
        if step > 2:
            kept.drop(name)  # as if a kill had come between the parts of step 4 and its manifest
    with site.run() as again:
        again.until(rf"^saved step {last}:")
        again.job.gone()
    assert "resumed manifests/000000000002-" in again.text()
    assert "step 2, sample 16, saved by 2 processes" in again.text()
    before, after = told.losses() | killed.losses(), again.losses()
    assert {step: after[step] for step in range(3, last + 1)} == {step: before[step] for step in range(3, last + 1)}
    assert len({*before.values()}) == len(before)  # a loss that stands still would be the same whatever was read
    now = kept.get(kept.manifests()[last])
    sums = [[part[2] for part in one["parts"]] for one in (now, was)]
    assert sums[0] == sums[1]  # sha256 of weights and optimizer state
    clocks = {"settings": {}, "ran_s": 0}  # where it stands, and how long that took
    assert {**now["meta"], **clocks} == {**was["meta"], **clocks}


@pytest.mark.soak
def test_a_killed_job_of_jax_goes_on_as_if_it_had_not_been(here: Site, s3: str) -> None:
    """As above with a start less: tracing and compiling take most of it. The second run is the one told to end."""
    here.script, here.uri = JAX, f"{s3}/{here.folder.name}"
    kept = Kept(here.uri)
    with here.run() as killed:
        killed.until(r"^saved step 6:")
        killed.job.gone()
    was = kept.get(kept.manifests()[6])
    for step, name in kept.manifests().items():
        if step > 2:
            kept.drop(name)
    with here.run() as again:
        again.until(r"^saved step 6:")
        again.job.told(signal.SIGTERM)
        assert again.ended() == 75, again.text()
    assert "step 2, sample 16, saved by 2 processes" in again.text()
    before, after = killed.losses(), again.losses()
    assert [after[step] for step in range(3, 7)] == [before[step] for step in range(3, 7)]
    assert len({*before.values()}) == len(before)
    assert [part[2] for part in kept.get(kept.manifests()[6])["parts"]] == [part[2] for part in was["parts"]]
    assert max(kept.manifests()) == max(after)  # the step at which it was told to end is saved


def test_one_lost_process_ends_its_machine_and_the_job_resumes(here: Site) -> None:
    """The second process alone is killed, for want of memory say: the first would wait for it for ever."""
    with here.run() as run:
        second = int(run.until(r"^process 1 is (\d+)$")[1])
        first = int(run.until(r"^process 0 is (\d+)$")[1])
        run.until(r"^saved step 2:")
        os.kill(second, signal.SIGKILL)
        start = time.monotonic()
        assert run.ended() not in (0, 64, 75), run.text()  # a failure, to be repeated
        assert time.monotonic() - start < 30
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
    saved = max(Kept(here.uri).manifests())
    with here.run(STEPS=str(saved + 1)) as run:
        assert run.ended() == 0, run.text()
    assert f"step {saved}, sample {8 * saved}, saved by 2 processes" in run.text()
    assert list(run.losses()) == [saved + 1]


def test_a_store_that_is_gone_at_save_ends_the_run_and_one_that_is_back_resumes_it(here: Site) -> None:
    """Three saves that fail are the end, with the code that says: start it again."""
    parts = here.folder / "store" / "parts"
    with here.run() as run:
        run.until(r"^saved step 2:")
        parts.rename(parts.with_name("away"))
        parts.symlink_to(parts)  # every way into it is an error of input and output, as on a file system that is lost
        assert run.ended() == 69, run.text()
    assert "was not saved (1 of 3): " in run.text()
    assert "was not saved (3 of 3): " in run.text()
    kept = Kept(here.uri)
    saved = max(kept.manifests())
    with here.run() as run:
        assert run.ended() == 64, run.text()
    assert "/store/parts/: Not a directory" in run.text()  # and so it does not start from nothing
    parts.unlink()
    parts.with_name("away").rename(parts)
    with here.run(STEPS=str(saved + 2)) as run:
        assert run.ended() == 0, run.text()
    assert f"step {saved}, sample {8 * saved}, saved by 2 processes" in run.text()
    assert max(kept.manifests()) == saved + 2


@pytest.mark.skipif(bool(small_disk.not_allowed()), reason=small_disk.not_allowed() or "-")
@pytest.mark.parametrize("script", [FSDP, pytest.param(JAX, marks=pytest.mark.soak)])
def test_a_full_disk_ends_a_job_in_words_and_one_with_room_resumes_it(here: Site, script: str) -> None:
    """The store's disk fills up: what was saved stays whole, and a person makes room by what `prune` deletes."""
    here.script, here.uri = script, f"file://{here.warm.resolve().parent}/small/{script}"
    checkpoints = [str(SCRIPTS / "checkpoint.py")]
    with here.run() as run:
        assert run.ended() == 69, run.text()
    assert re.search(r"was not saved \(3 of 3\): .*the disk or its quota is full .No space left on device.", run.text())
    assert "Traceback" not in run.text()
    saved = int(re.findall(r"^saved step (\d+):", run.text(), re.MULTILINE)[-1])
    with here.run(argv=[*checkpoints, "verify", here.uri]) as looked:
        assert looked.ended() == 0, looked.text()
    assert f"step {saved} " in looked.text()
    assert "BROKEN" not in looked.text()
    with here.run(argv=[*checkpoints, "prune", here.uri, "--keep", "1", "--hours", "0"]) as pruned:
        assert pruned.ended() == 0, pruned.text()
    with here.run(STEPS=str(saved + 2)) as again:
        assert again.ended() == 0, again.text()
    assert f"step {saved}, sample {8 * saved}, saved by 2 processes" in again.text()
    with here.run(argv=[*checkpoints, "prune", here.uri, "--keep", "1", "--hours", "0"]) as pruned:
        assert pruned.ended() == 0, pruned.text()  # room for who comes after


@pytest.mark.soak
def test_a_job_of_jax_that_is_killed_again_and_again_loses_no_checkpoint(here: Site, s3: str) -> None:
    """Killed at any moment from its first save on, against S3: each start resumes what it was last told is saved."""
    here.script, here.uri = JAX, f"{s3}/{here.folder.name}"
    said, kept, lost = 0, Kept(here.uri), 0
    for _ in range(KILLS_OF_JAX):
        with here.run() as run:
            run.until(rf"^saved step (?!{said}:)")
            time.sleep(random.uniform(0, 0.5))  # noqa: S311
            run.job.gone()
        resumed = re.search(r"^resumed .*: step (\d+),", run.text(), re.MULTILINE)
        lost += bool(said) and (resumed is None or int(resumed[1]) < said)
        said = max(int(step) for step in re.findall(r"^saved step (\d+):", run.text(), re.MULTILINE))
        lost += max(kept.manifests()) < said
    assert lost == 0
    if os.environ.get("SIZEWELL_REFRESH"):
        counts = {"kills of train_jax.py": KILLS_OF_JAX, "complete checkpoints lost": lost}
        record = {**json.loads(CONTRACT.read_text()), "kills of train_jax.py": counts}
        CONTRACT.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("script", "where"),
    [(FSDP, "folder"), *(pytest.param(JAX, where, marks=pytest.mark.soak) for where in ("folder", "s3"))],
)
def test_half_a_checkpoint_is_none(here: Site, script: str, where: str, request: pytest.FixtureRequest) -> None:
    """Parts without a manifest, a manifest that is cut off, a part that is: the one before them is resumed."""
    here.script = script
    if where == "s3":
        here.uri = f"{request.getfixturevalue('s3')}/{here.folder.name}"
    kept = Kept(here.uri)
    with here.run(STEPS="8") as run:
        assert run.ended() == 0, run.text()
    manifests = kept.manifests()
    part = kept.get(manifests[4])["parts"][1][0]
    kept.drop(manifests[8])
    kept.cut(manifests[6], 0.5)
    kept.cut(part, 1)
    with here.run(STEPS="3") as run:
        assert run.ended() == 0, run.text()
    assert "step 2, sample 16, saved by 2 processes" in run.text()
    assert f"passed over {manifests[6]}: cannot be read" in run.text()
    assert f"passed over {manifests[4]}: its part" in run.text()
    assert list(run.losses()) == [3]


def test_sharded_gradients_are_reduced_after_every_micro_batch_unless_told():
    """As the decision's memory counts them: without its shard alone a device holds all gradients between micro-batches."""
    code = """
from types import SimpleNamespace as Of
from train_fsdp import TorchJob as Training

def asked(zero_stage, no_sync):
    calls = []
    model = Of(set_requires_gradient_sync=calls.append)
    run = Of(forward=model, model=model, settings=Of(zero_stage=zero_stage, no_sync=no_sync))
    for last in (False, True):
        Training._sync_gradients(run, last)
    return calls

print([asked(zero, told) for zero in (1, 2, 3) for told in (0, 1)])
"""
    ran = subprocess.run(
        [PYTHON, "-c", code], cwd=SCRIPTS, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    whole, each = [False, True], [True, True]
    assert ran.stdout.strip() == str([whole, whole, each, whole, each, whole])
