"""The page of `explain --html`: what the other forms say, on one page that loads nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from html import unescape
from pathlib import Path

import pytest

from sizewell.cli.report import page
from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.explain import Explanation, explain
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import read_spec

from .conftest import ROOT, Sizewell

DAY = ("--on", "2026-09-20")
PARTS = ("The choice", "Cost", "Memory of one device", "Runner-ups", "What would change it", "Assumptions")


@pytest.mark.parametrize("name", ["chat", "petsnap-vlm-finetune"])
def test_it_has_what_the_other_forms_have(name: str, sizewell: Sizewell, tmp_path: Path) -> None:
    spec, file = str(ROOT / f"examples/{name}.yaml"), tmp_path / "report.html"
    done = sizewell("explain", spec, *DAY, "--html", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"sizewell: wrote {file}\n")
    text = file.read_text(encoding="utf-8")
    shown = unescape(re.sub(r"<[^>]+>", " ", text))
    decision = json.loads(sizewell("size", spec, *DAY, "--json").out)["workloads"][0]
    explanation = json.loads(sizewell("explain", spec, *DAY, "--json").out)
    places = [shown.index(f" {part} ") for part in PARTS]
    assert places == sorted(places)
    wanted = [pool["instance_type"] for pool in decision["pools"]] + decision["assumptions"]
    wanted += [f"{float(decision['cost']['run_rate'][bound]):,.2f}" for bound in ("floor", "expected", "ceiling")]
    wanted += [option["why_not"] for option in explanation["alternatives"][:12] if option["market"] != "token"]
    wanted += [effect["what"] for effect in explanation["sensitivity"]]
    wanted += [f"{part['value'] / 2**30:.1f} GiB" for part in explanation["memory"]]
    assert [each for each in wanted if each not in shown] == []
    drawn = explanation["compared"]
    assert [each["chosen"] for each in drawn] == [True] + [False] * (len(drawn) - 1)
    assert len({(each["place"].partition("/")[0], each["machines"]) for each in drawn}) == len(drawn) > 2
    assert text.count('<line class="band"') == sum(each["low"] < each["high"] for each in drawn) == len(drawn)
    assert [each for each in drawn if each["machines"] not in shown] == []
    assert (text.count("<g data-asked=") == 1) == (explanation["asked"] is not None)


def test_it_loads_nothing_and_runs_nothing(sizewell: Sizewell) -> None:
    spec = str(ROOT / "examples/chat.yaml")
    text = sizewell("explain", spec, *DAY, "--html", "-").out
    assert sizewell("size", spec, *DAY, "--html", "-").out == text
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert re.findall(r"<script|<link|<img|<iframe|https?://| on[a-z]+=", text) == []


@pytest.fixture(scope="module")
def chat() -> tuple[Decision, Explanation]:
    catalog, on = load(), date(2026, 9, 20)
    spec = read_spec(ROOT / "examples/chat.yaml", catalog)
    decided, explained = decide([spec], catalog, stack="", on=on), explain(spec, catalog, stack="", on=on)
    assert isinstance(decided, Decision)
    assert isinstance(explained, Explanation)
    return decided, explained


def test_names_that_are_markup_are_text(chat: tuple[Decision, Explanation]) -> None:
    decided, explained = chat
    text = page([decided.model_copy(update={"owner": "<b>x</b>"})], [explained], [()])
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x" in text


def test_a_cheaper_machine_says_why_it_was_not_taken(chat: tuple[Decision, Explanation]) -> None:
    decided, explained = chat
    first, other = explained.compared[:2]
    for usd, said in ((first.usd / 2, 1), (first.usd * 2, 0)):
        second = replace(other, usd=usd, why_not="it breaks off too often")
        text = page([decided], [replace(explained, compared=(first, second))], [()])
        assert text.count("it breaks off too often") == said


def test_where_nothing_fits_it_says_what_comes_nearest(project: Path, sizewell: Sizewell) -> None:
    spec = project / "small.yaml"
    spec.write_text(
        "name: big\nkind: inference\nmodel: meta-llama/Llama-3.1-70B\ntraffic: {rps: 4, input_tokens: 1500, output_tokens: 300}\nresources: {instance_type: g6.xlarge}\n"
    )
    done = sizewell("explain", str(spec), *DAY, "--html", "-")
    assert done.code == 5
    assert "Nothing fits" in done.out
    assert "What would help" in done.out


def test_it_is_a_form_of_its_own(sizewell: Sizewell) -> None:
    done = sizewell("explain", str(ROOT / "examples/chat.yaml"), "--html", "x.html", "--json")
    assert done.code == 64
    assert "--html cannot be combined with --json, --why or --checklist" in done.err
    done = sizewell("explain", str(ROOT / "examples/chat.yaml"), "--html", "/nowhere/x.html")
    assert (done.code, "--html: /nowhere/x.html" in done.err) == (64, True)
    done = sizewell("size", str(ROOT / "examples/chat.yaml"), "--html", "x.html", "--json")
    assert (done.code, "--html cannot be combined with --json" in done.err) == (64, True)
