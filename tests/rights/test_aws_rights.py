"""Every AWS role of every stack and component may do what runs with it does, and nothing beside that.

Judged by AWS's service authorization reference and botocore's models; `aws_calls.py` reads the calls off what runs.
"""

import ast
import re

import pytest
from aws_calls import BY_A_PERSON, calls, roles
from aws_policies import denied, unneeded
from aws_reference import UnjudgedError
from judged_plans import ROOT, forms, stacks
from test_eks import POOL
from test_fleets import DEV

from sizewell.components.aws.eks.nodes import EksNodeGroup
from sizewell.components.aws.fleets.spot import SpotFleet
from sizewell.recording.evaluate import evaluate

pytestmark = pytest.mark.scan


@pytest.fixture(scope="module")
def every():
    """Roles of all plans; the same policies in the same component are judged once."""
    number = {"account": "123456789012"}
    plans = {**forms(), **{f"stack {plan.stack}": plan for plan in stacks()}}
    plans["pool, account known"] = evaluate(ROOT, "dev-aws", program=lambda: EksNodeGroup("chat", {**POOL, **number}))
    plans["fleet, account known"] = evaluate(ROOT, "dev-aws", program=lambda: SpotFleet("batch", {**DEV, **number}))
    found = {}
    for name, plan in plans.items():
        for role in roles(plan):
            found.setdefault((*role.kind, plan.stack, str(role.policies)), (name, role))
    return list(found.values())


# Their calls are played through, right by right, in test_aws_ends.py.
PLAYED = {("TtlGuard", "end")}


def test_every_call_is_allowed(every, capsys):
    refused, judged, unjudged = [], 0, []
    for name, role in every:
        if role.policies is None or role.kind in PLAYED:
            continue
        for call in calls(role):
            try:
                refused += [f"{name}: {role.kind}: {one} ({call.source})" for one in denied(role.policies, call)]
                judged += 1
            except UnjudgedError as error:
                unjudged.append(f"{name}: {role.kind}: {error}")
    with capsys.disabled():
        print(f"\nAWS: calls judged {judged}, not judged {len(unjudged)}")
    assert not refused, "\n".join(sorted(set(refused)))
    assert not unjudged, "\n".join(sorted(set(unjudged)))
    assert judged > 400


def test_without_any_one_right_some_call_is_refused(every, capsys):
    removed, idle = 0, []
    for _, role in every:
        if role.policies is None or role.kind in PLAYED or not role.policies:
            continue
        count, over = unneeded(role.policies, calls(role))
        removed += count
        idle += [f"{role.kind}: {right}" for right in over]
    with capsys.disabled():
        print(f"\nAWS: rights removed {removed}, refused without {removed - len(idle)}")
    assert not idle, "no call needs:\n" + "\n".join(sorted(set(idle)))


def test_every_kind_of_role_is_judged_in_some_form(every, capsys):
    """A policy that a preview does not know (an account nobody named) is judged in a form that knows it."""
    known = {role.kind for _, role in every if role.policies is not None}
    assert {role.kind for _, role in every} - known == set()
    managed = {role.kind for _, role in every if role.policies == ()}
    with capsys.disabled():
        print(f"\nAWS: kinds of roles {len(known)}, with AWS's own policies alone {len(managed)} (test_predefined.py)")
    silent = {role.kind for _, role in every if role.policies and role.kind not in PLAYED and not calls(role)}
    assert silent == set(), "nothing is known to run with these roles"


def test_only_pruning_deletes_and_nothing_that_runs_prunes():
    """What the judge passes over as a person's: deleted is in `prune` alone, and no command of ours calls that."""
    scripts = ROOT / "src/sizewell/launch/scripts"
    deleting = {
        function.name
        for path in scripts.glob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in BY_A_PERSON
    }
    assert deleting == {"prune"}
    calling = [
        path.name
        for path in (*scripts.glob("*.py"), *(ROOT / "src/sizewell/launch").glob("*.py"))
        if path.name != "checkpoint.py"
        and re.search(r"\bprune\(|checkpoint\.py prune", path.read_text(encoding="utf-8"))
    ]
    assert calling == []
