"""What a profile asks: everything, what nobody may decide otherwise, or what accelerators cost and risk."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from test_weaknesses import plan_of
from weak.rows import aws, k8s, ref

from sizewell.policy.config import Config, parse_config
from sizewell.policy.engine import evaluate
from sizewell.policy.rules import RULES
from sizewell.resources import facts, price
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ConfigError

ON = date(2026, 11, 21)
WEB = [  # of a web application: a public load balancer, a database, nothing that accelerates
    aws("ec2/SecurityGroup", "web", ingress=[{"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["0.0.0.0/0"]}]),
    aws("lb/LoadBalancer", "front", loadBalancerType="application", internal=False, subnets=["a", "b"]),
    aws("rds/Instance", "db", engine="postgres", instanceClass="db.t3.medium", allocatedStorage=100),
    aws("s3/Bucket", "assets", bucket="team-assets"),
    k8s("apps/v1:Deployment", "shop", spec={"replicas": 2, "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}),
]  # fmt: skip
GPU = [
    aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="g6e.12xlarge"),
    aws("autoscaling/Group", "gpu", minSize=1, maxSize=2, launchTemplate={"id": ref("lt"), "version": "1"}),
]


def judged(rows, profile):
    plan = plan_of(rows, "dev")
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON)
    return evaluate(stated, parse_config({"profile": profile}), on=ON).results


def test_a_web_application_is_no_business_of_the_accelerators():
    assert judged(WEB, "accelerators") == ()
    assert any(result.level == "mandatory" for result in judged(WEB, "strict"))


def test_of_a_mixed_stack_only_the_accelerators_are_judged():
    found = judged([*WEB, *GPU], "accelerators")
    assert "idle-exposure" in {result.rule for result in found if result.level == "mandatory"}
    assert {result.resource for result in found} <= {"gpu", ""}


def test_standard_advises_where_strict_refuses():
    levels = {
        profile: {(r.rule, r.urn): r.level for r in judged([*WEB, *GPU], profile)} for profile in ("standard", "strict")
    }
    assert levels["standard"].keys() == levels["strict"].keys()
    changed = {rule for (rule, urn), level in levels["strict"].items() if levels["standard"][rule, urn] != level}
    assert changed
    assert changed <= {rule.id for rule in RULES if rule.debatable}
    assert parse_config({}).profile == "standard"
    assert Config().profile == "strict"


def test_a_level_that_is_stated_wins_over_the_profile():
    config = parse_config({"levels": {"soft-delete": "mandatory"}})
    assert config.level(next(rule for rule in RULES if rule.id == "soft-delete"), "prod") == "mandatory"


def test_a_wrong_profile_says_which_there_are():
    with pytest.raises(ConfigError, match=r"profile.*accelerators \| standard \| strict"):
        parse_config({"profile": "lenient"})


def test_a_rule_that_is_debatable_refuses_somewhere():
    """Of a rule that only advises there is nothing to soften."""
    debatable = [rule for rule in RULES if rule.debatable]
    assert debatable
    for rule in debatable:
        assert "mandatory" in {rule.level_in(name) for name in ("dev", "staging", "prod")}, rule.id


def test_a_program_does_not_choose_its_environment():
    """Neither by a tag nor by an argument of a component: the stack's configuration and its name say it."""
    follows = aws(
        "autoscaling/Policy", "load", autoscalingGroupName=ref("gpu"), policyType="TargetTrackingScaling",
        targetTrackingConfiguration={"targetValue": 50, "predefinedMetricSpecification": {"predefinedMetricType": "x"}},
    )  # fmt: skip
    lt, group = GPU
    says_prod = {**group, "inputs": {**group["inputs"], "tags": [{"key": "environment", "value": "prod"}],
                                     "sizewell": {"kind": "pool", "name": "gpu", "environment": "prod"}}}  # fmt: skip

    def refused(stack, config=()):
        plan = plan_of([lt, says_prod, follows], stack)
        plan = replace(plan, config={**plan.config, **dict(config)})
        stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON)
        results = evaluate(stated, parse_config({}), on=ON).results
        assert stated.environment == stated.pools[0].environment
        return {each.rule for each in results if each.level == "mandatory"}

    assert {"idle-exposure", "minimum-above-zero-in-dev"} <= refused("dev")
    assert not {"idle-exposure", "minimum-above-zero-in-dev"} & refused("prod")
    assert {"idle-exposure", "minimum-above-zero-in-dev"} <= refused("prod", {"sizewell:environment": "dev"}.items())
