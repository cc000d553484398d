"""`sizewell:notify` makes receivers on every cloud, wherever something tells of itself."""

import json
from decimal import Decimal

import pytest
from aws_recording import GUARD, OWNED, PLACE, ROOT, record
from decisions import by_stack

from sizewell.components.aws.fleets.spot import SpotFleet
from sizewell.components.aws.limits import guards as aws_guards
from sizewell.components.aws.nodes import GpuNodeGroup
from sizewell.components.azure.limits import guards as azure_guards
from sizewell.components.gcp.limits import guards as gcp_guards
from sizewell.components.notify import check_notify, unheard
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.records.budget import MONTHLY

NOTIFY = {
    "emails": ["ml@example.com"],
    "webhooks": ["https://relay.example.com/hook"],
    "pagerduty": ["0123456789abcdef0123456789abcdef"],
}
CONFIG = {"sizewell:notify": json.dumps(NOTIFY)}
WHO = {"environment": "dev", "owner": "ml-platform"}
TTL = {**WHO, "stack": "dev-x", "ends": "2026-09-22"}
MONEY = {**OWNED, "stack": "dev-x", "monthly_usd": 1000.0}
POOL = {**OWNED, **PLACE, "guard": GUARD, "disk_gib": 200, "nodes_initial": 1, "nodes_max": 2}
FLEET = {**POOL, "instance_types": ["g6.xlarge", "g5.xlarge"]}
GROUP = {**POOL, "instance_type": "g6.xlarge", "capacity_mode": "on-demand", "nodes_min": 0}
CASES = {
    "aws budget": lambda: aws_guards.BudgetAlarms("x", {**MONEY, "region": "us-east-1"}),
    "aws expiry": lambda: aws_guards.TtlGuard("x", {**TTL, "region": "us-east-1"}),
    "aws fleet": lambda: SpotFleet("x", FLEET),
    "aws machines": lambda: GpuNodeGroup("x", GROUP),
    "gcp budget": lambda: gcp_guards.BudgetAlarms(
        "x", {**MONEY, "region": "us-central1", "project": "petsnap", "billing_account": "01ABCD-234567-89EF01"}
    ),
    "gcp expiry": lambda: gcp_guards.TtlGuard("x", {**TTL, "region": "us-central1", "project": "petsnap"}),
    "azure budget": lambda: azure_guards.BudgetAlarms("x", {**MONEY, "region": "eastus", "starts": "2026-09-01"}),
    "azure expiry": lambda: azure_guards.TtlGuard("x", {**TTL, "region": "eastus", "target": "group"}),
}


@pytest.mark.parametrize(
    ("ends", "firm", "warned"), [("2026-09-22", True, 1), ("2026-09-22", False, 0), ("2099-01-01", True, 0)]
)
@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_a_firm_end_that_has_passed_is_said_before_it_stops_the_stack(cloud, ends, firm, warned, monkeypatch):
    said = []
    monkeypatch.setattr("pulumi.log.warn", lambda text, *_, **__: said.append(text))
    monkeypatch.setitem(TTL, "ends", ends)
    monkeypatch.setitem(TTL, "firm", firm)
    record(CASES[f"{cloud} expiry"])
    assert len([text for text in said if "dev-x is scaled to zero as soon as this is up" in text]) == warned


def told(resources):
    """Kinds of receivers that some resource has, by what the cloud calls them."""
    found = []
    for one in resources:
        kind = one.type.rpartition(":")[2]
        if kind == "TopicSubscription":
            found.append(one.inputs["protocol"])
        elif kind == "NotificationChannel":
            found.append(one.inputs["type"])
        elif kind == "ActionGroup":
            found += ["email" for _ in one.inputs.get("emailReceivers", ())]
            found += ["https" for _ in one.inputs.get("webhookReceivers", ())]
    return sorted(found)


def block(answers):
    """What a bought block names as its offering, and what was asked of AWS."""
    machines = {**GROUP, "instance_type": "p5.48xlarge", "zones": ["us-east-1a"], "capacity_mode": "capacity-block"}
    machines |= {"capacity_block": {"purchase": "confirmed", "duration_hours": 72, "max_price_usd": 9100.0}}
    machines["guard"] = {**GUARD, "action": "notify"}
    plan = evaluate(ROOT, "dev-aws", program=lambda: GpuNodeGroup("x", machines), answers=answers)
    (one,) = [one for one in plan.resources if one.type.endswith(":CapacityBlockReservation")]
    return one.inputs["capacityBlockOfferingId"]


OFFERING = "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering"
TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"


def test_a_block_is_asked_for_once_and_never_bought_twice():
    offer = {"capacityBlockOfferingId": "cb-1", "upfrontFee": "9000", "availabilityZone": "us-east-1a"}
    nothing = {"resourceTagMappingLists": []}
    bought = {"resourceTagMappingLists": [{"resourceArn": "arn:aws:ec2:us-east-1:1:capacity-reservation/cr-1"}]}
    assert block({TAGGED: nothing, OFFERING: offer}) == "cb-1"
    dearer = {**offer, "upfrontFee": "99000", "availabilityZone": "us-east-1b"}
    assert block({TAGGED: bought, OFFERING: dearer}) == "bought-already"  # no second offering is looked at


def test_a_stack_that_tells_nobody_says_so(monkeypatch):
    decision = by_stack("dev-aws")
    monkeypatch.setattr("sizewell.components.notify.receivers", dict)
    assert "an expiry that fails" in unheard(decision, "ttl")
    assert "sizewell:notify is empty" in unheard(decision)
    assert unheard(decision, "checkpoints") == ""
    monkeypatch.setattr("sizewell.components.notify.receivers", lambda: {"emails": ["ml@example.com"]})
    assert unheard(decision) == ""


@pytest.mark.parametrize(
    ("cloud", "notify", "sentence"),
    [
        ("gcp", {"pagerduty": NOTIFY["pagerduty"]}, "which budgets of Google Cloud do not support"),
        ("gcp", {"pagerduty": NOTIFY["pagerduty"], "webhooks": NOTIFY["webhooks"]}, ""),
        ("gcp", {"emails": [f"{name}@example.com" for name in "abcdef"]}, "f@example.com does not hear of it"),
        ("gcp", {"emails": [f"{name}@example.com" for name in "abcde"]}, ""),
        ("aws", {"pagerduty": NOTIFY["pagerduty"]}, ""),
        ("azure", {"pagerduty": NOTIFY["pagerduty"]}, ""),
    ],
)
def test_receivers_that_a_budget_does_not_reach_are_said(monkeypatch, cloud, notify, sentence):
    """PagerDuty takes the messages of AWS's topics and Azure's action groups; Google Cloud's budgets post to none."""
    decision = by_stack(f"dev-{cloud}")
    workloads = tuple(one.model_copy(update={"budget": {MONTHLY: Decimal(1000)}}) for one in decision.workloads)
    decision = decision.model_copy(update={"workloads": workloads})
    monkeypatch.setattr("sizewell.components.notify.receivers", lambda: notify)
    said = unheard(decision)
    assert sentence in said
    assert bool(said) == bool(sentence)
    assert unheard(decision, "ttl") == ""


def test_a_budget_on_google_cloud_reaches_webhooks_too():
    """Its channels are e-mail alone: the topic's messages are pushed."""
    plan = evaluate(ROOT, "dev-gcp", program=CASES["gcp budget"], config=CONFIG)
    pushed = [one.inputs for one in plan.resources if one.type.endswith(":Subscription") and "pushConfig" in one.inputs]
    assert [one["pushConfig"]["noWrapper"]["writeMetadata"] for one in pushed] == [True]


@pytest.mark.parametrize("case", CASES)
def test_everybody_who_is_named_hears(case):
    wanted = {"aws": ["email", "https", "https"], "azure": ["email", "https", "https"]}
    wanted["gcp"] = ["email", "pagerduty", "pubsub", "webhook_tokenauth"]
    # a budget of Google Cloud takes e-mail channels alone; its topic has a subscription
    expected = ["email"] if case == "gcp budget" else wanted[case.partition(" ")[0]]
    assert told(record(CASES[case], stack="guards", config=CONFIG)) == expected
    silent = told(record(CASES[case], stack="guards"))
    assert silent == (["pubsub"] if case == "gcp expiry" else [])


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("gcp")])
def test_a_topic_of_google_cloud_keeps_its_notices(case):
    resources = record(CASES[case], stack="guards")
    topics = [one for one in resources if one.type == "gcp:pubsub/topic:Topic"]
    kept = [one for one in resources if one.type == "gcp:pubsub/subscription:Subscription"]
    assert len(kept) == len(topics) == 1
    assert kept[0].inputs["expirationPolicy"] == {"ttl": ""}


def test_addresses_that_open_a_door_are_secret():
    plan = evaluate(ROOT, "guards", program=CASES["aws expiry"], config=CONFIG)
    hooks = [one for one in plan.resources if one.inputs.get("protocol") == "https"]
    assert len(hooks) == 2
    assert all("endpoint" in str(one.secret_paths) for one in hooks)


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ([], "must be a mapping with emails, webhooks, pagerduty"),
        ({"emails": ["nobody"]}, "sizewell:notify.emails[0]: must be an e-mail address"),
        ({"emails": "ml@example.com"}, "sizewell:notify.emails: must be a list"),
        ({"webhooks": ["http://relay.example.com"]}, "sizewell:notify.webhooks[0]: must be an https address"),
        ({"pagerduty": ["short"]}, "sizewell:notify.pagerduty[0]: must be a PagerDuty integration key"),
        ({"slack": ["#ml"]}, "sizewell:notify.slack: is unknown; one of emails, webhooks, pagerduty"),
    ],
)
def test_a_receiver_that_cannot_be_reached_is_refused(stated, sentence):
    assert sentence in "\n".join(map(str, check_notify(stated)))
    assert check_notify(NOTIFY) == []
