"""A served model that streams answers, asked by `evidence probe`; and what of it stands in a record."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sizewell.cli import evidence
from sizewell.cli.main import main
from sizewell.evidence.probe import Load, probe
from sizewell.sizing.errors import ConfigError, ServiceError, UsageError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.measured import read_all

ROOT = Path(__file__).resolve().parents[2]
LOAD = Load(clients=4, requests=12, input_tokens=50, output_tokens=5, answer_s=5.0)
FIRST_S, STEP_S = 0.05, 0.02


def spoken(asked: dict[str, Any]) -> Iterator[str]:
    time.sleep(FIRST_S)
    for _ in range(asked["max_tokens"]):
        yield json.dumps({"choices": [{"text": " word"}]})
        time.sleep(STEP_S)
    words = len(asked["prompt"].split())
    yield json.dumps({"choices": [], "usage": {"prompt_tokens": words, "completion_tokens": asked["max_tokens"]}})
    yield "[DONE]"


class Model:
    """A server; `says` gives the chunks of an answer, `status` what it is answered with."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.says: Callable[[dict[str, Any]], Iterator[str]] = spoken
        self.status = 200
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append({**asked, "path": self.path})
                self.send_response(model.status)
                self.end_headers()
                for chunk in model.says(asked):
                    self.wfile.write(f"data: {chunk}\n\n".encode())
                    self.wfile.flush()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_what_it_writes_is_a_load_test_that_size_reads(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(probe(model.url, "tiny", LOAD)))
    (found,) = read_all([file])
    assert (found.requests, found.clients, found.rate, found.model) == (12, 4, None, "tiny")
    assert (found.input_tokens, found.output_tokens) == (50, 5)
    assert found.seconds["ttft"]["mean"] >= FIRST_S
    assert STEP_S <= found.seconds["tpot"]["mean"] < 10 * STEP_S
    assert found.seconds["e2e"]["p50"] >= FIRST_S + 4 * STEP_S
    assert len(model.asked) == 13  # the first is not counted
    assert len({each["prompt"] for each in model.asked}) == 13
    assert {each["path"] for each in model.asked} == {"/v1/completions"}


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (lambda _: iter(["<html>portal</html>"]), "another form than /v1/completions"),
        (lambda _: iter(['{"choices": [{"text": "x"}]}', "[DONE]"]), "no usage"),
        (lambda _: iter(["[]"]), "another form"),
        (lambda _: iter(['{"usage": {"prompt_tokens": 3, "completion_tokens": 3}}']), "no text"),
        (lambda _: iter([]), "no text"),
    ],
)
def test_another_answer_is_no_measurement(model: Model, says: Any, why: str) -> None:
    model.says = says
    with pytest.raises(ServiceError, match=f"{why}.*\n  fix: name the server's address"):
        probe(model.url, "tiny", LOAD)
    assert len(model.asked) == 1


def test_a_server_that_refuses_or_is_not_there(model: Model) -> None:
    model.status, model.says = 404, lambda _: iter(["model tiny does not exist"])
    with pytest.raises(ServiceError, match="status 404: data: model tiny does not exist"):
        probe(model.url, "tiny", LOAD)
    with pytest.raises(ServiceError, match="ConnectError"):
        probe("http://127.0.0.1:9", "tiny", LOAD)


def test_some_that_fail_are_counted_apart(model: Model) -> None:
    def says(asked: dict[str, Any]) -> Iterator[str]:
        yield from spoken(asked) if len(model.asked) % 3 else iter(["broken"])

    model.says = says
    found = probe(model.url, "tiny", LOAD)
    assert found["failed"] > 0
    assert found["completed"] + found["failed"] == 12
    assert len(found["output_lens"]) == found["completed"]


def test_the_command(model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evidence", "probe", model.url, "--model", "tiny", "--requests", "4", "--clients", "2"]
    line += ["--input-tokens", "20", "--output-tokens", "3"]
    assert main([*line, "--output", str(tmp_path / "bench.json")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("4 answers: ")
    assert "0 failed" in said.out
    assert "sizewell size SPEC --observed" in said.err
    assert read_all([tmp_path / "bench.json"])[0].requests == 4
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["completed"] == 4
    assert main(["evidence", "probe", "localhost", "--model", "x"]) == 64
    assert "must begin with http:// or https://" in capsys.readouterr().err


def test_a_load_test_stands_in_the_record_beside_what_is_predicted_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    decision = Decision.from_json(ROOT / "stacks/decisions/dev-aws.json")
    file = tmp_path / "bench.json"
    result = {"completed": 200, "duration": 100.0, "total_input_tokens": 100_000, "total_output_tokens": 20_000}
    result |= {"max_concurrency": 4, "mean_ttft_ms": 900.0, "median_ttft_ms": 800.0, "output_throughput": 200.0}
    file.write_text(json.dumps({**result, "mean_tpot_ms": 45.0, "median_tpot_ms": 44.0}))
    figures = evidence._times("dev-aws", decision, file)
    assert (figures["ttft_s_measured"], figures["tpot_s_measured"]) == (0.9, 0.045)
    assert figures["output_tokens_per_s_measured"] == 200
    assert 0 < figures["tpot_s_predicted"] < 1
    assert figures["ttft_s_predicted"] > 0
    file.write_text(file.read_text() + "\n" + file.read_text())
    with pytest.raises(ConfigError, match="has 2 load tests"):
        evidence._times("dev-aws", decision, file)
    file.write_text(file.read_text().partition("\n")[0])
    with pytest.raises(UsageError, match="is not the one that was decided"):
        evidence._times("prod-aws", decision, file)
