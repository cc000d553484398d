"""Load tests' results and pages of an engine's metrics, in the forms in which vLLM and SGLang write them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.measured import kinds, read_all

# As sglang.bench_serving wrote it (a public run: ShareGPT, 5 requests a second).
SGLANG = {
    "backend": "sglang", "dataset_name": "sharegpt", "request_rate": 5.0, "max_concurrency": 256,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 1024, "random_range_ratio": 0.0,
    "duration": 204.53694480800186, "completed": 1000, "total_input_tokens": 302118, "total_output_tokens": 195775,
    "total_output_tokens_retokenized": 195324, "request_throughput": 4.88909229058201,
    "input_throughput": 1477.0827846460556, "output_throughput": 957.162043188693,
    "mean_e2e_latency_ms": 2409.499004891637, "median_e2e_latency_ms": 1537.8948565048631,
    "std_e2e_latency_ms": 2620.270331568627, "p99_e2e_latency_ms": 9813.89673267491,
    "mean_ttft_ms": 91.69221715730964, "median_ttft_ms": 76.41966750088613, "std_ttft_ms": 65.22224954470558,
    "p99_ttft_ms": 327.9139723521075, "mean_tpot_ms": 11.808901276564441, "median_tpot_ms": 11.829237894316,
    "std_tpot_ms": 1.9529553892334461, "p99_tpot_ms": 19.04175553412642, "mean_itl_ms": 11.917698144217361,
    "median_itl_ms": 10.71716399746947, "std_itl_ms": 2.8155413018211033, "p95_itl_ms": 18.839622958330438,
    "p99_itl_ms": 21.477889133384465, "concurrency": 11.780263008980727, "accept_length": None,
}  # fmt: skip
# The keys of `vllm bench serve --save-result`, without a rate and with so many in flight.
VLLM = {
    "date": "20261127-101500", "endpoint_type": "vllm", "backend": "vllm", "label": None,
    "model_id": "meta-llama/Llama-3.1-8B", "tokenizer_id": "meta-llama/Llama-3.1-8B", "num_prompts": 500,
    "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "duration": 264.3, "completed": 498, "failed": 2,
    "total_input_tokens": 747000, "total_output_tokens": 149400, "request_throughput": 1.884, "request_goodput": None,
    "output_throughput": 565.3, "total_token_throughput": 3391.6, "max_output_tokens_per_s": 640.0,
    "max_concurrent_requests": 33, "mean_ttft_ms": 498.6, "median_ttft_ms": 268.9, "std_ttft_ms": 901.0,
    "p99_ttft_ms": 5210.2, "mean_tpot_ms": 55.2, "median_tpot_ms": 56.0, "std_tpot_ms": 3.1, "p99_tpot_ms": 62.4,
    "mean_itl_ms": 55.1, "median_itl_ms": 41.3, "std_itl_ms": 39.0, "p99_itl_ms": 260.0,
}  # fmt: skip
LABELS = 'engine="0",model_name="meta-llama/Llama-3.1-8B"'


def histogram(name: str, total: float, counts: dict[str, float], labels: str = LABELS) -> str:
    """As Prometheus' client writes one: `counts` add up, the last is all."""
    buckets = [f'vllm:{name}_bucket{{{labels},le="{edge}"}} {count}' for edge, count in counts.items()]
    whole = list(counts.values())[-1]
    lines = [f"# HELP vllm:{name} Histogram.", f"# TYPE vllm:{name} histogram", *buckets]
    return "\n".join([*lines, f"vllm:{name}_count{{{labels}}} {whole}", f"vllm:{name}_sum{{{labels}}} {total}"])


def page(times: float, *, labels: str = LABELS, between: str = "request_time_per_output_token_seconds") -> str:
    """A page of vLLM after so many times a thousand requests."""
    count = 1000.0 * times
    parts = [
        "# HELP python_info Python platform information.",
        'python_info{implementation="CPython",major="3",version="3.12.11"} 1.0',
        f"vllm:num_requests_running{{{labels}}} 7.0",
        histogram(
            "time_to_first_token_seconds", 120 * times,
            {"0.06": 0, "0.1": 0.6 * count, "0.25": 0.95 * count, "0.5": count, "+Inf": count}, labels,
        ),
        histogram(between, 20 * times, {"0.01": 0, "0.025": 0.9 * count, "0.05": count, "+Inf": count}, labels),
        histogram("e2e_request_latency_seconds", 6000 * times, {"5.0": 0.3 * count, "10.0": count, "+Inf": count}, labels),
        histogram("request_prompt_tokens", 1_500_000 * times, {"1000.0": 0.5 * count, "5000.0": count, "+Inf": count}, labels),
        histogram("request_generation_tokens", 300_000 * times, {"200.0": 0.5 * count, "500.0": count, "+Inf": count}, labels),
        f"vllm:prefix_cache_queries_total{{{labels}}} {1_500_000 * times}",
        f"vllm:prefix_cache_hits_total{{{labels}}} {375_000 * times}",
        f"vllm:num_preemptions_total{{{labels}}} 0.0",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


@pytest.fixture
def saved(tmp_path: Path):
    def save(*texts: str, apart_s: float = 600.0) -> list[Path]:
        paths = []
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.txt"
            path.write_text(text, encoding="utf-8")
            os.utime(path, (1e9 + number * apart_s, 1e9 + number * apart_s))
            paths.append(path)
        return paths

    return save


def test_a_load_test_of_sglang(saved) -> None:
    (run,) = read_all(saved(json.dumps(SGLANG) + "\n"))
    assert (run.requests, run.rate, run.clients, run.center) == (1000, 5.0, 0, "p50")
    assert (run.input_tokens, run.output_tokens) == (302.118, 195.775)
    ttft = {"mean": 0.09169221715730964, "p50": 0.07641966750088613, "p99": 0.3279139723521075}
    assert run.seconds["ttft"] == pytest.approx(ttft)
    assert run.seconds["e2e"]["p99"] == pytest.approx(9.81389673267491)
    assert set(run.seconds) == {"ttft", "tpot", "itl", "e2e"}


def test_a_load_test_of_vllm(saved) -> None:
    (run,) = read_all(saved(json.dumps(VLLM)))
    assert (run.rate, run.clients, run.model) == (None, 32, "meta-llama/Llama-3.1-8B")
    assert run.remarks == ("2 requests failed and are not counted",)
    assert "e2e" not in run.seconds, "it writes that only where --percentile-metrics names it"
    several = read_all(saved("\n".join(json.dumps({**VLLM, "max_concurrency": count}) for count in (1, 8))))
    assert [(each.clients, each.source[-6:]) for each in several] == [(1, "line 1"), (8, "line 2")]


def test_the_shape_of_arrivals_is_no_burstiness(saved) -> None:
    """Both tools draw gaps from a gamma distribution and state its shape; ours is the coefficient of variation."""
    (run,) = read_all(saved(json.dumps({**VLLM, "request_rate": 4.0, "burstiness": 0.25, "max_concurrency": None})))
    assert (run.rate, run.burstiness) == (4.0, 2.0)


def test_a_rate_that_was_not_let_in_is_so_many_clients(saved) -> None:
    """498 requests in 264 s are 2 a second: of 50 a second the 32 in flight let no more in."""
    (run,) = read_all(saved(json.dumps({**VLLM, "request_rate": 50.0})))
    assert (run.rate, run.clients) == (None, 32)


@pytest.mark.parametrize("between", ["request_time_per_output_token_seconds", "inter_token_latency_seconds",
                                     "time_per_output_token_seconds"])  # fmt: skip
def test_two_pages_of_vllm(saved, between: str) -> None:
    (run,) = read_all(saved(page(2, between=between), page(5, between=between)))
    assert (run.requests, run.rate, run.center, run.replicas) == (3000, 5.0, "mean", 1)
    assert (run.input_tokens, run.output_tokens, run.prefix) == (1500, 300, 0.25)
    assert run.seconds["ttft"]["mean"] == pytest.approx(0.12)
    assert run.seconds["ttft"]["p50"] == pytest.approx(0.06 + 0.04 * 5 / 6)  # even within its bucket
    assert run.seconds["ttft"]["p95"] == pytest.approx(0.25)
    assert run.seconds["tpot" if between.startswith("request") else "itl"]["mean"] == pytest.approx(0.02)
    assert run.input_p95 == pytest.approx(4600)
    assert run.remarks[0] == "3,000 requests ended in 600 s, by the times of the files"
    (stated,) = read_all(saved(page(2, between=between), page(5, between=between)), between_s=300)
    assert stated.rate == 10


def _drafts(times: float) -> str:
    counts = {"num_drafts_total": 1000, "num_draft_tokens_total": 5000, "num_accepted_tokens_total": 2000}
    lines = [f"vllm:spec_decode_{name}{{{LABELS}}} {times * count}" for name, count in counts.items()]
    per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    lines += [f'{per_position}{{{LABELS},position="{at}"}} {times * 700 * 0.8**at}' for at in range(5)]
    return "\n".join([*lines, ""])


def test_what_was_drafted_is_counted_between_two_pages(saved) -> None:
    (run,) = read_all(saved(page(2) + _drafts(2), page(5) + _drafts(5)))
    assert (run.drafts, run.proposed, run.step_tokens) == (3000, 5, 3)
    assert run.accepted == pytest.approx(0.7)
    (plain,) = read_all(saved(page(2), page(5)))
    assert (plain.drafts, plain.accepted) == (0, None)


@pytest.mark.parametrize(
    ("result", "key", "value", "drafted"),
    [
        (SGLANG, "accept_length", 2.4, True),
        (SGLANG, "accept_length", None, False),
        (VLLM, "spec_decode_acceptance_length", 2.4, True),
        (VLLM, "other", None, None),
    ],
)
def test_what_a_load_test_says_of_a_draft(saved, result, key: str, value: object, drafted: bool | None) -> None:
    (run,) = read_all(saved(json.dumps({**result, key: value})))
    assert (None if run.drafts is None else run.drafts > 0) == drafted
    assert run.step_tokens == value


def test_engines_of_one_server_are_replicas_together(saved) -> None:
    other = LABELS.replace('engine="0"', 'engine="1"')
    (run,) = read_all(saved(page(1) + page(1, labels=other), page(2) + page(3, labels=other)))
    assert (run.replicas, run.requests) == (2, 3000)


def test_times_of_samples_come_before_those_of_files(saved) -> None:
    def stamped(text: str, at_ms: int) -> str:
        return "".join(f"{line} {at_ms}\n" if line.startswith("vllm:") else f"{line}\n" for line in text.splitlines())

    (run,) = read_all(saved(stamped(page(1), 1_764_237_600_000), stamped(page(2), 1_764_237_700_000)))
    assert run.rate == 10


def test_kinds_are_told_by_content(saved) -> None:
    paths = saved(json.dumps(VLLM), page(1), "workload: chat\nrps: 0.2\n", '{"workload": "chat", "utilization": "9%"}')
    assert kinds(paths) == (paths[:2], paths[2:])


def without(text: str, name: str) -> str:
    return "\n".join(line for line in text.splitlines() if name not in line)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((page(1),), "one page counts from the start of the server"),
        ((page(1), page(2), page(3)), "is the third of 3 pages"),
        ((page(2), page(1)), "falls from 2,000 to 1,000: the server was started again"),
        ((page(1), page(1)), "no request ended between the two pages"),
        ((page(1), page(2).replace("_count{", "_count{{", 1)), "1.txt: line 11: is no sample"),
        ((page(1), page(2).replace(" 240", " many", 1)), "line 12: is no sample"),
        ((page(1), without(page(2), "request_prompt_tokens")), "has no vllm:request_prompt_tokens"),
        ((page(1), page(2) + page(2, labels='engine="0",model_name="b"')), "has 2 models: b, meta-llama/Llama-3.1-8B"),
        ((page(1), "# TYPE up gauge\nup 1\n"), "has no metrics of vLLM"),
        ((json.dumps({**VLLM, "completed": 0}),), "0.txt: completed: must be a number above 0, got 0"),
        ((json.dumps({**VLLM, "mean_ttft_ms": "fast"}),), "mean_ttft_ms: must be a number above 0, got 'fast'"),
        ((json.dumps({k: v for k, v in VLLM.items() if k != "duration"}),), "duration: is missing"),
        ((json.dumps({k: v for k, v in VLLM.items() if "_ms" not in k} | {"mean_e2el_ms": 9.0}),), "neither the time to"),
        ((json.dumps({**VLLM, "ramp_up_strategy": "linear"}),), "the rate rises over the run"),
        ((json.dumps(VLLM) + "\n" + json.dumps(VLLM)[:60],), "0.txt: line 2: is no JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_line(saved, texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(SpecError) as refused:
        read_all(saved(*texts))
    assert message in str(refused.value)
    assert "fix:" in str(refused.value)


def test_pages_at_one_time_have_no_window(saved) -> None:
    with pytest.raises(SpecError, match=r"was saved 0\.0 s after .*that is no window"):
        read_all(saved(page(1), page(2), apart_s=0))
