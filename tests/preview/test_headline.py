"""A headline that nobody approves wrongly: with a side unpriced it claims no saving, no cost and no "no change"."""

from __future__ import annotations

import base64
import json
import pickle
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import Side, compare
from sizewell.preview.records import Preview, Provenance
from sizewell.preview.render import markdown, terminal, text
from sizewell.recording.contents import expanded
from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN, Hidden, Plan, RecordedResource
from sizewell.sizing.catalog import load

ON = date(2026, 10, 1)
GPU = ("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "availabilityZone": "us-east-1a"})
WEB = ("aws:ec2/instance:Instance", {"instanceType": "g6e.xlarge", "availabilityZone": "us-east-1a"})
NEW = ("aws:quantum/thing:Thing", {"size": 8})  # no price rule
UNSIZED = ("aws:ec2/instance:Instance", {"instanceType": UNKNOWN, "availabilityZone": "us-east-1a"})
CHART = ("kubernetes:helm.sh/v3:Release", {"chart": "wordpress", "version": "1"})
PLACE = Hidden(name="__main__.py, line 9", what="what the program makes there", may_hide="more", why="", digest="a")


def resource(name: str, row: tuple[str, dict[str, object]], **options: object) -> RecordedResource:
    type_, inputs = row
    return RecordedResource(urn=f"urn:pulumi:dev::p::{type_}::{name}", type=type_, name=name, inputs=inputs, **options)


def preview(
    before: dict[str, object],
    after: dict[str, object],
    hidden: tuple[tuple[Hidden, ...], tuple[Hidden, ...]] = ((), ()),
) -> Preview:
    sides = []
    for rows, places in zip((before, after), hidden, strict=True):
        resources = tuple(
            row if isinstance(row, RecordedResource) else resource(name, row) for name, row in rows.items()
        )
        plan = Plan(project="p", stack="dev", resources=resources, config={"aws:region": "us-east-1"}, hidden=places)
        sides.append(plan)
    return preview_of(*sides)


def preview_of(*plans: Plan) -> Preview:
    sides = (Side(plan=plan, pricing=price(plan, load(), on=ON)) for plan in plans)
    stack = compare("dev", *sides, base="main", replaced=frozenset())
    return assemble([stack], on=ON, provenance=Provenance())


UNSAFE = [
    pytest.param({"a": GPU}, {"b": NEW}, "change not known: -$", "an increase in what has none", id="swapped for something unpriced"),
    pytest.param({"a": GPU}, {"b": UNSIZED}, "change not known: -$", "an increase in what has none", id="swapped for an unknown size"),
    pytest.param({"a": GPU}, {"a": UNSIZED}, "change not known: -$", "an increase in what has none", id="its size became unknown"),
    pytest.param({"a": GPU}, {"c": CHART}, "change not known: -$", "an increase in what has none", id="swapped for a chart"),
    pytest.param({}, {"c": CHART}, "up by an amount that is not known", "", id="a chart is added"),
    pytest.param({}, {"a": GPU, "b": NEW}, "up by at least $", "", id="a price and none are added"),
    pytest.param({"b": NEW}, {}, "down by an amount that is not known", "", id="something unpriced goes"),
    pytest.param({"a": GPU, "b": NEW}, {}, "down by at least $", "", id="a price and none go"),
    pytest.param({"b": NEW}, {"a": GPU}, "change not known: +$", "a decrease in what has none", id="something unpriced becomes priced"),
    pytest.param({"b": NEW}, {"b": (NEW[0], {"size": 9})}, "change not known: +$0", "an increase or a decrease", id="something unpriced changes"),
    pytest.param({"c": CHART}, {"c": (CHART[0], {"chart": "wordpress", "version": "2"})}, "change not known: +$0", "an increase or a decrease", id="a chart's version changes"),
    pytest.param({"a": GPU, "b": NEW}, {"b": (NEW[0], {"size": 9})}, "change not known: -$", "an increase or a decrease", id="a saving beside a change"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "says", "way"), UNSAFE)
def test_nothing_is_claimed_while_a_side_has_no_price(before, after, says, way):
    changed = preview(before, after)
    headline = text.headline(changed)
    assert says in headline
    assert way in headline
    assert not headline.startswith(("Run-rate -", "Run-rate +", "Run-rate unchanged"))
    for shown in (markdown.render(changed), terminal.render(changed, width=200)):
        assert says.replace("$", "") in shown.replace("\\", "").replace("$", "")
        assert "Not known" in shown


REMOVALS = ({"b": NEW}, {"a": GPU, "b": NEW})  # of changes that only take away


@pytest.mark.parametrize(("before", "after", "says", "way"), UNSAFE)
def test_no_change_with_a_side_unpriced_passes_and_none_lowers_the_idle_exposure(before, after, says, way):
    changed = preview(before, after)
    assert changed.exit_code == (0 if before in REMOVALS and not after else 3)
    if after:
        idle = [side.idle_usd_per_hour for side in (changed.stacks[0].before, changed.stacks[0].after)]
        assert all(getattr(idle[1], bound) >= getattr(idle[0], bound) for bound in ("floor", "expected", "ceiling"))


DEPLOYMENT = ("kubernetes:apps/v1:Deployment", {"spec": {"template": {"spec": {"containers": [{"image": "x:1"}]}}}})
SERVICE = ("kubernetes:core/v1:Service", {"spec": {"type": "LoadBalancer"}})
CLAIM = ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"resources": {"requests": {"storage": "1Ti"}}}})
DISK = ("aws:ebs/volume:Volume", {"size": 2000, "type": "gp3", "availabilityZone": "us-east-1a"})
STARTER = ("kubernetes:karpenter.sh/v1:NodePool", {"spec": {}})
OPERATOR = ("kubernetes:acme.io/v1:Server", {"spec": {"gpus": 8}})


@pytest.mark.parametrize("becomes", [DEPLOYMENT, SERVICE, CLAIM, STARTER, OPERATOR, CHART])
@pytest.mark.parametrize("was", [GPU, DISK])
def test_what_moves_into_a_cluster_is_no_saving(was, becomes):
    changed = preview({"a": was}, {"b": becomes})
    assert "change not known: -$" in text.headline(changed)
    assert changed.exit_code == 3
    assert changed.stacks[0].after.idle_usd_per_hour.expected >= changed.stacks[0].before.idle_usd_per_hour.expected


def test_pods_on_the_cluster_of_another_program_are_named_and_fail_nothing():
    for before in ({}, {"a": GPU}):
        changed = preview(before, {**before, "web": DEPLOYMENT, "door": SERVICE})
        assert "up by an amount that is not known" in text.headline(changed)
        assert changed.exit_code == 0
        assert len(changed.stacks[0].unpriced) == 2
    standing = {"web": DEPLOYMENT, "door": SERVICE}
    assert preview({"a": GPU, **standing}, standing).exit_code == 0


def test_a_new_image_of_pods_is_no_change_of_their_machines():
    def pods(image, replicas=2):
        container = {"image": image, "resources": {"limits": {"nvidia.com/gpu": 1}}}
        return {
            "a": (DEPLOYMENT[0], {"spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}}})
        }

    assert preview(pods("x:1"), pods("x:2")).exit_code == 0
    assert preview(pods("x:1"), pods("x:1", replicas=9)).exit_code == 3


def test_a_label_of_something_unpriced_is_no_change_of_its_cost():
    tagged = (NEW[0], {"size": 8, "tags": {"team": "b"}})
    assert preview({"b": (NEW[0], {"size": 8, "tags": {"team": "a"}})}, {"b": tagged}).exit_code == 0


ASG, TEMPLATE = "aws:autoscaling/group:Group", "aws:ec2/launchTemplate:LaunchTemplate"


def group(**size: object) -> dict[str, object]:
    template = resource("lt", (TEMPLATE, {"instanceType": "g6.xlarge"}))
    inputs = {"availabilityZones": ["us-east-1a"], "launchTemplate": {"id": UNKNOWN}, **size}
    return {
        "lt": template,
        "g": resource("g", (ASG, inputs), property_dependencies={"launchTemplate": (template.urn,)}),
    }


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ((4, 4), (UNKNOWN, UNKNOWN), "between -$2,350/month and +$0/month"),
        ((UNKNOWN, UNKNOWN), (4, 4), "between +$0/month and +$2,350/month"),
        ((UNKNOWN, UNKNOWN), (0, UNKNOWN), "between -$2,350/month and +$2,350/month"),
        ((0, 2), (UNKNOWN, 2), "between"),
    ],
)
def test_a_number_of_machines_that_is_not_known_is_a_range_and_no_single_figure(before, after, says):
    sides = [group(minSize=least, desiredCapacity=wanted, maxSize=4) for least, wanted in (before, after)]
    changed = preview(*sides)
    assert f"change not known: {says}" in text.headline(changed)
    row = next(row for row in changed.stacks[0].rows if row.component == "g")
    assert row.between[0] < row.between[1]
    assert " to " in text.per_month(row)
    assert (changed.exit_code, changed.silent) == (3, False)
    expected = next(line for line in markdown.render(changed).splitlines() if "Run-rate, $/mo" in line)
    cells = expected.split("|")[2:5]
    assert [" to " in cell for cell in cells] == [UNKNOWN in before, UNKNOWN in after, True]
    assert "%" not in cells[2]
    idle = next(line for line in markdown.render(changed).splitlines() if "Idle exposure" in line)
    assert idle.rstrip("| ").endswith("not known")


def test_a_number_of_machines_that_is_not_known_has_no_maximum_but_the_stated_one():
    changed = preview(
        group(minSize=4, desiredCapacity=4, maxSize=4), group(minSize=1, desiredCapacity=UNKNOWN, maxSize=UNKNOWN)
    )
    assert "change not known: -$" in text.headline(changed)
    assert "states no maximum" in changed.stacks[0].unpriced[0]
    assert changed.exit_code == 3


def test_the_estimate_that_a_missing_price_has_is_said():
    catalog = load()
    row = next(
        (kind, region)
        for (cloud, kind), shape in catalog.shapes_by_type.items()
        if cloud == "aws" and shape.accelerators
        for region in catalog.estimates("aws", kind, ON)
    )
    inputs = {"instanceType": row[0], "availabilityZone": f"{row[1]}a"}
    changed = preview({"a": GPU}, {"b": ("aws:ec2/instance:Instance", inputs)})
    assert "sister regions" in text.unknowns(changed)[0]
    assert "sister regions" in markdown.render(changed).partition("| |")[0]


def test_what_is_known_on_both_sides_is_said_as_before():
    assert text.headline(preview({"a": GPU}, {"a": WEB})).startswith("Run-rate +$")
    assert text.headline(preview({"a": GPU, "b": NEW}, {"a": GPU, "b": NEW})).startswith("Run-rate unchanged at $")


def test_a_change_that_costs_nothing_leaves_the_run_rate_unchanged():
    renamed = (GPU[0], {**GPU[1], "tags": {"team": "a"}})
    changed = preview({"a": GPU}, {"a": renamed})
    assert changed.stacks[0].rows
    assert text.headline(changed).startswith("Run-rate unchanged at $")


def test_a_minimum_that_is_raised_leaves_the_ceiling_unchanged():
    raised = preview(group(minSize=0, desiredCapacity=0, maxSize=4), group(minSize=2, desiredCapacity=2, maxSize=4))
    assert text.headline(raised).endswith(", ceiling unchanged")


def test_a_place_whose_file_did_not_change_is_no_change_and_one_whose_file_did_is_open():
    same = preview({"a": GPU}, {"a": GPU}, ((PLACE,), (PLACE,)))
    assert "unchanged" in text.headline(same)
    edited = preview({"a": GPU}, {"a": GPU}, ((PLACE,), (replace(PLACE, digest="b"),)))
    assert "change not known: +$0/month" in text.headline(edited)


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ({"protect": True}, {}, "takes protect from bucket data: the next change can delete it"),
        ({"retain_on_delete": True}, {}, "takes retain on delete from bucket data"),
        ({"protect": True, "retain_on_delete": True}, {}, "takes protect and retain on delete from bucket data"),
    ],
)
def test_a_protection_that_goes_is_a_decision(was, now, says):
    bucket = ("aws:s3/bucket:Bucket", {"bucket": "data"})
    changed = preview({"data": resource("data", bucket, **was)}, {"data": resource("data", bucket, **now)})
    (need,) = changed.stacks[0].needs
    assert need.kind == "unprotects"
    assert says in need.text
    assert not changed.silent
    assert not preview({"data": resource("data", bucket)}, {"data": resource("data", bucket, **was)}).stacks[0].needs


def test_what_the_engine_will_refuse_is_said():
    volume = ("aws:ebs/volume:Volume", {"size": 100, "availabilityZone": "us-east-1a"})
    moved = ("aws:ebs/volume:Volume", {"size": 100, "availabilityZone": "us-east-1b"})
    sides = [
        Plan(
            project="p", stack="dev", resources=(resource("v", row, protect=True),), config={"aws:region": "us-east-1"}
        )
        for row in (volume, moved)
    ]
    urn = sides[0].resources[0].urn
    stack = compare(
        "dev", *(Side(plan=plan, pricing=price(plan, load(), on=ON)) for plan in sides), replaced=frozenset({urn})
    )
    assert "v is protected: pulumi up fails before it replaces it" in stack.needs[0].text


def test_a_long_list_of_losses_leaves_room_for_the_figures():
    volumes = {
        f"scratch-{n}": ("aws:ebs/volume:Volume", {"size": 100 + n, "availabilityZone": "us-east-1a"})
        for n in range(40)
    }
    shown = markdown.render(preview({"a": GPU, **volumes}, {"a": GPU})).splitlines()
    losses = [line for line in shown if "Destroys data" in line]
    assert len(losses) <= markdown.MOST_DATA
    assert any("40 losses in all" in line for line in shown[:10])
    assert any(line.startswith("**Run-rate") for line in shown[:10])


SWAYS = replace(PLACE, shown_too=True)  # what is shown may follow from it as well: a variable that the deployment sets


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"a": GPU, "b": GPU}, {"a": GPU}, "change not known: -$"),
        ({"a": WEB}, {"a": GPU}, "change not known: -$"),
        ({"a": GPU}, {"a": GPU, "b": GPU}, "change not known: +$"),
    ],
)
def test_a_gap_on_both_sides_that_the_figures_may_follow_from_leaves_no_bare_change(before, after, says):
    changed = preview(before, after, ((SWAYS,), (SWAYS,)))
    headline = text.headline(changed)
    assert says in headline
    assert "an increase or a decrease in what has none" in headline
    assert all(
        change.endswith(" + ?") for _, _, _, change in text.figures(changed.before, changed.after, changed.stacks)
    )
    idle = text.idle(changed.before, changed.after, changed.stacks)
    assert idle is not None
    assert not idle[2].startswith("-")
    for shown in (markdown.render(changed), terminal.render(changed, width=200)):
        assert "Not known" in shown


def test_a_gap_on_both_sides_is_no_change_where_nothing_else_moves_and_one_that_only_adds_is_in_no_difference():
    assert "unchanged" in text.headline(preview({"a": GPU}, {"a": GPU}, ((SWAYS,), (SWAYS,))))
    assert text.headline(preview({"a": WEB}, {"a": GPU}, ((PLACE,), (PLACE,)))).startswith("Run-rate -$")


def test_what_moves_into_one_component_by_aliases_is_compared_with_all_that_it_was():
    moved = resource("a", GPU), resource("b", WEB), resource("n", NEW)
    shop = RecordedResource(urn="shop", type="acme:shop:Shop", name="shop", inputs={}, custom=False)
    inside = [
        replace(each, urn=each.urn.replace("::p::", "::p::acme:shop:Shop$"), parent="shop", aliases=(each.urn,))
        for each in moved
    ]
    after = {"shop": shop, **{each.name: each for each in inside}}
    changed = preview({each.name: each for each in moved}, after)
    (stack,) = changed.stacks
    assert sum(row.change for row in stack.rows) == 0 == changed.change_usd_per_month
    assert {row.component for row in (*stack.rows, *stack.unchanged.rows)} == {"shop"}
    assert text.headline(changed).startswith("Run-rate unchanged at $")
    assert text.open_ends(changed.stacks).before == " + ?"


def test_one_component_that_becomes_two_by_aliases_is_compared_with_neither():
    both = [resource("a", GPU), resource("b", WEB)]
    shop = RecordedResource(urn="shop", type="acme:shop:Shop", name="shop", inputs={}, custom=False)
    inside = [replace(each, urn=f"{each.urn}-in", parent="shop") for each in both]
    outside = {each.name: replace(each, aliases=(f"{each.urn}-in",)) for each in both}
    changed = preview({"shop": shop, **{each.name: each for each in inside}}, outside)
    (stack,) = changed.stacks
    assert sum(row.change for row in stack.rows) == 0 == changed.change_usd_per_month
    assert {row.component: row.sign for row in stack.rows if row.change} == {"shop": "-", "a": "+", "b": "+"}


def test_the_exposure_of_before_is_not_shown_as_what_is_known_of_after():
    chart = resource("chart", CHART)
    other = resource("chart", (CHART[0], {**CHART[1], "values": {"replicas": 2}}))
    changed = preview({"a": GPU, "b": GPU, "c": chart}, {"a": GPU, "c": other})
    assert changed.stacks[0].after.idle_kept
    idle = text.idle(changed.before, changed.after, changed.stacks)
    assert idle is not None
    assert idle[1].startswith("at most ")
    assert idle[2] == "not known"
    same = preview({"a": GPU, "c": chart}, {"a": GPU, "c": other})
    unchanged = text.idle(same.before, same.after, same.stacks)
    assert unchanged is not None
    assert unchanged[2] == "0.00 + ?"


def test_attached_accelerators_are_idle_with_their_machine():
    inputs = {
        "machineType": "n1-standard-4",
        "zone": "us-central1-a",
        "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 2}],
    }
    changed = preview({}, {"a": ("gcp:compute/instance:Instance", inputs)})
    plain = preview({}, {"a": ("gcp:compute/instance:Instance", {**inputs, "guestAccelerators": []})})
    both, alone = (each.stacks[0].after.idle_usd_per_hour.expected for each in (changed, plain))
    assert both - alone == Decimal("0.49")  # two at 0.35, less 30 % for sustained use


FUNCTION = ("aws:lambda/function:Function", {"memorySize": 256})
QUEUE = ("aws:sqs/queue:Queue", {})
ON_DEMAND = ("aws:dynamodb/table:Table", {"billingMode": "PAY_PER_REQUEST"})
CAPACITY = ("aws:dynamodb/table:Table", {"billingMode": "PROVISIONED", "readCapacity": 500})
RUN_L4 = {
    "location": "us-central1",
    "template": {
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "4", "memory": "16Gi"}}}],
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "scaling": {"minInstanceCount": 0, "maxInstanceCount": 3},
    },
}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"a": GPU}, {"f": FUNCTION}, "/month + use ("),
        ({"f": FUNCTION}, {"a": GPU}, "/month - use ("),
        ({"a": GPU, "q": QUEUE}, {"f": FUNCTION}, "/month +/- use ("),
        ({}, {"q": QUEUE}, "+$0/month + use ($0 -> $0 + use expected)"),
        ({"a": GPU}, {"svc": ("gcp:cloudrunv2/service:Service", RUN_L4)}, "/month + use ("),
        # what had no price and is billed by use now may cost more or less
        ({"t": CAPACITY}, {"t": ON_DEMAND}, "an increase or a decrease in what has none"),
        ({"f": FUNCTION}, {"f": FUNCTION}, "Run-rate unchanged at $0/month expected"),
    ],
)
def test_what_is_billed_by_use_is_no_zero_in_a_change(before, after, says):
    found = preview(before, after)
    assert says in text.headline(found)
    for rendered in (terminal.render(found), markdown.render(found)):
        assert "no charge" not in rendered
        assert "billed by use" in rendered or before == after or "svc" in after


def test_a_program_that_is_billed_by_use_alone_is_not_headed_as_nothing():
    plan = Plan(project="p", stack="dev", resources=(resource("f", FUNCTION),), config={"aws:region": "us-east-1"})
    stack = compare("dev", None, Side(plan=plan, pricing=price(plan, load(), on=ON)))
    found = assemble([stack], on=ON, provenance=Provenance())
    assert text.headline(found) == "Run-rate $0/month expected + use"
    assert "Run-rate unchanged at $0/month expected + use" in text.headline(preview({"f": FUNCTION}, {"f": FUNCTION}))


def provider(folder: str, nodes: int) -> tuple[str, dict[str, object]]:
    """A dynamic resource with the code of its provider, as the SDK sends it."""
    code = base64.b64encode(pickle.dumps([f"/{folder}/__main__.py", "create", nodes])).decode()
    return "pulumi-python:dynamic:Resource", {"x": 1, "__provider": code}


def test_other_code_of_a_dynamic_provider_is_a_change_that_nobody_knows():
    moved = preview({"a": provider("base", 1)}, {"a": provider("somewhere/else", 1)})
    assert "unchanged" in text.headline(moved)
    changed = preview({"a": provider("base", 1)}, {"a": provider("base", 64)})
    assert "change not known" in text.headline(changed)
    assert "the code of its provider: changed" in terminal.render(changed)


STACK = "aws:cloudformation/stack:Stack"


@pytest.mark.parametrize(
    ("kind", "known"),
    [({"Fn::Sub": "${Size}.xlarge"}, True), ({"Fn::ImportValue": {"Fn::Sub": "size-${Size}"}}, False)],
)
def test_a_changed_parameter_of_a_template_is_never_called_unchanged(tmp_path, kind, known):
    body = json.dumps({
        "Parameters": {"Size": {"Type": "String"}},
        "Resources": {"Box": {"Type": "AWS::EC2::Instance", "Properties": {"InstanceType": kind}}},
    })  # fmt: skip
    sides = []
    for size in ("g5", "g6e"):
        stack = resource("s", (STACK, {"templateBody": body, "parameters": {"Size": size}}))
        plan = Plan(project="p", stack="dev", resources=(stack,), config={"aws:region": "us-east-1"})
        sides.append(expanded(plan, tmp_path))
    same = preview_of(sides[0], sides[0])
    changed = preview_of(*sides)
    assert "unchanged" in text.headline(same)
    assert ("change not known" in text.headline(changed)) is not known
    assert "unchanged" not in text.headline(changed)


def test_what_a_changed_template_makes_is_unchanged_where_all_of_it_is_known(tmp_path):
    sides = []
    for team in ("a", "b"):
        body = json.dumps({"Resources": {
            "Notice": {"Type": "AWS::SNS::Topic", "Properties": {"Tags": [{"Key": "team", "Value": team}]}},
            "Field": {"Type": "AWS::QuantumThing::Field", "Properties": {"Size": 8}},
        }})  # fmt: skip
        stack = resource("s", (STACK, {"templateBody": body}))
        plan = Plan(project="p", stack="dev", resources=(stack,), config={"aws:region": "us-east-1"})
        sides.append(expanded(plan, tmp_path))
    assert "unchanged" in text.headline(preview_of(*sides))
