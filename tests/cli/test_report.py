"""The page of `explain --html`: what the other forms say, on one page that loads nothing."""

from __future__ import annotations

import json
import re
from datetime import date
from html import unescape
from pathlib import Path

import pytest

from sizewell.cli.report import page
from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.explain import explain
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


def test_it_loads_nothing_and_runs_nothing(sizewell: Sizewell) -> None:
    text = sizewell("explain", str(ROOT / "examples/chat.yaml"), *DAY, "--html", "-").out
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in text
    assert re.findall(r"<script|<link|<img|<iframe|https?://| on[a-z]+=", text) == []


def test_names_that_are_markup_are_text() -> None:
    catalog, on = load(), date(2026, 9, 20)
    specs = [read_spec(ROOT / "examples/chat.yaml", catalog)]
    decided = decide(specs, catalog, stack="", on=on)
    assert isinstance(decided, Decision)
    text = page([decided.model_copy(update={"owner": "<b>x</b>"})], [explain(specs[0], catalog, stack="", on=on)], [()])
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x" in text


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
