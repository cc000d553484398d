"""Budgets and the hard end of a stack: what they make, what they refuse, what the end really does."""

import json
import subprocess
import sys

import pytest
from aws_recording import OWNED, PROD, check_right, golden, only, record, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws.limits import expiry
from sizewell.components.aws.limits.guards import BudgetAlarms, TtlGuard
from sizewell.components.tags import legal

BUDGET = {
    **OWNED,
    "region": "us-east-1",
    "stack": "dev-aws",
    "monthly_usd": 12000.0,
    "emails": ["ml-platform@example.com"],
}
PROD_BUDGET = {**PROD, "region": "us-east-1", "stack": "prod-aws", "monthly_usd": 90000, "activate_tag": True}
TTL = {
    "environment": "dev",
    "owner": "ml-platform",
    "region": "us-east-1",
    "stack": "dev-aws",
    "ends": "2026-09-22",
}


@pytest.mark.parametrize(
    ("form", "cls", "args", "stack"),
    [
        ("budget-dev", BudgetAlarms, BUDGET, "dev-aws"),
        ("budget-prod", BudgetAlarms, PROD_BUDGET, "prod-aws"),
        ("ttl-dev", TtlGuard, TTL, "staging-aws"),
        (
            "ttl-prod",
            TtlGuard,
            {**PROD, "region": "us-east-1", "stack": "prod-aws", "ends": "2027-06-30", "firm": True},
            "ttl-prod-aws",
        ),
    ],
)
def test_makes_what_is_written_down(form, cls, args, stack):
    resources = record(lambda: cls("limits", args), stack=stack)
    check_right(resources)
    golden(form, resources)


def test_costs_are_counted_by_the_stack_s_tag():
    resources = record(lambda: BudgetAlarms("limits", BUDGET))
    budget = only(resources, "aws:budgets/budget:Budget").inputs
    assert budget["costFilters"] == [{"name": "TagKeyValue", "values": ["user:sizewell-stack$dev-aws"]}]
    told = {(one["notificationType"], one["threshold"]) for one in budget["notifications"]}
    assert told == {("ACTUAL", 50.0), ("ACTUAL", 80.0), ("ACTUAL", 100.0), ("FORECASTED", 100.0)}
    monitor = only(resources, "aws:costexplorer/anomalyMonitor:AnomalyMonitor").inputs
    assert json.loads(monitor["monitorSpecification"])["Tags"]["Values"] == ["dev-aws"]


def test_an_end_that_is_not_firm_looks_once_a_day_and_may_stop_nothing():
    resources = record(lambda: TtlGuard("limits", TTL), "staging-aws")
    assert only(resources, "aws:scheduler/schedule:Schedule").inputs["scheduleExpression"] == "rate(1 days)"
    policy = json.loads(expiry.end_policy(region="us-east-1", project="petsnap", stack="staging-aws", firm=False))
    assert [statement["Sid"] for statement in policy["Statement"]] == ["Look", "NeverData"]


def test_a_firm_end_comes_at_the_date_and_every_hour_after_it():
    firm = {**TTL, "firm": True}
    schedule = only(record(lambda: TtlGuard("limits", firm), "staging-aws"), "aws:scheduler/schedule:Schedule").inputs
    assert schedule["startDate"] == "2026-09-22T00:00:00Z"
    assert schedule["scheduleExpression"] == "rate(1 hours)"
    assert "endDate" not in schedule
    assert schedule["target"]["arn"].endswith("aws-sdk:ssm:startAutomationExecution")


@pytest.mark.parametrize(
    ("cls", "args", "change", "path", "sentence"),
    [
        (BudgetAlarms, BUDGET, {"monthly_usd": 0}, "monthly_usd", "must be over 0, got 0"),
        (BudgetAlarms, BUDGET, {"anomaly_usd": -1}, "anomaly_usd", "must be over 0, got -1"),
        (BudgetAlarms, BUDGET, {"emails": ["nobody"]}, "emails[0]", "must be an e-mail address, got 'nobody'"),
        (BudgetAlarms, BUDGET, {"emails": ["a@b.cc"] * 11}, "emails", "are 11; AWS Budgets allows 10"),
        (BudgetAlarms, BUDGET, {"stack": ""}, "stack", "is empty"),
        (TtlGuard, TTL, {"ends": "tomorrow"}, "ends", "must be an ISO date (2026-12-31), got 'tomorrow'"),
        (TtlGuard, TTL, {"expires": "2026-09-22"}, "expires", "the guard has to outlive its stack"),
        (TtlGuard, TTL, {"region": "us-east"}, "region", "must be an AWS region"),
        (TtlGuard, TTL, {"ttl": "21d"}, "ttl", "is an unknown argument"),
    ],
)
def test_refuses(cls, args, change, path, sentence):
    found = {(fault[0], fault[1]) for fault in _refused_in("ttl-dev-aws", cls, {**args, **change})}
    assert any(at == path and sentence in text for at, text in found), found


def test_a_guard_never_stands_in_the_stack_that_it_ends():
    found = _refused_in("dev-aws", TtlGuard, TTL)
    assert any(at == "stack" and "must be a stack other than the guard's own (dev-aws)" in text for at, text in found)


def _refused_in(stack, cls, args):
    import pulumi

    found = set()
    original = pulumi.get_stack
    pulumi.get_stack = lambda: stack
    try:
        found = refusals(cls, args)
    finally:
        pulumi.get_stack = original
    return found


@given(st.text(min_size=1, max_size=80))
def test_the_hand_reaches_only_what_has_the_stack_s_tag_and_never_data(stack):
    statements = json.loads(expiry.end_policy(region="us-east-1", project="petsnap", stack=stack))["Statement"]
    by_name = {one["Sid"]: one for one in statements}
    tags = {"aws:ResourceTag/sizewell-project": "petsnap", "aws:ResourceTag/sizewell-stack": legal(stack)}
    assert by_name["ToZero"]["Condition"] == {"StringEquals": tags}
    assert {"s3:DeleteObject*", "kms:ScheduleKeyDeletion", "iam:*"} <= set(by_name["NeverData"]["Action"])
    allowed = {action for one in statements if one["Effect"] == "Allow" for action in one["Action"]}
    assert not {action for action in allowed if action.startswith(("s3:", "kms:", "iam:", "fsx:"))}


def test_the_script_is_python_that_the_automation_has():
    done = subprocess.run(
        [sys.executable, "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 11))"],
        input=expiry.END_SCRIPT,
        text=True,
        check=False,
    )
    assert done.returncode == 0


def test_an_end_that_fails_or_never_starts_is_heard_of():
    """Each part of the way: the rule that waits for failed runs, its pattern, the queue's alarm, where both lead."""
    resources = record(lambda: TtlGuard("x", TTL), stack="ttl-dev-aws")
    document = next(one for one in resources if one.type == "aws:ssm/document:Document").inputs["name"]
    rule = only(resources, "aws:cloudwatch/eventRule:EventRule").inputs
    assert rule.get("state", "ENABLED") == "ENABLED"
    assert json.loads(rule["eventPattern"]) == {
        "source": ["aws.ssm"],
        "detail-type": ["EC2 Automation Execution Status-change Notification"],
        "detail": {"Definition": [document], "Status": ["Failed", "TimedOut", "Cancelled"]},
    }
    alarm = only(resources, "aws:cloudwatch/metricAlarm:MetricAlarm").inputs
    assert (alarm["metricName"], alarm["comparisonOperator"], alarm["threshold"]) == (
        "ApproximateNumberOfMessagesVisible",
        "GreaterThanThreshold",
        0.0,
    )
    assert alarm["treatMissingData"] == "notBreaching"  # an empty queue reports nothing, and nothing is lost
    assert alarm["alarmActions"]
    assert alarm.get("actionsEnabled", True) is True
