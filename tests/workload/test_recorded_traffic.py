"""`traffic.requests`: a log beside the spec says rate, lengths and bursts, and the fleet is chosen by replaying it."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import statistics
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose import simulated
from sizewell.sizing.choose.decide import size_one
from sizewell.sizing.choose.simulated import Load, deployed, judged
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.simulation.fleet import Served, simulate
from sizewell.sizing.predict.simulation.requests import Requests
from sizewell.sizing.records.launching import TARGET_LOAD
from sizewell.sizing.workload.read import WorkloadSpec, read_spec
from sizewell.sizing.workload.request_log import Log, read_log
from sizewell.sizing.workload.resolved import as_yaml

CATALOG = load()
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens"


def _bursts(seed: int = 1) -> str:
    """Twenty minutes: thirty requests within a second, every half a minute."""
    draw = random.Random(seed)  # noqa: S311 - arrivals
    rows = []
    for burst in range(40):
        for at in sorted(draw.random() for _ in range(30)):
            rows += [f"{burst * 30 + at:.3f},{draw.randint(500, 2500)},{draw.randint(20, 200)}"]
    return "\n".join([HEAD, *rows])


def _read(folder: Path, traffic: str = "{requests: log.csv}") -> WorkloadSpec:
    (folder / "chat.yaml").write_text(
        f"name: chat\nkind: inference\nmodel: meta-llama/Llama-3.1-8B\ntraffic: {traffic}\n"
        "slo: {ttft: 1s, tpot: 50ms}\nresources: {accelerators: [l40s, h100]}\n"
    )
    return read_spec(folder / "chat.yaml", CATALOG)


def test_rate_and_lengths_are_those_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"{HEAD}\n0,100,10\n2,300,30\n4,200,20")
    traffic = _read(tmp_path).traffic
    assert traffic is not None
    assert (traffic.rps, traffic.input_tokens, traffic.output_tokens, traffic.prefix) == (0.75, 200, 20, None)


def test_the_content_counts_and_not_where_the_log_lies(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(_bursts())
    (tmp_path / "other.csv.gz").write_bytes(gzip.compress(_bursts().encode()))
    first = _read(tmp_path)
    assert first.digest() == _read(tmp_path, "{requests: other.csv.gz}").digest()
    assert first.traffic is not None
    assert first.traffic.requests is not None
    pinned = f"{{requests: {{file: log.csv, sha256: {first.traffic.requests.sha256}}}}}"
    assert _read(tmp_path, pinned).digest() == first.digest()
    (tmp_path / "log.csv").write_text(_bursts(seed=2))
    assert _read(tmp_path).digest() != first.digest()
    with pytest.raises(SpecError, match=r"traffic\.requests\.sha256: the log has other requests"):
        _read(tmp_path, pinned)


def test_what_show_spec_writes_reads_back(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(_bursts())
    spec = _read(tmp_path)
    (tmp_path / "again.yaml").write_text(as_yaml(spec))
    assert read_spec(tmp_path / "again.yaml", CATALOG).digest() == spec.digest()


def test_prompts_that_share_blocks_are_read_once(tmp_path: Path) -> None:
    rows = [{"timestamp": t * 1000, "input_length": 1024, "output_length": 8, "hash_ids": [1, t]} for t in range(5)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    traffic = _read(tmp_path, "{requests: log.jsonl}").traffic
    assert traffic is not None
    # The first block of four prompts of five, and the whole of the second, whose two blocks are one.
    assert traffic.prefix == pytest.approx((4 * 512 + 512) / (5 * 1024))


def test_what_fails_is_not_replayed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.csv").write_text(_bursts())
    replayed: list[int] = []

    def counted(*arguments: Any, **more: Any) -> Served:
        served = simulate(*arguments, **more)
        replayed.append(len(served.ttft_s))
        return served

    monkeypatch.setattr(simulated, "simulate", counted)
    assert size_one(_read(tmp_path), CATALOG, stack="", on=date(2026, 11, 22)).best() is not None
    assert sum(replayed) < 1200 * 5


def test_the_fleet_holds_the_log_a_quarter_faster_and_one_fewer_does_not(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(_bursts())
    spec = _read(tmp_path)
    option = size_one(spec, CATALOG, stack="", on=date(2026, 11, 22)).best()
    assert option is not None
    of = deployed(option)
    assert of is not None
    assert spec.log is not None
    log = spec.log.requests
    faster = Requests([at * TARGET_LOAD for at in log.at_s], log.prompt_tokens, log.output_tokens, log.cached_tokens)
    assert judged(of, Load(requests=faster), of.replicas).holds
    assert of.replicas == 1 or not judged(of, Load(requests=faster), of.replicas - 1).holds
    says = " ".join((*option.setting.need.assumptions, *option.fleet.serving.assumptions))
    assert "load of log.csv: 1.02 requests/s" in says
    assert "1,200 recorded requests that come 1.25 times as fast" in says


@pytest.mark.parametrize("lines", [(1, 7, 1200), (600,)])
def test_what_the_server_refuses_is_no_load(tmp_path: Path, lines: tuple[int, ...]) -> None:
    """Neither rate nor lengths nor money: as if these rows were not in the log."""
    rows = _bursts().splitlines()
    (tmp_path / "log.csv").write_text("\n".join(row for line, row in enumerate(rows) if line not in lines))
    clean = _read(tmp_path)
    for line in lines:
        rows[line] = ",".join((rows[line].split(",")[0], "200000", "1"))
    (tmp_path / "log.csv").write_text("\n".join(rows))
    whole = _read(tmp_path)
    assert whole.traffic is not None
    assert clean.traffic is not None
    for key in ("rps", "input_tokens", "output_tokens"):
        assert getattr(whole.traffic, key) == getattr(clean.traffic, key)
    bought, needed = (size_one(spec, CATALOG, stack="", on=date(2026, 11, 22)).best() for spec in (whole, clean))
    assert bought is not None
    assert needed is not None
    assert (bought.instance_type, bought.fleet.nodes, bought.usd_per_month) == (
        (needed.instance_type, needed.fleet.nodes, needed.usd_per_month)
    )
    assert f"the server refuses {len(lines)} recorded request" in " ".join(bought.setting.need.assumptions)
    (tmp_path / "again.yaml").write_text(as_yaml(whole))
    assert (
        read_spec(tmp_path / "again.yaml", CATALOG).digest()
        == whole.digest()
        == read_spec(tmp_path / "chat.yaml").digest()
    )


@pytest.mark.parametrize(
    ("traffic", "says"),
    [
        ("{requests: long.csv}", r"traffic\.requests: has none that is served: 2 requests left out"),
        ("{requests: log.csv, rps: 4}", r"traffic\.rps: is stated, and the log"),
        ("{requests: log.csv, burstiness: 4, input_tokens: 5}", r"traffic\.burstiness: is stated"),
        ("{requests: nowhere.csv}", r"traffic\.requests: No such file"),
        ("{requests: {file: log.csv, columns: 'at=a'}}", r"traffic\.requests: at=a is not at=NAME"),
        ("{requests: {file: log.csv, colums: x}}", r"traffic\.requests\.colums: unknown key"),
        ("{requests: [log.csv]}", r"traffic\.requests"),
        ("{requests: broken.csv}", r"traffic\.requests: 1 of 1 rows are no requests: line 2"),
        ("{requests: once.csv}", r"traffic\.requests: all its requests come at one time"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, traffic: str, says: str) -> None:
    (tmp_path / "log.csv").write_text(_bursts())
    (tmp_path / "broken.csv").write_text(f"{HEAD}\nnow,1,1")
    (tmp_path / "long.csv").write_text(f"{HEAD}\n0,200000,1\n9,150000,1")
    (tmp_path / "once.csv").write_text(f"{HEAD}\n5,1,1\n5,1,1")
    with pytest.raises(SpecError, match=says):
        _read(tmp_path, traffic)


def test_the_unit_of_times_is_named_as_a_spec_writes_it(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("ts,p,c\n1732000000487,10,5\n1732000002487,10,5\n")
    with pytest.raises(SpecError) as caught:
        _read(tmp_path, '{requests: {file: log.csv, columns: "at=ts,input=p,output=c"}}')
    fix = caught.value.faults[0].fix
    assert fix.endswith('requests: {file: log.csv, columns: "at=ts:ms,input=p,output=c"}')
    traffic = _read(tmp_path, f"{{{fix[fix.index('requests:') :]}}}").traffic
    assert traffic is not None
    assert traffic.rps == 1


def test_of_a_log_that_cannot_be_read_no_lengths_are_missed(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        _read(tmp_path)
    assert [fault.path.rsplit(" ")[-1] for fault in caught.value.faults] == ["traffic.requests"]


def _cut_to(step_s: float, folder: Path, shape: str = "{:g}", jitter: float = 0.0) -> Log:
    """Requests at random over an hour, whose times are cut to steps, read again."""
    draw = random.Random(3)  # noqa: S311 - arrivals
    times = sorted(3600 * draw.random() for _ in range(4000))
    cut = [at // step_s * step_s for at in times]
    known = {at: at + jitter * draw.random() for at in cut}
    rows = [f"{shape.format(known[at])},{100 + index},10" for index, at in enumerate(cut)]
    (folder / "cut.csv").write_text("\n".join([HEAD, *rows]))
    return read_log(folder / "cut.csv")


def _deviation(log: Log) -> float:
    gaps = [b - a for a, b in itertools.pairwise(log.requests.at_s)]
    return statistics.pstdev(gaps) / statistics.fmean(gaps)


@pytest.mark.parametrize(("step_s", "says"), [(1, "whole seconds"), (60, "whole minutes"), (300, "steps of 5 minutes")])
def test_times_that_are_cut_are_no_bursts(step_s: int, says: str, tmp_path: Path) -> None:
    log = _cut_to(step_s, tmp_path)
    assert any(f"times are in {says}" in remark for remark in log.remarks)
    assert _deviation(log) == pytest.approx(1.0, abs=0.06)
    assert list(log.requests.prompt_tokens) == list(range(100, 4100)), "in the order of the log"
    recorded = [at - log.recorded_at_s[0] for at in log.recorded_at_s]
    assert all(abs(a - b) <= 2 * step_s for a, b in zip(log.requests.at_s, recorded, strict=True))


def test_steps_need_not_be_exact(tmp_path: Path) -> None:
    """Mooncake's log has steps of three seconds, a millisecond more or less."""
    log = _cut_to(3, tmp_path, "{:.3f}", jitter=0.005)
    assert any("times are in steps of 3 seconds" in remark for remark in log.remarks)


def test_fine_times_stay_as_they_are(tmp_path: Path) -> None:
    fine = _cut_to(0.001, tmp_path, "{:.3f}")
    (tmp_path / "paced.csv").write_text("\n".join([HEAD, *(f"{second},100,10" for second in range(500))]))
    crowds = [f"{at:.3f},100,10" for at in sorted(random.Random(5).random() * 600 for _ in range(60)) for _ in range(9)]  # noqa: S311
    (tmp_path / "crowds.csv").write_text("\n".join([HEAD, *crowds]))
    for log in (fine, read_log(tmp_path / "paced.csv"), read_log(tmp_path / "crowds.csv")):
        assert not log.remarks
        assert not log.recorded_at_s


def test_what_is_pinned_is_what_the_log_has(tmp_path: Path) -> None:
    log = _cut_to(1, tmp_path)
    first = log.recorded_at_s[0]
    assert replace(log, recorded_at_s=()).sha256 != log.sha256
    spread = replace(log.requests, at_s=[at - first for at in log.recorded_at_s])
    assert replace(log, requests=spread, recorded_at_s=()).sha256 == log.sha256


def test_times_in_days_say_nothing_of_an_hour(tmp_path: Path) -> None:
    rows = [f"2026-11-{day:02d},100,10" for day in range(1, 8) for _ in range(20)]
    (tmp_path / "days.csv").write_text("\n".join([HEAD, *rows]))
    with pytest.raises(SpecError, match="steps of 24 h, which say nothing"):
        read_log(tmp_path / "days.csv")


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        (b"PAR1\x15\x04\x15\xff\xfe", "it is Parquet: export it as CSV"),
        (b"PK\x03\x04\x14\x00\xff\xfe", "it is a spreadsheet or a zip archive: export it as CSV"),
        (f"{HEAD}\n0,100,10".encode("utf-16"), "it is UTF-16: save it as UTF-8"),
        (f"{HEAD}\n0,100,10\n1,100,\xe9".encode("latin-1"), "write CSV or JSON lines in UTF-8"),
    ],
)
def test_a_file_that_is_no_text_says_what_to_do(content: bytes, fix: str, tmp_path: Path) -> None:
    (tmp_path / "log.bin").write_bytes(content)
    with pytest.raises(SpecError) as raised:
        read_log(tmp_path / "log.bin")
    assert fix in str(raised.value)
