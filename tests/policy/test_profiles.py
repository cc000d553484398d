"""What a profile asks: everything, what nobody may decide otherwise, or what accelerators cost and risk."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from ends import EXPIRIES
from test_weaknesses import plan_of
from weak.rows import aws, k8s, ref

from sizewell.policy.config import Config, parse_config
from sizewell.policy.engine import evaluate
from sizewell.policy.rules import RULES
from sizewell.resources import facts, price
from sizewell.resources.recorded import Hidden
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


def report_of(rows, profile, hidden=()):
    plan = replace(plan_of(rows, "dev"), hidden=tuple(hidden))
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    return evaluate(stated, parse_config({"profile": profile} if profile else {}), on=ON)


def judged(rows, profile):
    return report_of(rows, profile).results


def test_a_web_application_passes_by_default_and_is_told_why():
    report = report_of(WEB, "")
    assert report.ok
    assert report.results == ()
    assert report.accelerators is False
    assert report.summary().startswith(f"nothing here runs an accelerator; {len(report.elsewhere)} findings")
    assert {each.rule for each in report.elsewhere} == {each.rule for each in judged(WEB, "standard")}
    assert any(result.level == "mandatory" for result in judged(WEB, "strict"))


def test_of_a_mixed_stack_accelerators_and_what_surrounds_them_are_judged():
    shell = aws("ec2/SecurityGroup", "shell", ingress=[{"protocol": "tcp", "fromPort": 22, "toPort": 22, "cidrBlocks": ["0.0.0.0/0"]}])  # fmt: skip
    public = aws("s3/BucketPolicy", "open", bucket="team-assets", policy='{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"*"}]}')  # fmt: skip
    admin = aws("iam/RolePolicyAttachment", "admin", role="r", policyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    report = report_of([*WEB, *GPU, shell, public, admin], "")
    refused = {(result.rule, result.resource) for result in report.results if result.level == "mandatory"}
    assert {
        ("idle-exposure", "gpu"),
        ("ingress-from-world", "shell"),
        ("bucket-policy-open", "open"),
        ("administrator-role", "admin"),
    } <= refused
    assert not {"db", "front", "shop"} & {result.resource for result in report.results}
    assert {"db"} <= {result.resource for result in report.elsewhere}
    assert report_of([*WEB, shell, public, admin], "").ok, "without accelerators they are a web application's business"


@pytest.mark.parametrize(
    "rows",
    [
        [aws("ec2/Instance", "box", ami="ami-1", instanceType=ref("other"))],
        [aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType=ref("other")), GPU[1]],
    ],
)
def test_a_machine_type_that_nobody_knows_yet_is_not_green_in_silence(rows):
    report = report_of([*rows, aws("ec2/Eip", "other")], "")
    assert report.ok
    assert "it is not known whether anything here runs an accelerator" in report.summary()
    assert [(each.rule, each.outcome) for each in report.results] == [("not-judged", "undetermined")]


def test_what_a_plan_does_not_show_is_listed_by_name_in_every_profile():
    hidden = [Hidden(name="shop", what="Helm chart", may_hide="pods", why="it is in a repository", fix="pull it")]
    for profile in ("", "standard", "strict"):
        (found,) = report_of(WEB, profile, hidden).not_judged
        assert (found.level, found.outcome) == ("advisory", "undetermined")
        assert found.sentence() == "shop: Helm chart may bring pods: it is in a repository\n  fix: pull it"


def test_a_store_of_checkpoints_alone_is_judged():
    store = aws("s3/Bucket", "checkpoints", bucket="team-checkpoints", forceDestroy=True)
    assert "nothing here" not in report_of([store], "").summary()
    assert not report_of([store], "").ok


def test_standard_advises_where_strict_refuses():
    levels = {
        profile: {(r.rule, r.urn): r.level for r in judged([*WEB, *GPU], profile)} for profile in ("standard", "strict")
    }
    assert levels["standard"].keys() == levels["strict"].keys()
    changed = {rule for (rule, urn), level in levels["strict"].items() if levels["standard"][rule, urn] != level}
    assert changed
    assert changed <= {rule.id for rule in RULES if rule.debatable}
    assert parse_config({}).profile == "accelerators"
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
        stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
        results = evaluate(stated, parse_config({}), on=ON).results
        assert stated.environment == stated.pools[0].environment
        return {each.rule for each in results if each.level == "mandatory"}

    assert {"idle-exposure", "minimum-above-zero-in-dev"} <= refused("dev")
    assert not {"idle-exposure", "minimum-above-zero-in-dev"} & refused("prod")
    assert {"idle-exposure", "minimum-above-zero-in-dev"} <= refused("prod", {"sizewell:environment": "dev"}.items())
