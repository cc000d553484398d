"""Our own scripts, run for real: a load on a server that streams, pieces of a batch, a notebook that ends itself."""

import asyncio
import http.server
import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPTS = Path(__file__).parents[2] / "src/sizewell/launch/scripts"


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SCRIPTS))
    return module


load_test, all_reduce, read_files = load("load_test"), load("all_reduce"), load("read_files")


class Model:
    """A server that answers as vLLM streams: one line of data a token; `fails` of its requests get a 503."""

    def __init__(self, first_s=0.01, each_s=0.002, fails=0):
        self.first_s, self.each_s, self.fails, self.asked = first_s, each_s, fails, []

    async def answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next(int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length"))
        body = json.loads(await reader.readexactly(size))
        self.asked.append((head.split()[1], body))
        if len(self.asked) <= self.fails:
            writer.write(b"HTTP/1.1 503 Busy\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await asyncio.sleep(self.first_s)
            if body.get("stream"):
                for number in range(body["max_tokens"]):
                    await asyncio.sleep(self.each_s if number else 0)
                    data = b'data: {"choices": [{"text": "x"}]}\n\n'
                    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                    await writer.drain()
                writer.write(b"e\r\ndata: [DONE]\n\n\r\n")
            else:
                writer.write(b"2\r\n{}\r\n")
            writer.write(b"0\r\n\r\n")
        writer.close()


@pytest.fixture
def model():
    """Start a model in a thread of its own; gives (model, its address)."""
    loops = []

    def start(**how):
        one, ready, where = Model(**how), threading.Event(), []

        def serve():
            loop = asyncio.new_event_loop()
            loops.append(loop)
            server = loop.run_until_complete(asyncio.start_server(one.answer, "127.0.0.1", 0))
            where.append(server.sockets[0].getsockname()[1])
            ready.set()
            loop.run_forever()

        threading.Thread(target=serve, daemon=True).start()
        ready.wait(10)
        return one, f"http://127.0.0.1:{where[0]}"

    yield start
    for loop in loops:
        loop.call_soon_threadsafe(loop.stop)


def tried(capsys, url, *words):
    code = load_test.main(["--url", url, "--model", "chat", "--seconds", "1", "--warm-up", "0", *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_model_that_keeps_its_promises_passes(model, capsys):
    one, url = model()
    words = ("--rate", "30", "--input-tokens", "7", "--output-tokens", "5", "--ttft", "1", "--tpot", "0.5")
    code, found = tried(capsys, url, *words, "--latency", "2")
    assert code == 0, found
    assert found["passed"]
    assert found["failed"] == 0
    assert found["tokens_per_s"] == pytest.approx(5 * found["requests_per_s"])
    assert 0.01 <= found["ttft_s"] <= found["e2e_s"]
    assert {path for path, _ in one.asked} == {"/v1/completions"}
    assert all(len(body["prompt"]) == 7 and body["max_tokens"] == 5 for _, body in one.asked)
    assert len({tuple(body["prompt"]) for _, body in one.asked}) == len(one.asked), "no cache answers for the model"


def test_a_slow_model_fails_with_the_figure(model, capsys):
    _, url = model(first_s=0.15)
    code, found = tried(capsys, url, "--rate", "20", "--output-tokens", "2", "--ttft", "0.1")
    assert code == 1
    assert found["broken"][0] == f"ttft_s {found['ttft_s']:.4g} over 0.1"
    assert found["ttft_s"] >= 0.15, "what the model took, and what a busy machine adds to it"


def test_requests_come_whether_earlier_ones_are_answered_or_not(model, capsys):
    """An open loop: a model that takes a second each is asked as often as a fast one."""
    _, url = model(first_s=0.8)
    _, found = tried(capsys, url, "--rate", "25", "--output-tokens", "1")
    assert found["requests"] >= 12


def test_failed_requests_fail_the_test(model, capsys):
    _, url = model(fails=3)
    code, found = tried(capsys, url, "--rate", "20", "--output-tokens", "1")
    assert code == 1
    assert found["failed"] == 3
    assert "HTTP 503" in found["broken"][0]


def test_nobody_there(capsys):
    code, found = tried(capsys, "http://127.0.0.1:9", "--rate", "20")
    assert code == 1
    assert "ConnectionRefusedError" in found["broken"][0]
    assert found["ttft_s"] is None


def test_a_picture_is_asked_for_as_triton_has_it(model, capsys):
    one, url = model()
    code, found = tried(capsys, url, "--rate", "20", "--shape", "1x3x4x4", "--latency", "1")
    assert code == 0, found
    path, body = one.asked[0]
    assert path == "/v2/models/chat/infer"
    assert body["inputs"][0]["shape"] == [1, 3, 4, 4]
    assert len(body["inputs"][0]["data"]) == 48


def test_wrong_arguments(capsys):
    assert load_test.main(["--url", "http://x", "--model", "chat", "--rate", "0"]) == 64
    assert load_test.main(["--url", "http://x"]) == 64


@given(st.lists(st.floats(0, 1e3), min_size=1), st.floats(0.01, 0.99))
def test_a_quantile_is_a_value_that_enough_do_not_exceed(values, share):
    found = load_test.quantile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9


@given(st.integers(2, 4096), st.integers(2**10, 2**34), st.floats(1e-6, 10))
def test_bus_bandwidth_is_between_one_and_two_times_the_plain_rate(ranks, payload, seconds):
    found = all_reduce.bus_bytes_per_s(payload, seconds, ranks)
    assert payload / seconds * (1 - 1e-9) <= found < 2 * payload / seconds


def test_the_median_counts_and_a_wrong_sum_is_worse_than_a_slow_one():
    def how(**changes):
        given = {"seconds": [0.02, 0.021, 0.9], "payload_bytes": 8 * 10**9, "ranks": 8, "least": 6e11, "right": True}
        return all_reduce.verdict(**{**given, **changes})

    assert how()["bus_bytes_per_s"] == pytest.approx(8e9 / 0.021 * 1.75)
    assert all_reduce.exit_code(how()) == 0
    assert all_reduce.exit_code(how(least=7e11)) == 1
    assert all_reduce.exit_code(how(right=False)) == 2
    assert all_reduce.exit_code(how(ranks=1)) == 0, "one device has no link to try"


def all_reduced(*words):
    """The test as a machine runs it: under spawn.py, two processes, over gloo."""
    python = SCRIPTS.parents[3] / ".venv-train" / "bin" / "python"
    script = [str(SCRIPTS / "all_reduce.py"), "--bytes", "1048576", "--rounds", "3", "--warm-up", "1", *words]
    return subprocess.run(
        [str(python), str(SCRIPTS / "spawn.py"), "--processes", "2", *script],
        env={**os.environ, "SIZEWELL_COORDINATOR": "127.0.0.1:29731", "SIZEWELL_NODES": "1", "SIZEWELL_NODE": "0"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.frameworks
def test_an_all_reduce_over_two_processes_is_right_and_too_slow_for_what_it_is_asked():
    done = all_reduced("--least", "1e15")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert (found["ranks"], found["right"], found["passed"]) == (2, True, False)
    assert 1000 < found["bus_bytes_per_s"] < 1e15


def piece(tmp_path, number, pieces, *more, output="out"):
    words = ["--input", f"file://{tmp_path}/in", "--output", f"file://{tmp_path}/{output}", "--model", "stand-in"]
    return subprocess.run(
        [
            sys.executable,
            str(SCRIPTS / "batch_infer.py"),
            *words,
            "--piece",
            str(number),
            "--pieces",
            str(pieces),
            *more,
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_record_is_answered_once(tmp_path):
    (tmp_path / "in").mkdir()
    for part in range(3):
        lines = [json.dumps({"id": f"{part}-{n}", "prompt": f"p{n}"}) for n in range(7)]
        (tmp_path / "in" / f"part-{part}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "in" / "README.txt").write_text("no records")
    assert [piece(tmp_path, number, 4, "max_tokens=8").returncode for number in range(4)] == [0] * 4
    files = sorted((tmp_path / "out").rglob("piece-*.jsonl"))
    found = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert len(files) == 4
    assert sorted(one["id"] for one in found) == sorted(f"{part}-{n}" for part in range(3) for n in range(7))
    assert all(one["answer"] == f"answer to p{one['id'][2:]}" for one in found)
    before = files[0].stat().st_mtime_ns
    again = piece(tmp_path, 0, 4)
    assert again.returncode == 0
    assert "already exists" in again.stdout
    assert files[0].stat().st_mtime_ns == before


VLLM_DOUBLE = """
from types import SimpleNamespace as S

SamplingParams = dict

class LLM:
    def __init__(self, model, max_model_len=None):
        self.longest = max_model_len or 6
        self.llm_engine = S(model_config=S(max_model_len=self.longest))

    def get_tokenizer(self):
        return S(encode=lambda text: [ord(one) for one in text])

    def generate(self, prompts, asked):  # refuses the whole list for one prompt, as vLLM does
        if any(not 0 < len(one["prompt_token_ids"]) < self.longest for one in prompts):
            raise ValueError("The decoder prompt is longer than the maximum model length")
        texts = ["".join(map(chr, one["prompt_token_ids"]))[::-1] for one in prompts]
        most = asked["max_tokens"]
        return [S(outputs=[S(text=t[:most], finish_reason="length" if len(t) > most else "stop")]) for t in texts]
"""


@pytest.mark.parametrize("more", [(), ("max_model_len=6",)])
def test_a_record_that_is_too_long_and_an_answer_that_was_cut_say_so_in_their_own_line(tmp_path, monkeypatch, more):
    (tmp_path / "in").mkdir()
    (tmp_path / "vllm.py").write_text(VLLM_DOUBLE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    prompts = ["abc", "far too long", "abcde", "", "ab"]
    lines = [json.dumps({"id": number, "prompt": prompt}) for number, prompt in enumerate(prompts)]
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(lines) + "\n")
    done = piece(tmp_path, 0, 1, "--model", "org/model", "max_tokens=3", *more)
    assert done.returncode == 0, done.stderr
    assert "answers of up to 3 tokens, up to 6 with their prompts" in done.stdout
    assert "5 records, 1 answers cut, 2 records without an answer" in done.stdout
    (answers,) = (tmp_path / "out").rglob("piece-*.jsonl")
    found = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [one["id"] for one in found] == [0, 1, 2, 3, 4]
    assert [one.get("finish_reason") for one in found] == ["stop", None, "length", None, "stop"]
    assert [one.get("answer") for one in found] == ["cba", None, "edc", None, "ba"]
    assert "the prompt has 12 tokens: there is room for 1 to 5" in found[1]["error"]


@pytest.mark.parametrize(("line", "words"), [("not json", "JSONDecodeError"), ('{"id": 1}', "KeyError: 'prompt'")])
def test_a_wrong_record_ends_the_piece_for_good(tmp_path, line, words):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(line + "\n")
    done = piece(tmp_path, 0, 1)
    assert done.returncode == 64
    assert words in done.stderr


class Cluster(http.server.BaseHTTPRequestHandler):
    """The cluster's API, as much of it as a notebook may call; the first call meets a busy one."""

    calls: ClassVar[list] = []
    busy = 1

    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Cluster.calls.append((self.path, self.headers["Authorization"], self.headers["Content-Type"], body))
        self.send_response(503 if len(Cluster.calls) <= Cluster.busy else 200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(("command", "code", "calls"), [(["true"], 0, 2), (["sh", "-c", "exit 3"], 3, 0)])
def test_a_notebook_that_ends_by_itself_scales_its_set_down(tmp_path, command, code, calls):
    Cluster.calls.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    (tmp_path / "token").write_text("secret\n")
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "until_idle.py"), *command],
        env={
            **os.environ,
            "STATEFUL_SET": "lab",
            "NAMESPACE": "research",
            "CLUSTER": f"http://127.0.0.1:{server.server_port}",
            "ACCOUNT_FOLDER": str(tmp_path),
            "PATIENCE": "none",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    server.shutdown()
    assert done.returncode == code, done.stderr
    assert len(Cluster.calls) == calls
    if calls:
        path, token, kind, body = Cluster.calls[-1]
        assert path == "/apis/apps/v1/namespaces/research/statefulsets/lab/scale"
        assert (token, kind) == ("Bearer secret", "application/merge-patch+json")
        assert body == {"spec": {"replicas": 0}}


def test_a_folder_is_read_from_its_files_and_is_too_slow_for_what_it_is_asked(tmp_path, capsys):
    for number in range(5):
        (tmp_path / f"part-{number}").write_bytes(bytes(100_000))
    (tmp_path / f"{read_files.OURS}half").write_bytes(b"x")
    assert read_files.main(["--folder", str(tmp_path), "--readers", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["bytes"], found["files"], found["passed"]) == (500_000, 5, True)
    assert read_files.main(["--folder", str(tmp_path), "--least", "1e18"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False


def test_an_empty_folder_is_written_read_and_left_as_it_was(tmp_path, capsys):
    assert read_files.main(["--folder", str(tmp_path), "--bytes", "80000", "--readers", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 80_000
    assert list(tmp_path.iterdir()) == []
    assert read_files.main(["--folder", str(tmp_path / "nowhere"), "--bytes", "8"]) == 2
    assert "takes nothing" in capsys.readouterr().out
