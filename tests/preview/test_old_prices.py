"""Prices that are too old say so in every form; those that a team states itself do not age."""

import json
import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from situations import ON, PROVENANCE, Sketch, one, plain

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import compare
from sizewell.preview.pipeline import Request, run_preview
from sizewell.preview.render import html, markdown, terminal
from sizewell.preview.render import json as as_json
from sizewell.sizing.catalog import history
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.money import ESTIMATE, Priced, Unpriced

DOCS = "`sizewell docs refresh-prices`"


def dated(what, day, source="AWS list", **price):
    """A stack of one machine, priced on a day."""
    sketch = Sketch("llm-prod").resource("aws:ec2/instance:Instance", "box")
    sketch.line("box", what, "machine-hour", "1", (0, 100, 730))
    sketch.items = [replace(line, price=Priced(line.price.amount, source, day, **price)) for line in sketch.items]
    return sketch


def preview(*sketches, age_days=1):
    stacks = [compare(f"s{i}", None, sketch.side()) for i, sketch in enumerate(sketches)]
    return assemble(stacks, on=ON, provenance=PROVENANCE.model_copy(update={"age_days": age_days}))


def test_fresh_prices_are_not_mentioned():
    assert one(None, plain()).provenance.stale == ()
    assert "Old prices" not in markdown.render(one(None, plain()))


def test_a_catalog_that_nobody_refreshed_is_said_in_every_form():
    old = preview(plain(), age_days=181)
    said = "the newest accelerator price is from 2026-09-02, 181 days ago"
    assert preview(plain(), age_days=180).provenance.stale == ()
    assert old.provenance.stale == (said,)
    for text in (terminal.render(old, width=200), markdown.render(old), html.render(old)):
        assert said in text.replace("\\", "")
        assert DOCS in text.replace("\\", "")
    assert said in as_json.render(old)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("g6.xlarge, spot, us-east-1", "the spot price of g6.xlarge, spot, us-east-1 is older than 30 days"),
        ("capacity block, 4 x p5.48xlarge", "the capacity-block price of"),
        ("a3-highgpu-8g, flex-start, us-east5", "the flex-start price of"),
    ],
)
def test_prices_that_move_are_old_after_a_month(what, says):
    (found,) = preview(dated(what, "2026-08-01")).provenance.stale
    assert found.startswith(says)
    assert found.endswith("of 2026-08-01")
    assert preview(dated(what, "2026-08-20")).provenance.stale == ()


def test_list_prices_are_old_after_half_a_year_and_own_rates_never(monkeypatch):
    (found,) = preview(dated("g6.xlarge, on-demand, us-east-1", "2024-07-01")).provenance.stale
    assert found == "the on-demand price of g6.xlarge, on-demand, us-east-1 is older than 180 days, of 2024-07-01"
    assert preview(dated("g6.xlarge, on-demand, us-east-1", "2026-07-01")).provenance.stale == ()
    # one place for size and preview
    monkeypatch.setitem(history.FRESH_DAYS, "on-demand", 10)
    assert preview(dated("g6.xlarge, on-demand, us-east-1", "2026-07-01")).provenance.stale
    assert (
        preview(dated("g6.xlarge, spot, us-east-1", "2024-07-01", source="own rate", terms="own rate")).provenance.stale
        == ()
    )


def test_an_estimate_is_marked_and_its_share_of_the_month_is_said():
    about = dated("g6.xlarge, spot, us-east-1", "2026-08-20", source="a list", weak=ESTIMATE)
    about.line("box", "g6.xlarge, on-demand, us-east-1", "machine-hour", "3", (100, 100, 100))
    (stack,) = preview(about).stacks
    assert stack.rows[0].how == "3/h x 100 + ~1/h x 100"
    assert "25 % of the expected month, 100.00 USD, rests on estimated prices, marked ~" in stack.notes
    listed = preview(dated("g6.xlarge, on-demand, us-east-1", "2026-08-20")).stacks[0]
    assert (listed.rows[0].how, listed.notes) == ("1/h x 100", ())


def test_many_old_prices_are_one_sentence():
    spot = [
        dated(f"g6.{size}, spot, us-east-1", day) for size, day in (("xlarge", "2026-07-20"), ("2xlarge", "2026-08-01"))
    ]
    assert preview(*spot).provenance.stale == ("2 spot prices are older than 30 days, the oldest of 2026-07-20",)


def test_a_limit_on_the_age_of_prices_is_an_exit_code(tmp_path, monkeypatch):
    """It judges prices that the bills rest on: where those are fresh, the age of the others stops nobody."""
    disk = {"urn": "urn:pulumi:dev::t::aws:ebs/volume:Volume::v", "custom": True, "type": "aws:ebs/volume:Volume",
            "inputs": {"region": "us-east-1", "availabilityZone": "us-east-1a", "type": "gp3", "size": 100}}  # fmt: skip
    (tmp_path / "state.json").write_text(json.dumps({"deployment": {"resources": [disk]}}))
    on = date(2027, 6, 1)
    request = Request(root=tmp_path, on=on, plan_files=(tmp_path / "state.json",), max_age_s=30 * 86_400)
    late = run_preview(request)
    assert late.exit_code == 4
    assert "older than --max-age of 30 days, and a price used here is of 2024-07-01" in late.exit_reason
    assert run_preview(replace(request, max_age_s=3000 * 86_400)).exit_code == 0
    (tmp_path / "catalog").mkdir()
    header = "cloud,key,name,unit,region,usd,from_quantity,effective_from,source,confidence"
    row = f"aws,ebs.gp3.gb_month,gp3,GB-month,us-east-1,0.08,0,{on},ours,high"
    (tmp_path / "catalog/fees.csv").write_text(f"{header}\n{row}\n")
    monkeypatch.setenv("SIZEWELL_CATALOG", str(tmp_path / "catalog"))
    assert run_preview(request).exit_code == 0


def test_the_last_line_dates_the_prices_that_are_used():
    machines = [
        dated(f"g6.{size}, on-demand, us-east-1", day)
        for size, day in (("xlarge", "2026-07-20"), ("2xlarge", "2026-08-01"))
    ]
    own = dated("g6.4xlarge, on-demand, us-east-1", "2020-01-01", source="own rate", terms="own rate")
    assert "those used here of 2026-07-20 to 2026-08-01;" in terminal.render(preview(*machines, own), width=400)


def test_the_files_of_own_prices_in_the_guide_are_read_and_price_what_has_no_price():
    guide = (Path(__file__).resolve().parents[2] / "docs/howto/own-rates.md").read_text()
    block = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0]
    discounts = parse_discounts(yaml.safe_load(block))
    assert len(discounts.rates) == 7
    own = discounts.machine(Unpriced("no price"), "aws", "p5.48xlarge", "eu-north-1", "on-demand")
    assert own == Priced(Decimal("52.10"), "own rate", "", terms="own rate")
    listed = Priced(Decimal(100), "list", "2026-09-01")
    assert discounts.machine(listed, "gcp", "a2-highgpu-1g", "us-central1", "on-demand").amount == 88
    assert discounts.commitments[0].until == date(2027, 6, 30)
