"""Laws of the diff, and the cases that laws do not reach."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import HandPricing, Sketch, dec, interval, legacy, one, plain, pretrain, scratch, urn

from sizewell.preview import records
from sizewell.preview.diff import Side, compare, idle_exposure
from sizewell.preview.guardrails import Limits, check, exit_of, is_silent, parse_limits
from sizewell.preview.render import json as as_json
from sizewell.preview.render import markdown, terminal
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.money import Interval, LineItem, Priced, Unpriced

MONEY = st.decimals(min_value=0, max_value=10_000, places=4)


@st.composite
def lines(draw):
    low, mid, high = sorted(draw(st.tuples(MONEY, MONEY, MONEY)))
    price = draw(st.one_of(MONEY.map(lambda p: Priced(p, "list", "2026-09-01")), st.just(Unpriced("nobody knows"))))
    return LineItem(
        component=draw(st.sampled_from(["a", "b", "c", "d|`e"])),
        what=draw(st.sampled_from(["machines", "disks"])),
        unit=draw(st.sampled_from(["machine-hour", "GB-month"])),
        quantity=Interval(low, mid, high),
        price=price,
        cadence=draw(st.sampled_from(["monthly", "monthly", "once"])),
        confidence=draw(st.sampled_from(["", "assumed usage"])),
    )


def side(items):
    return Side(plan=Plan(project="p", stack="s", resources=()), pricing=HandPricing(tuple(items)))


SIDES = st.lists(lines(), max_size=8)


@given(SIDES, SIDES)
def test_rows_sum_to_the_headline_to_the_cent(before, after):
    stack = compare("s", side(before), side(after))
    rows = stack.rows
    assert sum((row.change for row in rows), Decimal(0)) == stack.change_usd_per_month
    total = sum((row.after.expected for row in rows), stack.unchanged.usd_per_month.expected)
    assert total == stack.after.usd_per_month.expected
    assert sum((row.once.expected for row in rows), Decimal(0)) == stack.bought.expected
    assert stack.change_usd_per_month == stack.after.usd_per_month.expected - stack.before.usd_per_month.expected
    assert stack.change_usd_per_month.as_tuple().exponent >= -2


@given(SIDES, SIDES)
def test_floor_expected_ceiling_in_every_figure(before, after):
    stack = compare("s", side(before), side(after))
    figures = [stack.bought, stack.unchanged.usd_per_month]
    for totals in (stack.before, stack.after):
        figures += [totals.usd_per_month, totals.usd_once, totals.idle_usd_per_hour]
    for row in stack.rows:
        figures += [row.before, row.after, row.once]
    for figure in figures:
        assert 0 <= figure.floor <= figure.expected <= figure.ceiling


@given(SIDES, SIDES, lines())
def test_adding_a_resource_never_lowers_the_ceiling(before, after, more):
    less = compare("s", side(before), side(after)).after
    grown = compare("s", side(before), side([*after, more])).after
    assert grown.usd_per_month.ceiling >= less.usd_per_month.ceiling
    assert grown.usd_once.ceiling >= less.usd_once.ceiling
    assert grown.idle_usd_per_hour.ceiling >= less.idle_usd_per_hour.ceiling


@given(SIDES)
def test_the_same_on_both_sides_is_no_change(items):
    stack = compare("s", side(items), side(items))
    assert stack.rows == ()
    assert stack.change_usd_per_month == 0
    assert stack.bought.ceiling == 0


@given(SIDES, SIDES)
def test_what_has_no_price_is_listed_and_printed_and_never_a_zero(before, after):
    stack = compare("s", side(before), side(after))
    missing = [item for item in after if isinstance(item.price, Unpriced)]
    assert bool(stack.unpriced) == bool(missing)
    only_before = set(stack.unpriced_before) - set(stack.unpriced) and any(row.sign != "-" for row in stack.rows)
    assert exit_of([stack], [])[0] == (3 if missing or only_before else 0)
    preview = one_of(stack)
    if missing:
        assert "?" in markdown.render(preview)
        assert "unpriced" in terminal.render(preview)


@settings(max_examples=40)
@given(SIDES, SIDES)
def test_every_form_renders_and_the_same_input_gives_the_same_bytes(before, after):
    first, second = (one_of(compare("s", side(before), side(after))) for _ in range(2))
    for form in (markdown.render, terminal.render, as_json.render):
        assert form(first) == form(second)
    assert max(len(line) for line in terminal.render(first).splitlines()) <= 100


def one_of(*stacks, **more):
    from situations import ON, PROVENANCE

    from sizewell.preview.assemble import assemble

    return assemble(stacks, on=ON, provenance=PROVENANCE, **more)


def test_a_purchase_that_stands_on_both_sides_is_bought_already():
    again = one(pretrain(plain()), pretrain(plain()))
    assert again.bought.expected == 0
    assert not again.stacks[0].needs
    first = one(plain(), pretrain(plain()))
    assert first.bought.expected == dec("9061.63")
    assert first.change_usd_per_month == 0  # never mixed with the run-rate


def test_a_purchase_that_a_program_registers_is_bought_at_the_update():
    comment = markdown.render(one(plain(), pretrain(plain())))
    assert "the program registers it: bought at the next update" in comment
    assert "nothing is bought" not in comment


def exposure(side):
    return idle_exposure(side.plan.by_urn(), side.pricing.items)


def test_exposure_counts_machines_and_not_hours_of_the_schedule():
    assert exposure(plain().side()) == interval("0.00", "10.49", "20.99")
    assert exposure(pretrain(Sketch("s")).side()) == interval("0.00", "0.00", "0.00")  # prepaid
    unregistered = Sketch("s").resource("aws:ec2/instance:Instance", "i")
    unregistered.line("i", "g6.xlarge", "machine-hour", "0.8048", (0, 365, 730))
    assert exposure(unregistered.side()) == interval("0.00", "0.40", "0.80")


def test_prices_that_moved_and_the_change_are_apart():
    own = plain(price="10.30000").side().pricing
    stack = one(plain(), plain(price="20.00000"), base_at_own_prices=own).stacks[0]
    assert stack.prices_moved_usd_per_month == dec("58.44")
    assert stack.change_usd_per_month == dec("2883.90")


def test_an_alias_is_a_rename_and_not_a_loss():
    before = Sketch("s").resource("aws:ebs/volume:Volume", "old", inputs={"size": 100})
    before.line("old", "disk", "GB-month", "0.08", (100, 100, 100))
    after = Sketch("s").resource(
        "aws:ebs/volume:Volume", "new", inputs={"size": 100}, aliases=(urn("s", "aws:ebs/volume:Volume", "old"),)
    )
    after.line("new", "disk", "GB-month", "0.08", (100, 100, 100))
    stack = one(before, after, stack="s").stacks[0]
    assert stack.needs == ()
    assert stack.rows == ()


@pytest.mark.parametrize(
    ("protect", "retain", "kind", "says"),
    [
        (False, False, "destroys", "1 volume (100 GiB)"),
        (True, False, "keeps", "pulumi up fails until it is unprotected"),
        (False, True, "keeps", "is still billed"),
    ],
)
def test_what_leaves_the_stack(protect, retain, kind, says):
    before = Sketch("s").resource(
        "aws:ebs/volume:Volume", "data", inputs={"size": 100}, protect=protect, retain_on_delete=retain
    )
    need = one(before, Sketch("s"), stack="s").stacks[0].needs[0]
    assert (need.kind, need.data) == (kind, kind == "destroys")
    assert says in need.text


@pytest.mark.parametrize(
    ("kind", "inputs", "stays"),
    [
        ("aws:ec2/instance:Instance", {"disableApiTermination": True}, True),
        ("aws:ec2/instance:Instance", {"disableApiTermination": True, "forceDestroy": True}, False),
        ("aws:ec2/instance:Instance", {"disableApiTermination": False}, False),
        ("aws:rds/instance:Instance", {"deletionProtection": True}, True),
        ("gcp:container/cluster:Cluster", {"deletionProtection": True}, True),
    ],
)
def test_what_its_own_cloud_refuses_to_delete_is_no_saving(kind, inputs, stays):
    before = Sketch("s").resource(kind, "held", inputs=inputs)
    before.line("held", "machine", "machine-hour", "10", (730, 730, 730))
    stack = one(before, Sketch("s"), stack="s").stacks[0]
    assert [need.kind for need in stack.needs] == ["keeps" if stays else "destroys"]
    assert all("pulumi up fails" in need.text for need in stack.needs if stays)


def test_a_replacement_that_its_cloud_refuses_is_said():
    sides = [
        Sketch("s").resource(
            "aws:ec2/instance:Instance", "m", inputs={"availabilityZone": z, "disableApiTermination": True}
        )
        for z in ("us-east-1a", "us-east-1b")
    ]
    (need,) = one(*sides, stack="s").stacks[0].needs
    assert "m is protected: pulumi up fails before it replaces it" in need.text


def test_a_notebook_that_is_built_anew_loses_its_volume():
    kind, inputs = "aws:sagemaker/notebookInstance:NotebookInstance", {"instanceType": "ml.t3.medium", "volumeSize": 50}
    sides = [Sketch("s").resource(kind, "n", inputs=inputs | {"subnetId": each}) for each in ("subnet-1", "subnet-2")]
    (need,) = one(*sides, stack="s").stacks[0].needs
    assert need.text == "replaces n (subnetId changed): 1 notebook volume (50 GiB) is deleted with its contents"


@pytest.mark.parametrize(
    ("old", "new", "ignored", "replaced"),
    [
        ("us-east-1a", "us-east-1b", (), True),
        ("us-east-1a", "us-east-1a", (), False),
        ("us-east-1a", UNKNOWN, (), False),  # unknown is no evidence
        ("us-east-1a", "us-east-1b", ("availabilityZone",), False),
    ],
)
def test_replacement_without_an_engine_to_ask(old, new, ignored, replaced):
    def volume(zone, ignore=()):
        return Sketch("s").resource(
            "aws:ebs/volume:Volume", "v", inputs={"size": 10, "availabilityZone": zone}, ignore_changes=ignore
        )

    needs = one(volume(old), volume(new, ignored), stack="s").stacks[0].needs
    assert [need.kind for need in needs] == (["replaces"] if replaced else [])


@pytest.mark.parametrize(
    ("old", "new", "options", "replaced"),
    [
        ({"tags": {"team": "ads"}}, {"tags": {"team": "search"}}, {"replace_on_changes": ("tags.team",)}, True),
        ({"tags": {"team": "ads"}}, {"tags": {"team": "search"}}, {"replace_on_changes": ("tags",)}, True),
        ({"tags": {"team": "ads"}}, {"tags": {"team": "search"}}, {"replace_on_changes": ("tags.*",)}, True),
        ({}, {"tags": {"team": "search"}}, {"replace_on_changes": ("tags.team",)}, True),
        ({}, {"tags": {"owner": "search"}}, {"replace_on_changes": ("tags.team",)}, False),
        ({"tags": {"team": "ads"}}, {"tags": {"team": "search"}}, {"replace_on_changes": ("tags.owner",)}, False),
        ({"size": 10}, {"size": 11}, {"replace_on_changes": ("*",)}, True),
        ({"a": [{"n": 1}]}, {"a": [{"n": 2}]}, {"replace_on_changes": ("a[*].n",)}, True),
        (
            {"size": 10},
            {"size": 11},
            {"replace_on_changes": ("size",), "ignore_changes": ("size",)},
            False,
        ),
        ({"trigger": "v1"}, {"trigger": "v2"}, {}, True),
        ({"trigger": "v1"}, {"trigger": "v1"}, {}, False),
        ({}, {"trigger": "v1"}, {}, False),  # as the engine does: the first value and its removal replace nothing
        ({"trigger": "v1"}, {}, {}, False),
        ({"trigger": "v1"}, {"trigger": UNKNOWN}, {}, False),
    ],
)
def test_a_replacement_that_the_program_asks_for(old, new, options, replaced):
    def volume(stated):
        inputs = {"size": 10, **{key: value for key, value in stated.items() if key != "trigger"}}
        return Sketch("s").resource(
            "aws:ebs/volume:Volume", "v", inputs=inputs, replacement_trigger=stated.get("trigger"), **options
        )

    needs = one(volume(old), volume(new), stack="s").stacks[0].needs
    assert [(need.kind, need.data) for need in needs] == ([("replaces", True)] if replaced else [])


def test_what_is_replaced_with_another_is_replaced_through_a_chain_of_them():
    kind = "aws:ebs/volume:Volume"

    def volumes(zone):
        sketch = Sketch("s").resource(kind, "a", inputs={"size": 1, "availabilityZone": zone})
        sketch.resource(kind, "c", inputs={"size": 4}, replace_with=(urn("s", kind, "b"),))
        sketch.resource(kind, "b", inputs={"size": 2}, replace_with=(urn("s", kind, "a"),))
        return sketch.resource(kind, "d", inputs={"size": 8}, replace_with=(urn("s", kind, "e"),))

    stack = one(volumes("us-east-1a"), volumes("us-east-1b"), stack="s").stacks[0]
    assert sorted(need.text for need in stack.needs) == [
        "replaces a (availabilityZone changed): 1 volume (1 GiB) is deleted with its contents",
        "replaces b (replaced with a): 1 volume (2 GiB) is deleted with its contents",
        "replaces c (replaced with b): 1 volume (4 GiB) is deleted with its contents",
    ]
    assert one(volumes("us-east-1a"), volumes("us-east-1a"), stack="s").stacks[0].needs == ()


@pytest.mark.parametrize(
    ("type_", "key"),
    [
        ("aws:eks/cluster:Cluster", "version"),
        ("azure-native:containerservice/v20250501:ManagedCluster", "kubernetesVersion"),
        ("gcp:container/cluster:Cluster", "minMasterVersion"),
    ],
)
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1.34", "1.36", "goes up by one minor version at a time, so the update fails; state 1.35 first"),
        ("1.36", "1.35", "no cloud takes a control plane back"),
        ("1.35.4", "1.36.1", "is upgraded in place and does not come back down"),
        ("1.36.1", "1.36.4", ""),
        ("1.36", UNKNOWN, ""),
    ],
)
def test_a_cluster_s_version_that_changes_is_said(type_, key, old, new, says):
    def cluster(version, ignored=()):
        return Sketch("s").resource(type_, "c", inputs={key: version}, ignore_changes=ignored)

    needs = [need for need in one(cluster(old), cluster(new), stack="s").stacks[0].needs if need.kind == "upgrades"]
    assert [says in need.text for need in needs] == ([True] if says else [])
    left = one(cluster(old, (key,)), cluster(new, (key,)), stack="s").stacks[0].needs
    assert not [need for need in left if need.kind == "upgrades"], "what the cloud runs is left as it is"


def test_the_engine_is_believed_about_replacement():
    address = urn("llm-prod", "aws:autoscaling/group:Group", "chat-nodes")
    needs = one(plain(), plain(), replaced=frozenset({address})).stacks[0].needs
    assert [(need.kind, need.component) for need in needs] == [("replaces", "chat")]


def test_destroyed_data_is_said_before_dollars():
    comment = markdown.render(one(legacy("s"), Sketch("s"), stack="s"))
    assert comment.index("Destroys data") < comment.index("Run-rate")


def totals(expected, ceiling=None):
    money = Interval(Decimal(0), dec(expected), dec(ceiling or expected))
    zero = Interval(Decimal(0), Decimal(0), Decimal(0))
    return records.Totals(usd_per_month=money, usd_once=zero, idle_usd_per_hour=zero)


@pytest.mark.parametrize(
    ("before", "after", "limits", "broken"),
    [
        (1000, 1500, {"increase_usd": dec(500)}, []),
        (1000, "1500.01", {"increase_usd": dec(500)}, ["absolute"]),
        (1000, 1500, {"increase_percent": dec(49)}, ["percent"]),
        (1000, 500, {"increase_usd": dec(0), "increase_percent": dec(0)}, []),
        (0, 500, {"increase_percent": dec(10)}, []),  # no share of nothing; the absolute limit is for that
        (1000, 2000, {"budget": dec(1999)}, ["budget"]),
        (3000, 2500, {"budget": dec(1999)}, ["budget"]),  # over is over, also on the way down
    ],
)
def test_guardrails(before, after, limits, broken):
    given_limits = {"increase_usd": None, "increase_percent": None, "budget": None, **limits}
    rails = check("s", totals(before), totals(after), unblocked="", **given_limits)
    assert [rail.kind for rail in rails if rail.broken] == broken
    assert all(rail.ok for rail in check("s", totals(before), totals(after), unblocked="agreed", **given_limits))


def test_exit_codes_in_the_order_of_the_design():
    failed = records.PolicyReport(
        findings=(records.PolicyFinding(policy="p", level="mandatory", message="no"),), passed=0
    )
    over = Limits(budgets={"llm-prod": dec(10)})
    assert one(plain(), plain()).exit_code == 0
    assert one(plain(), plain(), policies=failed, limits=over).exit_code == 1
    assert one(plain(), plain(), limits=over).exit_code == 2
    assert one(plain(), plain(), limits=over, unblocked="release week").exit_code == 0
    waived = replace_finding(failed, waived="until October")
    assert one(plain(), plain(), policies=waived).exit_code == 0


def replace_finding(report, **more):
    return report.model_copy(update={"findings": tuple(replace(f, **more) for f in report.findings)})


def test_silence_is_only_for_what_nobody_would_miss():
    def silent(before, after, **more):
        preview = one(before, after, **more)
        assert preview.silent == is_silent(preview.stacks, preview.guardrails, more.get("limits") or Limits())
        return preview.silent

    assert silent(plain(), plain())
    small = {"limits": Limits(silent_below=dec(25))}
    assert silent(plain(price="10.49264"), plain(price="10.50"), **small)  # two dollars, eleven at the ceiling
    assert not silent(plain(price="10.49264"), plain(price="10.50"))  # nobody said what is too small to be told
    assert not silent(plain(price="10.49264"), plain(price="10.52"), **small)  # eight dollars, forty at the ceiling
    assert not silent(plain(), plain(price="10.60"))
    assert not silent(plain(), pretrain(plain()))
    assert not silent(legacy("llm-prod"), Sketch("llm-prod"))
    assert not silent(plain(), plain(), base_failed="it does not build")
    assert not silent(plain(), plain(), limits=Limits(budgets={"llm-prod": dec(1)}))
    assert silent(scratch(Sketch("llm-prod")), plain(), limits=Limits(silent_below=dec(100_000)))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"increse": {}}, "did you mean increase?"),
        ({"increase": {"percent": -1}}, "increase.percent: must be a number of 0 or more"),
        ({"increase": {"percent": True}}, "increase.percent"),
        ({"increase": {"usd_per_month": "lots"}}, "increase.usd_per_month"),
        ({"budgets": {"dev": ".nan"}}, "budgets.dev"),
        ({"budgets": [1]}, "budgets: must be a mapping"),
        ([1], "file: must be a mapping"),
        ({"increase": {"percent": float("inf")}}, "increase.percent"),
    ],
)
def test_wrong_guardrails(data, says):
    with pytest.raises(ConfigError) as caught:
        parse_limits(data)
    assert says in str(caught.value)


def test_guardrails_of_a_file(tmp_path):
    from sizewell.preview.guardrails import read_limits

    path = tmp_path / "g.yaml"
    path.write_text("increase: {usd_per_month: 5000, percent: 20}\nbudgets: {dev: 90 USD, total: 150}\n")
    limits = read_limits(path)
    assert (limits.increase_usd, limits.budgets, limits.total_budget) == (dec(5000), {"dev": dec(90)}, dec(150))
    with pytest.raises(ConfigError, match="no such file"):
        read_limits(tmp_path / "none.yaml")


NASTY = [
    "a|b", "tick`s``", "<img src=x onerror=alert(1)>", "@everyone", "#1", "[x](http://evil)", "x\ny\r\n| z |",
    "**bold**", ("<!-- " "sizewell:stack=other -->"), "</details>", "\u202eevil", "a" * 3000, "~~~", "\\`x", "https://evil.test",
]  # fmt: skip


@pytest.mark.parametrize("name", NASTY)
def test_names_with_markdown_in_them_stay_names(name):
    sketch = Sketch(name).resource("aws:ebs/volume:Volume", name, inputs={"size": 1})
    sketch.line(name, name, "GB-month", "0.08", (0, 1000, 1000), confidence=name)
    finding = records.PolicyFinding(policy=name, level="mandatory", component=name, message=name, fix=name)
    side_ = sketch.side()
    compared = compare(
        name, replace(side_, pricing=HandPricing()), side_,
        policies=records.PolicyReport(findings=(finding,)), base_failed=name,
    )  # fmt: skip
    comment = markdown.render(one_of(compared))
    body, _, last = comment.rstrip().rpartition("\n")
    assert last.startswith("<!-- sizewell:stack")
    outside = strip_code(body)
    assert "<!--" not in outside
    assert "<img" not in outside
    assert outside.count("<details>") == outside.count("</details>") == 2
    assert "\u202e" not in comment
    table = [line for line in body.splitlines() if line.startswith("|")]
    for line in table:
        cells = line.replace("\\|", "").count("|")
        assert cells in (5, 6, 7)
    assert "@everyone" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert "https://" not in outside
    assert max(len(line) for line in terminal.render(one_of(compared)).splitlines()) <= 100


def strip_code(text):
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_nothing_secret_is_printed():
    canary = "canary-8d1f"
    resource = RecordedResource(
        urn=urn("s", "aws:ssm/parameter:Parameter", "p"), type="aws:ssm/parameter:Parameter", name="p",
        inputs={"value": canary}, secret_paths=("value",),
    )  # fmt: skip
    plan = Plan(project="p", stack="s", resources=(resource,), config={"p:key": canary})
    preview = one_of(compare("s", side([]), Side(plan=plan, pricing=HandPricing())))
    for form in (markdown.render, terminal.render, as_json.render):
        assert canary not in form(preview)


def test_an_increase_is_judged_only_against_something():
    limits = Limits(increase_usd=dec(1), increase_percent=dec(1), budgets={"llm-prod": dec(10**6)})
    alone = one(None, plain(), limits=limits)
    assert [(rail.kind, rail.of) for rail in alone.guardrails] == [("budget", "expected"), ("budget", "ceiling")]
    assert alone.exit_code == 0
    new = one(Sketch("llm-prod"), plain(), limits=limits)  # compared with a revision that has no such stack
    assert [rail.kind for rail in new.guardrails if rail.broken] == ["absolute"]
    assert new.exit_code == 2


def test_a_limit_of_a_stack_without_a_figure_cannot_be_checked():
    from situations import ON, PROVENANCE

    from sizewell.preview.assemble import assemble, failed_stack

    limits = Limits(increase_usd=dec(1), budgets={"broken": dec(10**6)}, total_budget=dec(10**9))
    stacks = [failed_stack("broken", "p", "KeyError"), compare("s", plain("s").side(), plain("s").side())]
    preview = assemble(stacks, on=ON, provenance=PROVENANCE, limits=limits)
    told = {(rail.scope, rail.kind) for rail in preview.guardrails if rail.broken}
    assert told == {("broken", "absolute"), ("broken", "budget"), ("all stacks", "budget")}
    assert "the limit of 1,000,000,000 USD/month cannot be checked: no price for broken" in markdown.render(preview)
    assert preview.exit_code == 69


def test_a_budget_of_nothing_is_a_budget():
    over = one(plain(), plain(), limits=Limits(budgets={"llm-prod": dec(0)}))
    assert [rail.kind for rail in over.guardrails if rail.broken] == ["budget"]
