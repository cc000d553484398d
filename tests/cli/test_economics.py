"""`sizewell economics`: one answer as text, JSON, Markdown and a page, and what is wrong with its input."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Sizewell

ROOT = Path(__file__).resolve().parents[2]
ON = ("--on", "2026-11-22")
DAY = """name: day
kind: inference
model: meta-llama/Llama-3.1-8B
resources: {accelerators: [L4]}
infra: [aws/us-east-1]
traffic: {rps: 12, input_tokens: 1500, output_tokens: 300, daily: 3}
"""
TRAIN = """name: train
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
training: {method: full, tokens: 500M, sequence_length: 4096}
resources: {accelerators: [H100]}
infra: [aws/us-east-1]
utilization: 40%
"""
OWN = """machine_usd: {value: 150000, source: a quote of 2026-10-02}
accelerators: 8
power_w: 6500
"""


@pytest.fixture
def economics(project: Path, sizewell: Sizewell) -> Callable:
    (project / "day.yaml").write_text(DAY)
    (project / "train.yaml").write_text(TRAIN)
    (project / "own.yaml").write_text(OWN)
    return lambda *arguments: sizewell("economics", *arguments, *ON)


def test_one_table_with_the_cheapest_first(economics: Callable) -> None:
    done = economics("day.yaml")
    assert done.code == 0, done.err
    assert "16 x g6.12xlarge in aws us-east-1 over 36 months" in done.out
    lines = done.out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("way to pay"))
    rows = lines[head + 2 :]
    totals = []
    for line in rows[: rows.index("")]:
        cells = re.split(r" {2,}", line.strip())
        totals.append(None if cells[1] == "?" else float(cells[1].strip("~").replace(",", "")))
    known = [each for each in totals if each is not None]
    assert known == sorted(known)
    assert len(known) >= 6
    assert None in totals
    assert totals[len(known) :] == [None] * (len(totals) - len(known))
    assert "commit 1 year is cheaper than on demand from 65.1 % on, 15.6 h a day" in done.out
    assert "own hardware: the catalog has no server with l4" in done.out
    assert max(map(len, lines)) <= 100


def test_a_service_and_a_run_have_each_its_own_unit(economics: Callable) -> None:
    assert "per 1M tokens" in economics("day.yaml").out
    train = economics("train.yaml").out
    assert "per run" in train
    assert "what moves the break-even of own hardware" in train


def test_json_has_what_the_table_says(economics: Callable) -> None:
    data = json.loads(economics("day.yaml", "--json", "--months", "12").out)
    assert data["schema"] == "sizewell.economics/1"
    assert data["months"] == 12
    ways = {each["way"]: each for each in data["ways"]}
    assert len(ways["on-demand"]["usd_by_month"]) == 13
    assert ways["own hardware"]["usd"] is None
    assert "l4" in ways["own hardware"]["unpriced"]
    assert ways["reserved-3y"]["notes"] == ["paid until month 36"]
    crossing = next(each for each in data["break_evens"] if each["cheaper_above"] == "reserved-1y")
    assert 0 < float(crossing["utilization"]) < 1
    assert float(crossing["hours_per_day"]) == pytest.approx(24 * float(crossing["utilization"]), abs=1e-3)


def test_figures_of_ones_own_hardware_make_a_price(economics: Callable) -> None:
    done = economics("day.yaml", "--hardware", "own.yaml", "--json")
    own = next(each for each in json.loads(done.out)["ways"] if each["way"] == "own hardware")
    # 16 machines of 4 L4 are 64 accelerators on 8 servers.
    assert own["upfront_usd"] == "1200000.00"
    assert own["estimated"] is True  # power, space, staff and resale are the catalog's
    figures = json.loads(done.out)["own_hardware"]
    assert figures["machine_usd"]["source"] == "a quote of 2026-10-02"
    assert figures["pue"]["source"].startswith("estimate")


def test_the_same_as_markdown(economics: Callable) -> None:
    done = economics("train.yaml", "--markdown")
    assert done.out.startswith("## train: ")
    assert "| way to pay | USD in 36 mo |" in done.out
    rows = [line for line in done.out.splitlines() if line.startswith("|")]
    assert all(
        line.count("|") == rows[0].count("|")
        for line in rows[: rows.index("| input | value | a fifth less | now | a fifth more |")]
    )


def test_the_page_holds_the_table_and_both_plots(economics: Callable) -> None:
    page = economics("train.yaml", "--html", "-").out
    assert page.count('<svg class="chart"') == 2
    assert "<script" not in page
    assert 'content="sizewell.economics/1"' in page
    for figure in ("Total over utilization", "Cumulative by month", "Break-even", "capacity block"):
        assert figure in page
    assert re.search(r'class="was"[^>]*data-at="40"', page), "today is marked"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here")
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_its_window(economics: Callable, project: Path, width: int) -> None:
    page = economics("train.yaml", "--html", "-").out
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    script = (
        "<script>onload=()=>{document.title=[document.documentElement.scrollWidth,"
        "...[...document.querySelectorAll('svg.chart,.cards div,li')].map(e=>Math.ceil(e.getBoundingClientRect().right))]"
        ".reduce((a,b)=>Math.max(a,b))}</script>"
    )
    (project / "page.html").write_text(page.replace("</body>", f"{script}</body>"))
    frame = project / "frame.html"
    frame.write_text(
        f'<iframe id=f src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
        "<script>f.onload=()=>{document.body.append('MEASURED='+f.contentDocument.title)}</script>"
    )
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom", f"file://{frame}"],
        capture_output=True, text=True, timeout=90, check=True,
    )  # fmt: skip
    measured = re.search(r"MEASURED=(\d+)", done.stdout)
    assert measured, done.stderr[-500:]
    assert 0 < int(measured[1]) <= width


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--utilization", "140%"), "--utilization: must be a percentage from 0% to 100%, got '140%'"),
        (("--utilization", "-5%"), "--utilization: must be a percentage from 0% to 100%, got '-5%'"),
        (("--utilization", "40"), "--utilization: must be a percentage with its sign, such as 70%, got '40'"),
        (("--utilization", "0%"), "state the share of hours that is used, such as 40%"),
        (("--months", "0"), "--months: 0 is not in the range"),
        (("--json", "--markdown"), "--json and --markdown are forms of one answer"),
        (("--hardware", "no.yaml"), "no.yaml: no such file"),
    ],
)
def test_what_is_wrong_with_a_line_has_its_way_out(economics: Callable, arguments: tuple[str, ...], says: str) -> None:
    done = economics("day.yaml", *arguments)
    assert done.code == 64
    assert says in done.err


def test_where_nothing_fits_it_says_where_to_look(economics: Callable, project: Path) -> None:
    (project / "never.yaml").write_text(DAY.replace("[L4]", "[T4]").replace("rps: 12", "rps: 900000"))
    done = economics("never.yaml")
    assert done.code == 5
    assert "sizewell size never.yaml" in done.err


def test_what_a_stack_decided_and_what_to_commit_to_for_it(economics: Callable, decide: Callable[[], Path]) -> None:
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(spec.read_text() + "resources: {accelerators: [L4]}\n")
    decided = json.loads(decide().read_text())["workloads"][0]
    pool, expected = decided["pools"][0], decided["pools"][0]["node_hours_per_month"]["expected"]
    said = json.loads(economics("dev-aws", "--json").out)
    assert said["schema"] == "sizewell.commitments/1"
    (workload,), (row,) = said["workloads"], said["commitments"]
    assert workload["machine"]["instance_type"] == row["machine"]["instance_type"] == pool["instance_type"]
    hours = sum(float(step["machines"]) * float(step["hours_per_month"]) for step in row["demand"])
    assert abs(hours - float(expected)) < 0.01
    assert row["committed"], "it runs around the clock"
    assert float(row["usd"]) < float(row["usd_on_demand"])
    alone = json.loads(economics("stacks/specs/dev-aws/chat.yaml", "--json").out)
    assert [(way["way"], way["usd"]) for way in workload["ways"]] == [(way["way"], way["usd"]) for way in alone["ways"]]
    assert json.loads(economics("--all", "--json").out) == said
    page = economics("--all", "--html", "-").out
    assert page.count('<svg class="chart"') == 1
    assert 'content="sizewell.commitments/1"' in page
    assert "<script" not in page
    text, markdown = economics("--all").out, economics("--all", "--markdown").out
    for part in ("1 workload of 1 stack over 36 months", "to commit to, over all of them", "for dev-aws/chat"):
        assert part in text
        assert part in markdown
        assert part[1:] in page


def test_own_hardware_is_exact_where_every_figure_is_stated(economics: Callable) -> None:
    from sizewell.sizing.billing.owning import USUAL

    own = Path("own.yaml")
    stated = "".join(f"{key}: {figure.value}\n" for key, figure in USUAL.items() if f"{key}:" not in own.read_text())
    own.write_text(own.read_text() + stated)
    ways = json.loads(economics("day.yaml", "--hardware", "own.yaml", "--json").out)["ways"]
    assert next(each for each in ways if each["way"] == "own hardware")["estimated"] is False


def test_nothing_is_committed_for_what_ends_and_a_stack_counts_once(economics: Callable, sizewell: Sizewell) -> None:
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(spec.read_text() + "resources: {accelerators: [L4]}\nttl: 30d\n")
    assert sizewell("size", "--stack", "dev-aws", *ON).code == 0
    said = json.loads(economics("dev-aws", "dev-aws", "--json").out)
    assert (len(said["workloads"]), [each["committed"] for each in said["commitments"]]) == (1, [[]])
    assert len(said["workloads"][0]["ways"][0]["usd_by_month"]) == 2  # what is paid before the first, and the first
    assert "dev-aws/chat ends on 2026-12-22, and is counted until then" in said["notes"]


def test_a_stack_ends_by_its_decision_and_not_anew_from_today(economics: Callable, sizewell: Sizewell) -> None:
    """Decided on 2025-10-01 for 450 days it ends on 2026-12-25: 27 days after 2026-11-28, for which no year is bought."""
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(
        "name: chat\nkind: notebook\nresources: {instance_type: g6.xlarge, nodes: 1}\n"
        "infra: [aws/us-east-1]\nutilization: 100%\nttl: 450d\n"
    )
    assert sizewell("size", "--stack", "dev-aws", "--on", "2025-10-01").code == 3, "of then no price is known"
    said = json.loads(sizewell("economics", "--all", "--json", "--on", "2026-11-28").out)
    (row,) = said["commitments"]
    assert row["committed"] == []
    assert float(row["usd_on_demand"]) == pytest.approx(27 * 24 * 0.8048, abs=0.01)
    assert "dev-aws/chat ends on 2026-12-25, and is counted until then" in said["notes"]
    over = sizewell("economics", "--all", "--json", "--on", "2026-12-25")
    assert (over.code, json.loads(over.out)["commitments"]) == (3, [])
    assert "dev-aws is in no figure: it ended on 2026-12-25 by its decision" in json.loads(over.out)["notes"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("rps: 12", "rps: 60"), r"is decided with \d+ machines?, and by its spec today it "),
        (lambda text: text.replace("daily: 3", "daily: 1.5"), r"is decided (with|for) [\d,]+ machine"),
        (lambda text: text + "\n", None),
    ],
)
def test_a_decision_that_is_out_of_date_is_said(
    economics: Callable, sizewell: Sizewell, change: Callable[[str], str], says: str | None
) -> None:
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(DAY.replace("name: day", "name: chat"))
    sizewell("size", "--stack", "dev-aws", *ON)
    spec.write_text(change(spec.read_text()))
    notes = json.loads(economics("dev-aws", "--json").out)["notes"]
    assert [bool(re.match(f"dev-aws/chat {says}", note)) for note in notes] == ([True] if says else [])
    assert all(note.endswith("; `sizewell size --stack dev-aws` decides anew") for note in notes)


def test_a_stack_with_specs_and_no_decision_is_told_how_to_get_one(
    economics: Callable, decide: Callable[[], Path], sizewell: Sizewell
) -> None:
    other = Path("stacks/specs/later/day.yaml")
    other.parent.mkdir(parents=True)
    other.write_text(DAY)
    fix = "stack 'later' has specs and no decision yet\n  fix: decide it: sizewell size --stack later"
    for command in ("economics", "forecast", "preview"):
        done = sizewell(command, "later")
        assert (done.code, fix in done.err) == (64, True), command
    decide()
    assert fix in economics("later").err
    notes = json.loads(economics("--all", "--json").out)["notes"]
    assert "later is in no figure: it has specs and no decision; `sizewell size --stack later` decides" in notes
    assert not any("later" in note for note in json.loads(economics("dev-aws", "--json").out)["notes"])


def test_what_would_be_decided_otherwise_or_is_gone_is_said(economics: Callable, decide: Callable[[], Path]) -> None:
    decide()
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(spec.read_text() + "resources: {accelerators: [H100]}\n")
    (note,) = json.loads(economics("dev-aws", "--json").out)["notes"][:1]
    assert note.startswith("dev-aws/chat is decided on ")
    assert "would not be today" in note
    assert "`sizewell size --check --stack dev-aws`" in note
    spec.write_text(spec.read_text().replace("name: chat", "name: other"))
    done = economics("dev-aws", "--json")
    assert done.code == 3
    notes = json.loads(done.out)["notes"]
    assert "dev-aws/chat is in no figure: its spec is gone" in notes[0]
    assert (
        "dev-aws/other is in no figure: its spec is new or renamed; `sizewell size --stack dev-aws` decides it" in notes
    )


def test_what_a_spec_of_a_stack_commits_to_is_said(economics: Callable, sizewell: Sizewell) -> None:
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(DAY.replace("name: day", "name: chat").replace(", daily: 3", "") + "capacity: {savings_plan: 1y}\n")
    assert sizewell("size", "--stack", "dev-aws", *ON).code == 0
    said = json.loads(economics("--all", "--months", "12", "--json").out)
    assert [each["committed"] for each in said["commitments"]] == [[]]
    (note,) = (each for each in said["notes"] if each.startswith("committed already"))
    assert "for 1 year, from today on (dev-aws/chat, capacity.savings_plan)" in note
    spec.write_text(spec.read_text().replace("savings_plan: 1y", "reservation: cr-0123456789abcdef0"))
    assert sizewell("size", "--stack", "dev-aws", *ON).code == 0
    said = json.loads(economics("--all", "--months", "12", "--json").out)
    reserved = "cr-0123456789abcdef0 (capacity.reservation) is billed in every hour, used or not"
    assert f"dev-aws/chat: {reserved}; counted are the hours in which it is used" in said["notes"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "names nothing to pay for\n  fix: name a spec file or stacks, or add --all"),
        (("--all",), "--all: no stack has a decision yet\n  fix: decide one: sizewell size --stack dev-aws"),
        (("--all", "dev-aws"), "--all: dev-aws is named too"),
        (("day.yaml", "dev-aws"), "day.yaml: one spec is compared at a time"),
        (("--all", "--utilization", "40%"), "--utilization: is of one spec"),
        (("--usage", "day.yaml", "dev-aws"), "--usage: dev-aws is named too"),
        (("--usage", "none.csv"), "none.csv"),
    ],
)
def test_what_is_wrong_with_names_has_its_way_out(economics: Callable, arguments: tuple[str, ...], says: str) -> None:
    done = economics(*arguments)
    assert done.code == 64
    assert says in done.err


def test_a_stack_that_is_none_has_its_way_out(economics: Callable, decide: Callable[[], Path]) -> None:
    decide()
    assert "no stack 'dev-awz'\n  fix: did you mean dev-aws?" in economics("dev-awz").err


def test_machines_by_the_hour_in_place_of_decisions(economics: Callable, project: Path) -> None:
    rows = (f"2026-11-{day:02}T{hour:02}:00Z,g6.xlarge,us-east-1,3" for day in range(2, 9) for hour in range(24))
    (project / "hours.csv").write_text("\n".join(["hour,machine,region,count", *rows]))
    said = json.loads(economics("--usage", "hours.csv", "--json").out)
    (row,) = said["commitments"]
    assert (said["workloads"], row["machines"]) == ([], 3)
    assert [each["machines"] for each in row["committed"]] == [3]
    text = economics("--usage", "hours.csv").out
    assert "hours.csv covers 7 days from 2026-11-02 on" in text
    assert "3 machines for 3 years, in every hour. If demand" in " ".join(text.split())
    assert economics("--usage", "hours.csv", "--html", "-").out.count('<svg class="chart"') == 1


def test_size_names_the_commitment_that_would_pay(economics: Callable, sizewell: Sizewell, project: Path) -> None:
    always = DAY.replace(", daily: 3", "")
    (project / "always.yaml").write_text(always)
    said = " ".join(sizewell("size", "always.yaml", *ON).out.split())
    assert "a three-year commitment to its machines pays from 11 hours a day on" in said
    (project / "ends.yaml").write_text(always + "ttl: 30d\nowner: search\ncost_center: c-1\n")
    assert "commitment to its machines" not in sizewell("size", "ends.yaml", *ON).out


def test_a_preview_has_the_line_that_size_has(economics: Callable, sizewell: Sizewell, project: Path) -> None:
    shutil.copy(ROOT / "stacks/__main__.py", "stacks/__main__.py")
    spec = Path("stacks/specs/dev-aws/chat.yaml")
    spec.write_text(DAY.replace("name: day", "name: chat").replace(", daily: 3", ""))
    said = " ".join(sizewell("size", "--stack", "dev-aws", *ON).out.split())
    line = re.search(r"a three-year commitment to its machines pays from .*? `sizewell economics` compares", said)
    assert line
    for form in ("terminal", "markdown", "html"):
        done = sizewell("preview", "dev-aws", "--format", form, *ON)
        shown = " ".join(html.unescape(done.out).split()).replace("\\", "")
        assert f"chat: {line[0]}" in shown, (form, done.err)


def test_what_ones_own_rates_cover_is_advised_no_second_time(
    economics: Callable, sizewell: Sizewell, project: Path
) -> None:
    spec = Path("stacks/specs/later/n.yaml")
    spec.parent.mkdir(parents=True)
    spec.write_text(
        "name: n\nkind: notebook\nresources: {accelerators: [L4]}\ninfra: [gcp/us-central1]\nutilization: 100%\n"
    )
    assert sizewell("size", "--stack", "later", *ON).code == 0
    saved = "what to commit to, over all of them: 8,094 USD less"
    assert saved in economics("later").out
    rates = Path("catalog/rates.yaml")
    rates.parent.mkdir(exist_ok=True)
    rates.write_text(
        "resource_commitments:\n- {cloud: gcp, region: us-central1, machines: [g2-standard-*], vcpus: 4, memory_gb: 16,"
        " gpus: 1,\n   usd_per_vcpu_hour: 0.015, usd_per_gb_hour: 0.002, usd_per_gpu_hour: 0.25, until: 2030-01-01}\n"
    )
    said = re.sub(r"\s+", " ", economics("later").out)
    assert "what to commit to, over all of them: nothing" in said
    assert "committed already" in said
    assert "until 2030-01-01 covers 100 % of the hours of g2-standard-4 in us-central1, if nothing else uses it" in said
    said = re.sub(r"\s+", " ", economics(str(spec)).out)
    assert "bought already: 100 % of these hours; no commitment pays for the rest" in said
    assert "cheapest, were nothing bought already: commit 3 years for " in said
    assert "cheapest today" not in said
    rates.write_text(rates.read_text().replace(" gpus: 1,", " gpus: 0,"))
    said = re.sub(r"\s+", " ", economics("later").out)
    assert "what to commit to, over all of them: nothing what is bought already covers these machines" in said
    assert "what has to be known first how much of g2-standard-4 in us-central1 is covered by the commitment to" in said
    said = re.sub(r"\s+", " ", economics(str(spec)).out)
    assert "until 2030-01-01; how much of these hours it covers is not known, and no commitment is advised" in said
    rates.unlink()


def test_the_work_of_a_spec_is_counted_until_its_stack_ends(economics: Callable, project: Path) -> None:
    (project / "ends.yaml").write_text(TRAIN.replace("utilization: 40%", "utilization: 90%\nttl: 60d"))
    said = economics("ends.yaml").out
    assert "over 2 months" in said
    assert "counted until the stack of this spec ends, 60 days after it is built (ttl)" in said
    (line,) = (line for line in said.splitlines() if line.startswith("cheapest today"))
    assert "commit" not in line
    assert "over 1 month\n" in economics("ends.yaml", "--months", "1").out
