"""The page and the FOCUS rows: the figures are those of the JSON, and the page needs nothing from elsewhere."""

import csv
import io
import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from situations import SITUATIONS, dec, one, plain

from sizewell.preview.render import charts, focus, html
from sizewell.preview.render import json as as_json

FIXTURES = Path(__file__).parent / "fixtures"
VOID = {"meta", "rect", "line", "circle", "polyline", "br"}


class Page(HTMLParser):
    """Elements with their attributes, and whether every one is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.marks, self.words, self.elements = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if any(name.startswith("data-") and name != "data-label" for name in attributes):
            self.marks.append({name.removeprefix("data-"): value for name, value in attributes.items()})
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_page_is_whole_and_self_contained(name):
    text = html.render(SITUATIONS[name]())
    page = Page(text)
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    outside = [
        value for _, attributes in page.elements for key, value in attributes.items()
        if key in ("src", "href", "action", "style") or key.startswith("on")
    ]  # fmt: skip
    assert outside == []
    assert "url(" not in text
    assert "@import" not in text
    for tag, attributes in page.elements:
        if tag == "svg" and attributes.get("class") == "chart":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
    assert sum(tag == "h1" for tag, _ in page.elements) == 1


@pytest.mark.parametrize("situation", ["purchase", "region_move", "unpriced"])
def test_the_charts_show_the_values_of_the_json(situation):
    preview = SITUATIONS[situation]()
    marks = Page(html.render(preview)).marks
    stack = json.loads(as_json.render(preview))["stacks"][0]
    rows = {row["component"]: row for row in (*stack["rows"], *stack["unchanged"]["rows"])}
    bars = {mark["component"]: mark for mark in marks if "after" in mark}
    assert bars.keys() == {
        name for name, row in rows.items()
        if Decimal(row["after"]["expected"]) or Decimal(row["before"]["expected"]) or row["unpriced"]
    }  # fmt: skip
    for name, mark in bars.items():
        assert (mark["after"], mark["before"]) == (rows[name]["after"]["expected"], rows[name]["before"]["expected"])
    ranges = {mark["component"]: mark for mark in marks if "ceiling" in mark}
    for name, mark in ranges.items():
        assert {bound: mark[bound] for bound in ("floor", "expected", "ceiling")} == rows[name]["after"]
    points = [(mark["choice"], mark["usd"], float(mark["performance"])) for mark in marks if "choice" in mark]
    assert sorted(points) == sorted(
        (f"{c['nodes']} x {c['label']}, {c['market']}", c["usd_per_run"] or c["usd_per_month"], c["performance"])
        for c in stack["choices"]
        if c["performance"] is not None and (c["usd_per_run"] or c["usd_per_month"])
    )
    ends = {mark["way"]: mark["end"] for mark in marks if "way" in mark}
    assert ends == (stack["ownership"][36]["usd"] if stack["ownership"] else {})


def test_numbered_circles_do_not_cover_each_other_and_a_moved_one_leaves_a_dot():
    near = [(100.0, 100.0), (101.0, 100.0), (100.0, 102.0), (300.0, 50.0), (100.0, 100.0)]
    put = charts._apart(near)
    assert put[0] == near[0]
    assert put[3] == near[3]
    assert all(math.dist(a, b) > 18 for i, a in enumerate(put) for b in put[:i])
    preview = SITUATIONS["purchase"]()
    stack = preview.stacks[0]
    twice = tuple(choice for one in stack.choices for choice in (one, one.model_copy(update={"chosen": False})))
    drawn = charts.time_against_cost(stack.model_copy(update={"choices": twice}), "pretrain")
    assert drawn.count('class="place"') == 3
    assert drawn.index('class="other"') < drawn.index('class="chosen"'), "the chosen one is on top"


def test_a_band_and_what_is_asked_for_are_where_the_axis_says():
    ways = [
        charts.Way("a", "aws/x", True, Decimal(10), 3600.0, 1800.0, 7200.0),
        charts.Way("b", "aws/x", False, Decimal(20), 7200.0, 7200.0, 7200.0),
    ]
    chart = charts.speed_against_cost("tune", "run_time_s", ways, asked=5400.0, asked_name="the deadline")
    [(low, high)] = re.findall(r'class="band" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', chart)
    [asked] = re.findall(r'class="was" x1="([\d.]+)"', chart)
    assert (float(asked) - float(low)) / (float(high) - float(low)) == pytest.approx((5400 - 1800) / 5400, abs=0.01)
    far = charts.speed_against_cost("tune", "run_time_s", ways, asked=90_000.0, asked_name="the deadline")
    assert 'class="was"' not in far, "a deadline that would squeeze the circles into a corner"


def test_what_has_no_price_is_in_the_chart_with_a_question_mark():
    chart = charts.cost_by_component(SITUATIONS["unpriced"]().stacks[0])
    assert "experiment</text>" in chart
    assert "? (unpriced)" in chart


def test_bars_are_as_long_as_their_figures():
    stack = SITUATIONS["purchase"]().stacks[0]
    chart = charts.cost_by_component(stack)
    drawn = re.findall(r'data-component="([^"]+)" data-after="([^"]+)".*?class="now"[^>]*width="([^"]+)"', chart)
    widths = {name: (Decimal(after), float(width)) for name, after, width in drawn}
    chat, scratch = widths["chat"], widths["scratch"]
    assert chat[1] / scratch[1] == pytest.approx(float(chat[0] / scratch[0]), rel=0.02)


def test_names_on_the_page_are_text():
    preview = SITUATIONS["purchase"]()
    stack = preview.stacks[0]
    row = replace(stack.rows[0], component="<script>alert(1)</script>\"'&", what="<b>x</b>")
    evil = preview.model_copy(update={"stacks": (stack.model_copy(update={"rows": (row,), "stack": "<i>s</i>"}),)})
    text = html.render(evil)
    assert "<script" not in text
    assert "<b>x" not in text
    assert "<i>s" not in text
    assert Page(text).open == []


@pytest.mark.parametrize("name", SITUATIONS)
def test_focus_rows_add_up_to_the_run_rate_and_the_purchase(name):
    preview = SITUATIONS[name]()
    rows = list(csv.DictReader(io.StringIO(focus.render(preview))))
    for category, total in (
        ("Usage", preview.after.usd_per_month.expected),
        ("Purchase", preview.after.usd_once.expected),
    ):
        assert sum(Decimal(row["BilledCost"] or 0) for row in rows if row["ChargeCategory"] == category) == total
    assert sum(Decimal(row["x_CeilingCost"] or 0) for row in rows if row["ChargeCategory"] == "Usage") == (
        preview.after.usd_per_month.ceiling
    )


def test_focus_columns():
    rows = list(csv.DictReader(io.StringIO(focus.render(SITUATIONS["purchase"]()))))
    assert tuple(rows[0]) == focus.COLUMNS
    assert [name for name in focus.COLUMNS if not name[0].isupper() and not name.startswith("x_")] == []
    block = next(row for row in rows if row["ChargeCategory"] == "Purchase")
    assert (block["ChargeFrequency"], block["BilledCost"], block["PricingQuantity"]) == ("One-Time", "9061.63", "288")
    fs = next(row for row in rows if row["ResourceName"] == "scratch-fs")
    assert fs["ServiceCategory"] == "Storage"
    assert fs["ProviderName"] == "AWS"
    assert fs["BillingPeriodStart"] == "2026-09-01T00:00:00Z"
    assert fs["BillingPeriodEnd"] == "2026-10-01T00:00:00Z"
    assert json.loads(fs["Tags"])["sizewell-stack"] == "llm-prod"


# From specification/columns/*.md of github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec at its tag v1.2: feature level,
# whether nulls are allowed, data type and allowed values of all 57 columns, compared with the files cell by cell on
# 2026-11-22. The conditions on nulls below are those of the same pages.
SPECIFIED = {row["column"]: row for row in csv.DictReader((FIXTURES / "focus-1.2-columns.csv").open())}
UNKNOWN_TO_AN_ESTIMATE = {"BillingAccountId", "BillingAccountType"}  # null where the id is
COSTS = {"BilledCost", "EffectiveCost", "ListCost", "ContractedCost"}


def test_focus_columns_are_those_of_the_specification():
    ours = {name for name in focus.COLUMNS if not name.startswith("x_")}
    assert ours <= SPECIFIED.keys()
    assert {name for name, row in SPECIFIED.items() if row["level"] in ("Mandatory", "Recommended")} <= ours
    assert list(focus.COLUMNS) == sorted(ours) + [name for name in focus.COLUMNS if name.startswith("x_")]


@pytest.mark.parametrize("name", SITUATIONS)
def test_focus_values_are_those_that_the_specification_allows(name):
    for row in csv.DictReader(io.StringIO(focus.render(SITUATIONS[name]()))):
        for column, rule in SPECIFIED.items():
            value = row.get(column, "")
            if value == "":
                missing_price = column in COSTS and row["x_Unpriced"]
                own_rate = column == "ListCost" and row["x_PriceSource"].startswith("own ")
                may = rule["nulls"] == "True" or column not in row or column in UNKNOWN_TO_AN_ESTIMATE
                assert may or missing_price or own_rate, (column, row)
            elif rule["allowed"]:
                assert value in rule["allowed"].split(";"), (column, value)
            elif rule["type"] == "Decimal":
                Decimal(value)
            elif rule["type"] == "Date/Time":
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value)
            elif rule["type"] == "JSON":
                assert isinstance(json.loads(value), dict)
        committed = row["PricingCategory"] == "Committed"
        for column in ("Id", "Category", "Name", "Quantity", "Status", "Type", "Unit"):
            assert bool(row[f"CommitmentDiscount{column}"]) == committed, column
        assert bool(row["SubAccountId"]) == bool(row["SubAccountType"])
        assert bool(row["BillingAccountId"]) == bool(row["BillingAccountType"])
        assert row["SubAccountId"] or not row["SubAccountName"]
        assert not row["CapacityReservationStatus"] or row["CapacityReservationId"]
        assert (row["ChargeFrequency"] == "Usage-Based") == (row["ChargeCategory"] == "Usage")
        assert row["ConsumedUnit"] == "" or row["ConsumedQuantity"]


@pytest.mark.parametrize(
    ("token", "unit", "service", "category"),
    [
        ("aws:autoscaling/group:Group", "machine-hour", "Amazon Elastic Compute Cloud", "Compute"),
        ("aws:eks/nodeGroup:NodeGroup", "machine-hour", "Amazon Elastic Compute Cloud", "Compute"),
        ("aws:eks/cluster:Cluster", "hour", "Amazon Elastic Container Service for Kubernetes", "Compute"),
        ("aws:eks/nodeGroup:NodeGroup", "GB-month", "Amazon Elastic Compute Cloud", "Compute"),
        ("aws:ec2/natGateway:NatGateway", "hour", "Amazon Elastic Compute Cloud", "Networking"),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", "hour", "Amazon Virtual Private Cloud", "Networking"),
        ("aws:sagemaker/endpoint:Endpoint", "machine-hour", "Amazon SageMaker", "AI and Machine Learning"),
        ("gcp:container/nodePool:NodePool", "machine-hour", "Compute Engine", "Compute"),
        ("gcp:storage/bucket:Bucket", "GB-month", "Cloud Storage", "Storage"),
        ("azure-native:containerservice:AgentPool", "machine-hour", "Virtual Machines", "Compute"),
        ("azure-native:network:NatGateway", "hour", "Virtual Network", "Networking"),
    ],
)
def test_focus_names_services_as_the_bill_does(token, unit, service, category):
    assert focus._service(token, unit) == service
    if token.startswith("aws:"):
        assert focus._service(token, "hour", "public IPv4 address") == "Amazon Virtual Private Cloud"
    assert focus._category(token)[0] == category


def test_focus_has_no_zero_for_an_unknown_price_and_no_formula():
    rows = list(csv.DictReader(io.StringIO(focus.render(SITUATIONS["unpriced"]()))))
    missing = next(row for row in rows if row["x_Unpriced"])
    assert (missing["BilledCost"], missing["ListUnitPrice"]) == ("", "")
    evil = plain().line("=cmd()", "@sum(A1)", "GB-month", "1", (1, 1, 1))
    text = focus.render(one(plain(), evil))
    assert all(not cell.startswith(("=", "@", "+")) for row in csv.reader(io.StringIO(text)) for cell in row)


def test_spot_and_own_rates_in_focus():
    rows = list(csv.DictReader(io.StringIO(focus.render(one(plain(), plain(market="spot", price="4.19706"))))))
    assert {row["PricingCategory"] for row in rows} == {"Dynamic", "Standard"}
    assert rows[0]["ListUnitPrice"] == "4.19706"


def test_accounts_and_commitments_in_focus():
    preview = one(plain(), plain(market="reserved-1y", price="4.19706"))
    (stack,) = preview.stacks
    named = preview.model_copy(update={"stacks": (stack.model_copy(update={"accounts": {"aws": "123456789012"}}),)})
    rows = [row for row in csv.DictReader(io.StringIO(focus.render(named))) if row["ResourceType"].startswith("aws:")]
    assert {(row["SubAccountId"], row["SubAccountType"]) for row in rows} == {("123456789012", "Account")}
    covered = [row for row in rows if row["CommitmentDiscountId"]]
    assert covered
    for row in covered:
        assert row["PricingCategory"] == "Committed"
        assert (row["CommitmentDiscountCategory"], row["CommitmentDiscountStatus"]) == ("Usage", "Used")
        assert row["CommitmentDiscountQuantity"] == row["PricingQuantity"]
        assert row["CommitmentDiscountUnit"] == "Hours"
        assert row["CommitmentDiscountId"].startswith("estimate: ")


def test_the_billing_account_of_a_contract_in_focus():
    from sizewell.preview.pipeline import billing_accounts
    from sizewell.preview.records import BillingAccount
    from sizewell.sizing.catalog.rates import parse_discounts

    rates = parse_discounts(
        {
            "billing_accounts": [
                {"cloud": "aws", "id": "012345678901", "name": "Example Ltd"},
                {"cloud": "gcp", "id": "A"},
            ]
        }
    )
    named = billing_accounts({}, rates)
    assert named == {"aws": BillingAccount(id="012345678901", name="Example Ltd"), "gcp": BillingAccount(id="A")}
    assert billing_accounts({"sizewell:billingAccount": "B"}, rates)["gcp"] == BillingAccount(id="B")

    preview = one(plain(), plain(price="4.19706"))
    stack = preview.stacks[0].model_copy(update={"billing_accounts": {"aws": named["aws"]}})
    rows = list(csv.DictReader(io.StringIO(focus.render(preview.model_copy(update={"stacks": (stack,)})))))
    cells = {
        (row["ProviderName"], row["BillingAccountId"], row["BillingAccountName"], row["BillingAccountType"])
        for row in rows
    }
    assert ("AWS", "012345678901", "Example Ltd", "Payer Account") in cells
    assert {cell[1:] for cell in cells if cell[0] != "AWS"} <= {("", "", "")}


def test_the_accounts_that_a_stack_s_configuration_names():
    from sizewell.preview.diff import _accounts
    from sizewell.resources import Plan

    config = {"aws:allowedAccountIds": '["123456789012"]', "gcp:project": "p", "azure-native:subscriptionId": "s"}
    assert _accounts(Plan(project="p", stack="s", resources=(), config=config)) == {
        "aws": "123456789012",
        "gcp": "p",
        "azure-native": "s",
    }
    several = {"aws:allowedAccountIds": '["123456789012", "210987654321"]'}
    assert _accounts(Plan(project="p", stack="s", resources=(), config=several)) == {}


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here")
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_its_window(tmp_path, width):
    """Laid out by a browser, nothing is wider than the window."""
    path = tmp_path / "page.html"
    # The page forbids scripts; the measuring copy does not.
    text = html.render(SITUATIONS["purchase"]())
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    script = (
        "<script>onload=()=>{document.title=[document.documentElement.scrollWidth,"
        "...[...document.querySelectorAll('svg.chart,.cards div,li')].map(e=>Math.ceil(e.getBoundingClientRect().right))]"
        ".reduce((a,b)=>Math.max(a,b))}</script>"
    )
    inner = text.replace("</body>", f"{script}</body>")
    path.write_text(inner)
    frame = tmp_path / "frame.html"  # a headless window has a least width; a frame has none
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
    assert int(measured[1]) <= width
    assert dec(measured[1]) > 0
