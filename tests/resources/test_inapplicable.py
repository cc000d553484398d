"""What does not apply to a resource is a value of its own: no rule takes it for a yes, and none for a no."""

from __future__ import annotations

import pytest

from sizewell.policy.examples import cluster, job
from sizewell.policy.rule import Violation, require
from sizewell.policy.rules.services import job_isolated
from sizewell.policy.rules.spot import managed_spot_job
from sizewell.resources import Plan, RecordedResource, facts
from sizewell.resources.recorded import INAPPLICABLE


def test_it_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(INAPPLICABLE)
    assert INAPPLICABLE is not True
    assert require(INAPPLICABLE, message="m", fix="f", unknown="u") is None
    assert isinstance(require(False, message="m", fix="f", unknown="u"), Violation)


def test_a_batch_job_has_no_isolation_of_its_own() -> None:
    definition = RecordedResource(
        urn="urn:pulumi:dev::p::aws:batch/jobDefinition:JobDefinition::train",
        type="aws:batch/jobDefinition:JobDefinition",
        name="train",
        inputs={"containerProperties": '{"resourceRequirements": [{"type": "GPU", "value": "1"}]}'},
    )
    (made,) = facts(Plan(project="p", stack="dev", resources=(definition,)), None).jobs
    assert (made.isolated, made.checkpoint, made.own_key) == (INAPPLICABLE, INAPPLICABLE, INAPPLICABLE)
    assert job_isolated(made, {}) is None


def test_the_rules_let_it_pass_and_refuse_a_no() -> None:
    spot = {"spot": True, "run_seconds_max": 10, "wait_seconds_max": 20}
    assert managed_spot_job(job(**spot, checkpoint=INAPPLICABLE), {}) is None
    assert isinstance(managed_spot_job(job(**spot, checkpoint=False), {}), Violation)
    assert isinstance(job_isolated(job(isolated=False), {}), Violation)
    assert cluster(deletion_protection=INAPPLICABLE).deletion_protection is INAPPLICABLE
