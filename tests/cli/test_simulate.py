"""`sizewell simulate`: recorded and stated loads over the fleet of a decision; logs with faults."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CHAT, Sizewell

ON = ("--on", "2026-11-22")


def _log(rows: int, *, head: str = "TIMESTAMP,ContextTokens,GeneratedTokens") -> str:
    """Ten requests within ten milliseconds every ten seconds."""
    return "\n".join(
        [head, *(f"2026-11-22 10:{i // 60:02}:{i % 60 // 10 * 10:02}.00{i % 10}0000,900,40" for i in range(rows))]
    )


@pytest.fixture
def simulate(project: Path, sizewell: Sizewell) -> Callable:
    (project / "chat.yaml").write_text(CHAT)

    def run(*more: str, log: str | None = None):
        if log is not None:
            (project / "log.csv").write_text(log)
            more = ("--requests", "log.csv", *more)
        return sizewell("simulate", "chat.yaml", *ON, *more)

    return run


def test_the_fewest_that_hold_and_one_fewer_that_do_not(simulate: Callable) -> None:
    done = simulate("--json", log=_log(600))
    data = json.loads(done.out)
    assert data["schema"] == "sizewell.simulation/1"
    assert data["load"]["peak_per_s"] == 10
    assert data["load"]["burstiness"] > 2
    fewest, fail = data["fewest"], data["most_that_fail"]
    assert fewest["holds"]
    assert fail is None or (fail["replicas"] == fewest["replicas"] - 1 and fail["missed"])
    assert done.code == (0 if data["result"]["holds"] else 5)
    again = simulate("--json", "--replicas", str(fewest["replicas"]), log=_log(600))
    assert again.code == 0
    assert json.loads(again.out)["result"]["ttft_s"] == fewest["ttft_s"]


def test_bursts_need_no_fewer_replicas(simulate: Callable) -> None:
    needed = [
        json.loads(simulate("--json", "--burstiness", b).out)["fewest"]["replicas"] for b in ("0", "1", "6", "15")
    ]
    assert needed == sorted(needed)
    assert needed[-1] > needed[0]
    assert "does not hold" in simulate("--burstiness", "15").out


def test_a_prompt_that_is_cached_needs_no_more(simulate: Callable) -> None:
    whole, cached = (
        json.loads(simulate("--json", "--burstiness", "8", "--cached", s).out)["fewest"]["replicas"]
        for s in ("0", "0.9")
    )
    assert cached <= whole


def test_published_logs_and_named_columns(simulate: Callable, project: Path) -> None:
    rows = [{"timestamp": 1000 * i, "input_length": 700, "output_length": 20, "hash_ids": [1, i]} for i in range(50)]
    with gzip.open(project / "trace.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    data = json.loads(simulate("--requests", "trace.jsonl.gz", "--json").out)
    assert data["load"]["seconds"] == 49
    assert data["result"]["prefix_hits"] > 40 * 500, "all begin with the same block"
    burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,c\n45,GPT-4,1,2,3,c\n"
    assert json.loads(simulate("--json", log=burst).out)["load"]["seconds"] == 40
    own = "ts,p,c\n0,10,5\n2500,10,5\n"
    data = json.loads(simulate("--columns", "at=ts:ms,input=p,output=c", "--json", log=own).out)
    assert data["load"]["seconds"] == 2.5


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("", "has no requests"),
        ("a,b\n1,2\n", "its columns are not those of a log that is known"),
        (_log(10) + "\n2026-11-22 10:00:11,many,3\n", "line 12: ContextTokens is 'many'"),
        (_log(10) + "\n2026-11-22 10:00:11,-4,3\n", "line 12: ContextTokens is -4"),
        (_log(10) + "\n2026-11-22 10:00:11,5\n", "line 12: GeneratedTokens missing"),
        (_log(10) + "\nyesterday,5,5\n", "line 12: TIMESTAMP is 'yesterday'"),
        (_log(10) + "\n2026-11-22 10:00:11,5.5,5\n", "fix: correct or remove these rows"),
        (_log(10) + "\nyesterday,5,5\n", "fix: write times as 2026-11-01T03:00:00Z (ISO 8601)"),
        (_log(10) + "\n1700000000000,5,5\n", "TIMESTAMP is 1700000000000, after the year 2100 in seconds"),
        ('{"timestamp": 1, "input_length": 5, "output_length": 5}\n{"timest', "line 2: is not a whole JSON object"),
        (
            '[{"TIMESTAMP": 1, "ContextTokens": 5, "GeneratedTokens": 5}]',
            "it is a JSON array; write each request on a line",
        ),
    ],
)
def test_a_log_that_is_none(log: str, says: str, simulate: Callable) -> None:
    done = simulate(log=log)
    assert done.code == 64
    assert says in done.err


@pytest.mark.parametrize("at", ["1732000000487", "1732000000487624", "1732000000487624684"])
def test_the_unit_of_times_that_is_named_is_the_one_to_write(at: str, simulate: Callable) -> None:
    log = f"ts,p,c\n{at},10,5\n{at[:9]}2{at[10:]},10,5\n"
    refused = simulate("--columns", "at=ts,input=p,output=c", log=log)
    assert refused.code == 64
    columns = refused.err.split("--columns ")[1].split()[0]
    assert json.loads(simulate("--columns", columns, "--json", log=log).out)["load"]["seconds"] == pytest.approx(2)


def test_columns_of_objects_in_objects(simulate: Callable) -> None:
    rows = [{"created": at, "usage": {"prompt_tokens": 700, "completion_tokens": 20}} for at in range(50)]
    log = "\n".join(map(json.dumps, rows))
    asked = simulate(log=log)
    assert "created, usage.prompt_tokens, usage.completion_tokens" in asked.err
    columns = "at=created,input=usage.prompt_tokens,output=usage.completion_tokens"
    assert json.loads(simulate("--columns", columns, "--json", log=log).out)["load"]["prompt_tokens"] == 700
    absent = simulate("--columns", columns.replace("usage.prompt_tokens", "usage.input"), log=log)
    assert "has no column usage.input; its columns are created, usage.prompt_tokens" in absent.err


def test_columns_that_a_log_does_not_have_are_named_beside_those_it_has(simulate: Callable) -> None:
    done = simulate("--columns", "at=time,input=p,output=answer", log="ts,p,c\n0,10,5\n2,10,5\n")
    assert done.code == 64
    assert "has no column time and answer; its columns are ts, p, c" in done.err


@pytest.mark.parametrize(("separator", "at"), [(";", "2,5"), ("\t", "2.5")])
def test_columns_may_be_separated_as_spreadsheets_do(separator: str, at: str, simulate: Callable) -> None:
    log = "\n".join(separator.join(row) for row in (("ts", "p", "c"), ("0", "10", "5"), (at, "10", "5")))
    done = simulate("--columns", "at=ts,input=p,output=c", "--json", log=log)
    assert json.loads(done.out)["load"]["seconds"] == 2.5


def test_requests_longer_than_the_model_reads_are_refused_and_named(simulate: Callable) -> None:
    rows = _log(300).splitlines()
    for line in (12, 40):
        rows[line - 1] = rows[line - 1].replace(",900,", ",200000,")
    usual = json.loads(simulate("--json", log=_log(300)).out)
    told = json.loads(simulate("--json", log="\n".join(rows)).out)
    assert (usual["refused"], told["refused"]) == (0, 2)
    assert told["load"]["requests"] == 298
    assert told["result"]["ttft_s"]["p99"] <= usual["result"]["ttft_s"]["p99"]
    assert "the longest has 200,040 tokens, the model reads 131,072 (line 12, line 40)" in told["remarks"][0]
    all_long = simulate(log=_log(20).replace(",900,", ",200000,"))
    assert all_long.code == 64
    assert "fix: name a model that reads more" in all_long.err


def test_a_spare_machine_is_decided_and_gone(project: Path, sizewell: Sizewell) -> None:
    (project / "spare.yaml").write_text(CHAT.replace("rps: 4", "rps: 4, redundancy: n+1"))
    machines = json.loads(sizewell("size", "spare.yaml", *ON, "--json").out)["workloads"][0]["replicas"]["max"]
    data = json.loads(sizewell("simulate", "spare.yaml", *ON, "--json").out)
    assert data["result"]["machines"] == machines - 1
    assert data["decided_replicas"] >= machines > data["result"]["replicas"] * machines / data["decided_replicas"]
    said = " ".join(sizewell("simulate", "spare.yaml", *ON).out.split())
    assert f"on {machines} decided, and one is gone)" in said
    whole = " ".join(sizewell("simulate", "spare.yaml", *ON, "--replicas", str(data["decided_replicas"])).out.split())
    assert "(as decided)" in whole


def test_answers_of_one_token_have_no_time_between_tokens(project: Path, sizewell: Sizewell) -> None:
    (project / "one.yaml").write_text(CHAT.replace("output_tokens: 300", "output_tokens: 1"))
    said = sizewell("simulate", "one.yaml", *ON).out
    (row,) = [line.split() for line in said.splitlines() if line.startswith("between tokens")]
    assert row[2:6] == ["-"] * 4
    assert len(row) == 7


def test_a_prefix_of_nothing_is_none(project: Path, sizewell: Sizewell) -> None:
    (project / "none.yaml").write_text(CHAT.replace("rps: 4", "rps: 4, prefix: 0%"))
    assert sizewell("size", "none.yaml", *ON).code == 0


def test_what_is_odd_in_a_log_is_said(simulate: Callable) -> None:
    odd = _log(300) + "\n2026-11-22 09:00:00.0,5,0\nx,1,1\n2026-11-22 13:00:00.0,5,5\n"
    said = " ".join(simulate(log=odd).out.split())
    for words in ("1 row left out: line 303", "1 answer of 0 tokens", "times run backwards", "no request for 2.9 h"):
        assert words in said


def test_a_page_with_plots_over_time(simulate: Callable, project: Path) -> None:
    done = simulate("--html", "page.html", "--json", log=_log(600))
    assert done.code == 64
    simulate("--html", "page.html", log=_log(600))
    page = (project / "page.html").read_text()
    data = json.loads(simulate("--json", log=_log(600)).out)
    assert f'<dd class="">{data["fewest"]["replicas"]}' in page
    assert page.count("<polyline") >= 4 + 4, "p50, p95, the bound and what waits, each with its key"
    assert "closed form, p95" in page
    assert "<script" not in page
    assert "NaN" not in page


def test_the_log_of_a_spec_is_what_is_replayed(simulate: Callable, project: Path, sizewell: Sizewell) -> None:
    (project / "own.csv").write_text(_log(600))
    (project / "own.yaml").write_text(
        CHAT.replace("rps: 4, input_tokens: 1500, output_tokens: 300", "requests: own.csv")
    )
    data = json.loads(sizewell("simulate", "own.yaml", *ON, "--json").out)
    assert data["load"]["requests"] == 600
    assert data["result"]["holds"], "it was chosen by a quarter more"
    assert json.loads(simulate("--json", log=_log(600)).out)["load"] == data["load"]
    refused = sizewell("simulate", "own.yaml", *ON, "--burstiness", "3")
    assert refused.code == 64
    assert "traffic.requests has its own" in refused.err


def test_a_day_with_the_autoscaler(project: Path, sizewell: Sizewell) -> None:
    hours = [0, 0, 1, 2, 8, 10, 10, 8, 4, *[0] * 15]
    text = CHAT.replace("rps: 4", f"rps: 0.2, daily: {hours}")
    assert text != CHAT
    (project / "day.yaml").write_text(text)
    data = json.loads(sizewell("simulate", "day.yaml", *ON, "--day", "--json").out)["day"]
    assert len(data["machines_by_hour"]) == len(data["ttft_s_by_hour"]) == 24
    assert data["ttft_s_by_hour"][-1] is None, "nothing comes"
    assert data["machine_hours"] >= 24
    assert data["machines_usd"] <= data["always_at_peak_usd"] * 1.01
    said = " ".join(sizewell("simulate", "day.yaml", *ON, "--day").out.split())
    assert "the busiest day, with the autoscaler" in said
    assert "in its worst hour, from 0" in said
    assert "as in the busiest hour (" in said


@pytest.mark.parametrize(
    ("schedule", "hours", "half"),
    [
        ("Mon-Fri 08:00-18:00 UTC", {*range(8, 18)}, ()),
        ("Mon-Sun 06:30-09:00, Mon-Sun 14:00-16:30 UTC", {6, 7, 8, 14, 15, 16}, (6, 16)),
    ],
)
def test_nothing_runs_outside_a_schedule(
    schedule: str, hours: set[int], half: tuple[int, ...], project: Path, sizewell: Sizewell
) -> None:
    """As `size` counts it: machines of the hours that the schedule has."""
    text = CHAT.replace("rps: 4", f"rps: 1, daily: {[*[2] * 8, *[6] * 10, *[3] * 6]}")
    (project / "day.yaml").write_text(f'{text}schedule: {{on: "{schedule}"}}\n')
    done = sizewell("simulate", "day.yaml", *ON, "--day", "--json")
    data = json.loads(done.out)["day"]
    assert {hour for hour, machines in enumerate(data["machines_by_hour"]) if machines} == hours
    assert {hour for hour, ttft in enumerate(data["ttft_s_by_hour"]) if ttft is not None} == hours
    open_hours = len(hours) - len(half) / 2
    assert data["machine_hours"] <= open_hours * max(data["machines_by_hour"])
    assert data["machine_hours"] >= open_hours
    said = " ".join(sizewell("simulate", "day.yaml", *ON, "--day").out.split())
    assert f"in each of the {open_hours:g} hours of its schedule" in said


def test_a_day_of_users_is_that_of_the_requests_they_send(project: Path, sizewell: Sizewell) -> None:
    text = CHAT.replace("rps: 4", "concurrent_users: 2, think_time: 20s, daily: 3")
    assert text != CHAT
    (project / "day.yaml").write_text(text)
    done = sizewell("simulate", "day.yaml", *ON, "--day", "--json")
    assert done.code == 0
    data = json.loads(done.out)
    assert data["load"]["clients"] == 6
    each_s = 20 + data["result"]["e2e_s"]["p50"]
    said = " ".join(sizewell("simulate", "day.yaml", *ON, "--day").out.split())
    assert f"6 users of the busiest hour send {6 / each_s:.2g}" in said
    came = re.search(r"autoscaler: ([\d,]+) requests", said)
    assert came is not None
    assert int(came[1].replace(",", "")) == pytest.approx(2 / each_s * 86400, rel=0.1)


def test_what_cannot_be_simulated(simulate: Callable, project: Path, sizewell: Sizewell) -> None:
    for more, says in (
        (("--columns", "at=a,input=b,output=c"), "give the log with --requests"),
        (("--burstiness", "-1"), "--burstiness"),
        (("--requests", "nowhere.csv"), "nowhere.csv: No such file"),
        (("--requests", "chat.yaml", "--cached", "0.5"), "a log has its own"),
        (("--day",), "state traffic: {rps: 4, daily"),
        (("--day", "--replicas", "2"), "leave --replicas out"),
    ):
        done = simulate(*more)
        assert done.code == 64
        assert says in done.err
    (project / "train.yaml").write_text("name: t\nkind: notebook\nowner: a\nttl: 3d\nresources: {gpu: 24GB..}\n")
    assert "requests arrive at services" in sizewell("simulate", "train.yaml").err


def test_a_log_of_one_request_has_no_rate(simulate: Callable) -> None:
    data = json.loads(simulate("--json", log=_log(1)).out, parse_constant=pytest.fail)
    assert data["load"]["per_s"] is None
    said = simulate(log=_log(1)).out
    assert "1 request in 0 min" in said
    assert "nan" not in said
