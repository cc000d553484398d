"""How fast a running service was measured to answer: a load test's result, or two pages of the engine's own metrics.

`vllm bench serve --save-result` and `sglang.bench_serving --output-file` write a JSON object for each run. vLLM's
`/metrics` counts from the start of the server, in the text format of Prometheus: two pages of it say what happened in
between. Of a histogram the mean is exact and percentiles lie between the edges of a bucket.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.units import plural
from sizewell.sizing.workload.text import read_text

SHARES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
FEW: Final = 100  # requests, below which a mean is hardly known
BENCHMARK: Final = {"ttft": ("ttft",), "tpot": ("tpot",), "itl": ("itl",), "e2e": ("e2el", "e2e_latency")}
"""Figures of a load test by the names that they have between a statistic and `_ms`."""
HISTOGRAMS: Final = {
    "ttft": ("vllm:time_to_first_token_seconds",),
    "tpot": ("vllm:request_time_per_output_token_seconds",),
    "itl": ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    "e2e": ("vllm:e2e_request_latency_seconds",),
    "prompt": ("vllm:request_prompt_tokens",),
    "answer": ("vllm:request_generation_tokens",),
}
"""Histograms of vLLM, by the newest name of each first."""
TWICE: Final = "save the engine's page twice, minutes apart, and name both: --observed FIRST --observed SECOND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measurement of a service; seconds by figure (ttft, tpot, itl, e2e) and statistic (mean, p50 to p99)."""

    source: str
    requests: int  # that ended
    input_tokens: float  # mean
    output_tokens: float  # mean
    seconds: Mapping[str, Mapping[str, float]]
    center: str  # statistic that is exact and says the most
    rate: float | None = None  # requests a second on all replicas together; None: `clients` wait for their answers
    clients: int = 0
    burstiness: float = 1.0
    input_p95: float | None = None
    output_p95: float | None = None
    prefix: float | None = None  # share of prompt tokens that the cache held; None: not measured
    replicas: int | None = None  # that were measured together; None: not said
    from_empty: bool = False  # measured from the first request on, none left out
    drafts: float | None = None  # times that tokens were proposed, in speculative decoding; None: not counted
    proposed: float | None = None  # tokens each time
    accepted: float | None = None  # share of these times in which the first of them was accepted
    step_tokens: float | None = None  # that a step added, the model's own among them
    model: str = ""
    remarks: tuple[str, ...] = ()


def kinds(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Those files that measure times, by their content, and the others."""
    timed = [path for path in paths if _is_page(text := read_text(path)) or _results(text, path)]
    return timed, [path for path in paths if path not in timed]


def read_all(paths: Sequence[Path], *, between_s: float | None = None) -> list[Measured]:
    """The measurements in files of times; SpecError with file, line and value for what cannot be read as one.

    `between_s` is the time between two pages; without it that of their samples, or else of the files.
    """
    texts = {path: read_text(path) for path in paths}
    pages = [path for path in paths if _is_page(texts[path])]
    if len(pages) == 1:
        message = "one page counts from the start of the server: it says neither rate nor time"
        raise SpecError([Fault(path=str(pages[0]), message=message, fix=TWICE)])
    if len(pages) > 2:
        raise SpecError([Fault(path=str(pages[2]), message=f"is the third of {len(pages)} pages", fix=TWICE)])
    runs = [
        _run(result, f"{path}, line {line}" if many else str(path))
        for path in paths
        if path not in pages
        for many in (len(_results(texts[path], path)) > 1,)
        for line, result in _results(texts[path], path)
    ]
    return runs + ([_between(pages[0], pages[1], between_s)] if pages else [])


# Load tests ------------------------------------------------------------------------------------------------------


def _results(text: str, path: Path) -> list[tuple[int, object]]:
    """The results of a load test, each with its line: one JSON object, or one a line. None of other files."""
    if not text.lstrip().startswith("{") or '_ms"' not in text:
        return []
    try:
        return [(1, json.loads(text))]
    except json.JSONDecodeError:
        pass
    found: list[tuple[int, object]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found += [(number, json.loads(line))] if line.strip() else []
        except json.JSONDecodeError as error:
            message = f"is no JSON: {error.msg} at column {error.colno}"
            fix = "name the file that the load test wrote"
            raise SpecError([Fault(path=f"{path}: line {number}", message=message, fix=fix)]) from None
    return found


def _run(result: object, where: str) -> Measured:
    if not isinstance(result, dict):
        raise SpecError([Fault(path=where, message="is no result of a load test", fix="name the file that it wrote")])
    faults: list[Fault] = []

    def number(key: str) -> float:
        value = result.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            found = f"must be a number above 0, got {value!r}" if key in result else "is missing"
            fix = "name the result of `vllm bench serve --save-result` or `sglang.bench_serving --output-file`"
            faults.append(Fault(path=f"{where}: {key}", message=found, fix=fix))
            return 1.0
        return float(value)

    requests, seconds = number("completed"), number("duration")
    prompts, answers = number("total_input_tokens"), number("total_output_tokens")
    figures = {name: _statistics(result, own, number) for name, own in BENCHMARK.items()}
    figures = {name: values for name, values in figures.items() if values}
    if not {"ttft", "tpot", "itl"} & figures.keys():
        message = "has neither the time to the first token nor between tokens"
        faults.append(Fault(path=where, message=message, fix="run the load test with streaming"))
    asked = result.get("request_rate")
    paced = isinstance(asked, (int, float)) and 0 < asked < math.inf
    if result.get("ramp_up_strategy"):
        message = "the rate rises over the run (ramp_up_strategy)"
        faults.append(Fault(path=where, message=message, fix="measure at one rate: leave --ramp-up-strategy out"))
    most = result.get("max_concurrency")
    if faults:
        raise SpecError(faults)
    shape = result.get("burstiness")
    remarks = []
    if failed := result.get("failed"):
        remarks.append(f"{plural(int(failed), 'request')} failed and {'is' if failed == 1 else 'are'} not counted")
    lengths = [result.get(key) for key in ("accept_length", "spec_decode_acceptance_length")]
    step_tokens = next((float(each) for each in lengths if isinstance(each, (int, float)) and each >= 1), None)
    undrafted = "accept_length" in result and step_tokens is None  # SGLang's, which writes null then
    clients = min(int(most), int(requests)) if isinstance(most, int) and most > 0 else int(requests)
    if paced and isinstance(most, int) and requests / seconds < 0.9 * float(asked or 0):
        paced = False  # more came than was let in: the test held as many in flight as it may
    if requests < FEW:
        remarks.append(f"{plural(int(requests), 'request')} ended: too few to know a mean well")
    return Measured(
        source=where,
        requests=int(requests),
        input_tokens=prompts / requests,
        output_tokens=answers / requests,
        seconds=figures,
        center="p50" if all("p50" in values for values in figures.values()) else "mean",
        rate=float(asked or 0) if paced else None,
        clients=0 if paced else clients,
        # Both tools state the shape of a gamma distribution: the inverse square of the coefficient of variation.
        burstiness=1 / math.sqrt(shape) if isinstance(shape, (int, float)) and 0 < shape < math.inf else 1.0,
        input_p95=_p95(result.get("input_lens")),
        output_p95=_p95(result.get("output_lens")),
        prefix=0.0,
        from_empty=True,
        drafts=0.0 if undrafted else requests if step_tokens else None,
        step_tokens=step_tokens,
        model=str(result.get("model_id") or ""),
        remarks=tuple(remarks),
    )


def _p95(lengths: object) -> float | None:
    """Of the lengths that a detailed result lists; those of failed requests are 0."""
    known = sorted(each for each in lengths if isinstance(each, int) and each > 0) if isinstance(lengths, list) else []
    return float(known[math.ceil(SHARES["p95"] * len(known)) - 1]) if known else None


def _statistics(result: Mapping[str, Any], names: Sequence[str], number: Callable[[str], float]) -> dict[str, float]:
    """Seconds by statistic of the first of the names that a result has."""
    for name in names:
        keys = {"mean": f"mean_{name}_ms", **{share: f"{share}_{name}_ms" for share in SHARES}}
        keys["p50"] = f"median_{name}_ms"
        values = {statistic: number(key) / 1000 for statistic, key in keys.items() if result.get(key)}
        if values:
            return values
    return {}


# Metrics of the engine -------------------------------------------------------------------------------------------


_LABEL: Final = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')


def _is_page(text: str) -> bool:
    return any(line.startswith(("# TYPE ", "# HELP ", "vllm:")) for line in text.splitlines()[:100])


@dataclass(frozen=True, slots=True)
class _Page:
    """What a page says: values by name of a sample, then by its labels; milliseconds since 1970 where it states any."""

    path: Path
    values: Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]
    at_ms: int | None

    def total(self, name: str) -> float | None:
        """Of all label sets together; None where the page has no such sample."""
        known = self.values.get(name)
        return math.fsum(known.values()) if known else None

    def first_of(self, names: Sequence[str]) -> str | None:
        """The first of the histograms that the page has."""
        return next((name for name in names if f"{name}_count" in self.values), None)


def _page(path: Path) -> _Page:
    values: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    at_ms: int | None = None
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.startswith("#") or not line.startswith("vllm:"):
            continue
        name, labels, value, stamp = _sample(line, f"{path}: line {number}")
        values.setdefault(name, {})[labels] = value
        at_ms = at_ms if stamp is None else int(stamp)
    if not values:
        message = "has no metrics of vLLM (vllm:...)"
        fix = "save the engine's own page: curl http://HOST:8000/metrics"
        raise SpecError([Fault(path=str(path), message=message, fix=fix)])
    return _Page(path, values, at_ms)


def _sample(line: str, where: str) -> tuple[str, tuple[tuple[str, str], ...], float, str | None]:
    """Name, labels, value and time of a sample; SpecError for what is none."""
    name, braces, rest = line.partition("{")
    text, _, rest = rest.rpartition("}")
    if not braces:
        name, _, rest = line.partition(" ")
    labels, parts = _labels(text), rest.split()
    stamp = parts[1] if len(parts) > 1 else None
    try:
        value = float(parts[0]) if parts else None
        int(stamp or 0)
    except ValueError:
        value = None
    if labels is None or value is None or len(parts) > 2:
        shown = line.strip()
        shown = shown if len(shown) <= 80 else f"{shown[:36]} ... {shown[-40:]}"
        message = f"is no sample of a counter, a gauge or a histogram: {shown}"
        fix = "save the page as the engine sends it: curl http://HOST:8000/metrics"
        raise SpecError([Fault(path=where, message=message, fix=fix)])
    return name, labels, value, stamp


def _labels(text: str) -> tuple[tuple[str, str], ...] | None:
    """Labels in their order by name; None where the text is none.

    >>> _labels('model_name="m",engine="0",')
    (('engine', '0'), ('model_name', 'm'))
    """
    found, position = [], 0
    while position < len(text):
        match = _LABEL.match(text, position)
        if match is None:
            return None
        found.append((match[1], match[2]))
        position = match.end()
    return tuple(sorted(found))


def _between(first_path: Path, second_path: Path, between_s: float | None) -> Measured:
    """What the engine did between two of its pages."""
    first, second = _page(first_path), _page(second_path)
    where = f"{first_path}, {second_path}"
    models = sorted(
        {dict(labels).get("model_name", "") for series in second.values.values() for labels in series} - {""}
    )
    if len(models) > 1:
        message = f"has {len(models)} models: {', '.join(models)}"
        raise SpecError([Fault(path=str(second_path), message=message, fix="save the pages of one of them")])
    grown = {name: own for name, names in HISTOGRAMS.items() if (own := _grown(first, second, names)) is not None}
    missing = [HISTOGRAMS[name][0] for name in ("e2e", "prompt", "answer") if name not in grown]
    if missing or not {"ttft", "tpot", "itl"} & grown.keys():
        missing = missing or [HISTOGRAMS["ttft"][0]]
        fix = "take the page of vLLM 0.6 or later, without --disable-log-stats"
        raise SpecError([Fault(path=where, message=f"has no {', '.join(missing)}", fix=fix)])
    requests = grown["e2e"].count
    if not requests:
        raise SpecError([Fault(path=where, message="no request ended between the two pages", fix=TWICE)])
    seconds, how = _apart(first, second, between_s)
    prompt, answer = grown["prompt"], grown["answer"]
    asked = _counted(first, second, ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"))
    held = _counted(first, second, ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"))
    remarks = [f"{requests:,} requests ended in {seconds:,.0f} s, {how}"]
    if requests < FEW:
        remarks.append(f"{plural(requests, 'request')} ended: too few to know a mean well")
    drafts, proposed, accepted, step_tokens = _drafted(first, second)
    if preempted := _counted(first, second, ("vllm:num_preemptions_total",)):
        remarks.append(f"{plural(round(preempted), 'sequence')} gave their cache back and were computed again")
    return Measured(
        source=where,
        requests=requests,
        input_tokens=prompt.mean,
        output_tokens=max(1.0, answer.mean),
        seconds={name: grown[name].statistics() for name in ("ttft", "tpot", "itl", "e2e") if name in grown},
        center="mean",
        rate=requests / seconds,
        input_p95=prompt.at(SHARES["p95"]),
        output_p95=answer.at(SHARES["p95"]),
        prefix=min(0.99, (held or 0.0) / asked) if asked else None,
        replicas=len(second.values["vllm:e2e_request_latency_seconds_count"]),
        drafts=drafts,
        proposed=proposed,
        accepted=accepted,
        step_tokens=step_tokens,
        model=models[0] if models else "",
        remarks=tuple(remarks),
    )


def _drafted(first: _Page, second: _Page) -> tuple[float | None, float | None, float | None, float | None]:
    """Drafts between two pages, tokens proposed in each, the share in which the first was accepted, and tokens of a
    step; vLLM has these counters only where speculative decoding is on.
    """
    drafts = _counted(first, second, ("vllm:spec_decode_num_drafts_total",))
    accepted = _counted(first, second, ("vllm:spec_decode_num_accepted_tokens_total",))
    if not drafts:
        return None if accepted else 0.0, None, None, None
    proposed = _counted(first, second, ("vllm:spec_decode_num_draft_tokens_total",))
    before, after = (
        math.fsum(
            value
            for labels, value in page.values.get("vllm:spec_decode_num_accepted_tokens_per_pos_total", {}).items()
            if dict(labels).get("position") == "0"
        )
        for page in (first, second)
    )
    return (
        drafts,
        proposed / drafts if proposed else None,
        min(1.0, (after - before) / drafts) if after else None,
        None if accepted is None else 1 + accepted / drafts,
    )


def _apart(first: _Page, second: _Page, between_s: float | None) -> tuple[float, str]:
    """Seconds between two pages, and what says so."""
    if between_s is not None:
        return between_s, "as stated"
    if first.at_ms is not None and second.at_ms is not None:
        seconds, how = (second.at_ms - first.at_ms) / 1000, "by the times of their samples"
    else:
        seconds, how = second.path.stat().st_mtime - first.path.stat().st_mtime, "by the times of the files"
    if seconds < 1:
        message = f"was saved {seconds:.1f} s after {first.path} {how}: that is no window"
        fix = "name the earlier page first; or state between: 10m in a file with workload, and name it too"
        raise SpecError([Fault(path=str(second.path), message=message, fix=fix)])
    return seconds, how


@dataclass(frozen=True, slots=True)
class _Histogram:
    """What came between two pages, by the upper edges of buckets; counts add up over them."""

    buckets: tuple[tuple[float, float], ...]
    total: float
    count: int

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def at(self, share: float) -> float | None:
        """A percentile, even within its bucket; None in the last one, which has no upper edge."""
        wanted, low, before = share * self.count, 0.0, 0.0
        for edge, upto in self.buckets:
            if upto >= wanted and upto > before:
                return None if math.isinf(edge) else low + (edge - low) * (wanted - before) / (upto - before)
            low, before = edge, upto
        return None

    def statistics(self) -> dict[str, float]:
        known = {name: self.at(share) for name, share in SHARES.items()}
        return {"mean": self.mean, **{name: value for name, value in known.items() if value is not None}}


def _grown(first: _Page, second: _Page, names: Sequence[str]) -> _Histogram | None:
    """What a histogram gained from one page to the other; None where the pages have none."""
    name = second.first_of(names)
    if name is None:
        return None
    count = _counted(first, second, (f"{name}_count",)) or 0.0
    by_edge: dict[float, float] = {}
    for page, sign in ((second, 1.0), (first, -1.0)):
        for labels, value in page.values.get(f"{name}_bucket", {}).items():
            edge = float(dict(labels).get("le", "inf").replace("+Inf", "inf"))
            by_edge[edge] = by_edge.get(edge, 0.0) + sign * value
    buckets = tuple(sorted(by_edge.items()))
    if any(a > b for (_, a), (_, b) in itertools.pairwise(buckets)):
        message = f"{name}_bucket falls from one edge to the next"
        fix = "save both pages of the same server, as it sends them"
        raise SpecError([Fault(path=str(second.path), message=message, fix=fix)])
    return _Histogram(buckets, _counted(first, second, (f"{name}_sum",)) or 0.0, round(count))


def _counted(first: _Page, second: _Page, names: Sequence[str]) -> float | None:
    """How far a counter rose; None where the second page has none of the names. A series of one page alone is new."""
    name = next((name for name in names if name in second.values), None)
    if name is None:
        return None
    before = first.values.get(name, {})
    for labels, value in before.items():
        now = second.values[name].get(labels)
        if now is None or now < value:
            became = "is gone" if now is None else f"falls from {value:,.6g} to {now:,.6g}"
            message = f"{name} {became}: the server was started again, or the pages are in the wrong order"
            raise SpecError([Fault(path=str(second.path), message=message, fix=TWICE)])
    return (second.total(name) or 0.0) - math.fsum(before.values())
