"""Nothing passes by accident: unknown values, broken rules, waivers that no longer hold."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.policy.config import DEFAULT_FILE, Config, parse_config, read_config, schema
from sizewell.policy.engine import evaluate
from sizewell.policy.examples import pool, resource, stack
from sizewell.policy.rule import Rule, Undetermined, Violation
from sizewell.policy.rule import rule as declare
from sizewell.policy.rules import RULES
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.errors import ConfigError

ON = date(2026, 11, 21)
BOX = resource("aws:ec2/instance:Instance", "box")
FACTS = stack(BOX, pools=(pool(name="box", accelerator="l4", nodes_min=1),))


def rule(judge: Any, **fields: Any) -> Rule:
    values: dict[str, Any] = {"id": "idle-exposure", "area": "spend", "subject": "pools", "prevents": "waste"}
    values["module"] = "sizewell.policy.rules.idleness"
    return Rule(**{**values, **fields}, judge=judge)


def broken(*_: Any) -> None:
    raise ZeroDivisionError("division by zero")


def test_a_rule_that_raises_is_its_own_fault_and_failed() -> None:
    report = evaluate(FACTS, Config(), on=ON, rules=[rule(broken)])
    assert [(r.outcome, r.level) for r in report.results] == [("error", "mandatory")]
    assert "the rule itself failed (ZeroDivisionError: division by zero)" in report.results[0].message
    assert "policy/rules/idleness.py" in report.results[0].fix
    assert not report.ok


def test_a_rule_that_raises_late_in_a_stack_counts_nothing_as_passed() -> None:
    def late(*_: Any) -> Any:
        yield "", None
        raise ValueError("late")

    report = evaluate(FACTS, Config(), on=ON, rules=[rule(late, subject="stack")])
    assert report.passed == 0
    assert [r.outcome for r in report.results] == ["error"]


def test_a_rule_that_touches_an_unknown_as_a_truth_value_fails_and_does_not_pass() -> None:
    unknown = stack(pools=(pool(accelerator="l4", nodes_min=UNKNOWN),))
    report = evaluate(
        unknown, Config(), on=ON, rules=[rule(lambda p, _: Violation("burns", "stop it") if p.nodes_min else None)]
    )
    assert [r.outcome for r in report.results] == ["error"]


def test_undetermined_fails_at_the_rules_level() -> None:
    report = evaluate(FACTS, Config(), on=ON, rules=[rule(lambda *_: Undetermined("the size"))])
    assert [(r.outcome, r.level, r.message) for r in report.results] == [
        ("undetermined", "mandatory", "cannot be checked before the size is known")
    ]
    assert not report.ok


def test_a_configuration_may_let_an_undetermined_result_warn() -> None:
    settings = parse_config({"undetermined": {"idle-exposure": "advisory"}})
    report = evaluate(FACTS, settings, on=ON, rules=[rule(lambda *_: Undetermined("the size"))])
    assert [(r.outcome, r.level) for r in report.results] == [("undetermined", "advisory")]
    assert report.results[0].fix == "set it in the program, or let `pulumi up` check it once the cloud has answered"
    assert report.ok


def test_something_that_is_no_verdict_is_an_error() -> None:
    report = evaluate(FACTS, Config(), on=ON, rules=[rule(lambda *_: True)])
    assert report.results[0].outcome == "error"


def test_levels_by_environment() -> None:
    settings = parse_config({"levels": {"idle-exposure": {"dev": "advisory", "prod": "mandatory"}}})
    bad = rule(lambda *_: Violation("burns", "stop it"))
    assert evaluate(FACTS, settings, on=ON, rules=[bad]).ok
    prod = stack(environment="prod", pools=FACTS.pools)
    assert not evaluate(prod, settings, on=ON, rules=[bad]).ok
    off = parse_config({"levels": {"idle-exposure": "disabled"}})
    assert evaluate(FACTS, off, on=ON, rules=[bad]).rules == 0


def waiver(**changes: Any) -> Config:
    entry = {"rule": "idle-exposure", "resource": "box", "reason": "demo on Friday", "expires": "2026-12-01", **changes}
    return parse_config({"waivers": [entry]})


BAD = rule(lambda *_: Violation("burns", "stop it"))


def test_what_a_file_does_not_say_of_undetermined_results_keeps_its_default():
    by_id = {rule.id: rule for rule in RULES}
    usual = read_config(DEFAULT_FILE)
    some = parse_config(
        {"levels": {"pass-role-open": "disabled"}, "undetermined": {"open-trust": {"prod": "mandatory"}}}
    )
    for rule in ("open-trust", "secret-in-script", "wildcard-permission"):
        assert some.level_undetermined(by_id[rule], "dev") == usual.level_undetermined(by_id[rule], "dev") == "advisory"
    assert some.level_undetermined(by_id["open-trust"], "prod") == "mandatory"
    assert some.level_undetermined(by_id["pass-role-open"], "dev") == "disabled"


@pytest.mark.parametrize("name", ["box", BOX.urn])
def test_a_waiver_holds_for_its_resource_with_its_reason(name: str) -> None:
    report = evaluate(FACTS, waiver(resource=name), on=ON, rules=[BAD])
    assert report.ok
    assert [r.reason for r in report.waived] == ["demo on Friday (until 2026-12-01)"]


def test_a_waiver_holds_on_its_last_day_and_fails_on_the_next() -> None:
    assert evaluate(FACTS, waiver(), on=date(2026, 12, 1), rules=[BAD]).ok
    report = evaluate(FACTS, waiver(), on=date(2026, 12, 2), rules=[BAD])
    assert [r.message for r in report.failed()] == [
        "burns",
        "the waiver of idle-exposure for box expired on 2026-12-01",
    ]


def test_a_waiver_that_lasts_too_long_does_not_hold_at_all() -> None:
    report = evaluate(FACTS, waiver(expires="2027-11-21"), on=ON, rules=[BAD])
    assert [r.message for r in report.failed()] == [
        "burns",
        (
            "the waiver of idle-exposure for box is valid until 2027-11-21: the last day may be 2027-05-20 at the "
            "latest, so the waiver does not apply"
        ),
    ]
    longer = replace(waiver(expires="2027-11-21"), waiver_days_max=365)
    assert evaluate(FACTS, longer, on=ON, rules=[BAD]).ok


def test_an_expired_waiver_fails_even_where_its_rule_passes() -> None:
    report = evaluate(FACTS, waiver(), on=date(2027, 1, 1), rules=[rule(lambda *_: None)])
    assert not report.ok


def test_a_waiver_for_a_resource_that_is_not_there_fails() -> None:
    report = evaluate(FACTS, waiver(resource="bxo"), on=ON, rules=[rule(lambda *_: None)])
    assert [r.message for r in report.failed()] == ["the waiver of idle-exposure names bxo, which is not in stack dev"]


def test_a_waiver_for_another_stack_is_left_alone() -> None:
    assert evaluate(FACTS, waiver(resource="elsewhere", stack="prod"), on=ON, rules=[rule(lambda *_: None)]).ok


def test_what_only_the_evaluator_sees_is_left_out_of_a_policy_process() -> None:
    hidden = rule(lambda *_: Violation("burns", "stop it"), evaluator_only=True)
    assert evaluate(FACTS, Config(), on=ON, rules=[hidden], evaluator=False).ok


WRONG = {
    "not a mapping": ([], "must be a mapping"),
    "unknown section": ({"level": {}}, "unknown section\n  fix: did you mean levels?"),
    "unknown rule": ({"levels": {"idle-exposur": "advisory"}}, "did you mean idle-exposure?"),
    "unknown level": ({"levels": {"idle-exposure": "warn"}}, "must be mandatory | advisory | disabled, got 'warn'"),
    "unknown environment": (
        {"levels": {"idle-exposure": {"production": "advisory"}}},
        "unknown environment\n  fix: one of dev, staging, prod",
    ),
    "levels as a list": ({"levels": ["idle-exposure"]}, "levels: must be a mapping"),
    "unknown parameter": ({"parameters": {"group-maximum": {"node": 4}}}, "did you mean nodes?"),
    "parameter of a wrong type": ({"parameters": {"group-maximum": {"nodes": "many"}}}, "a whole number"),
    "parameter below its minimum": ({"parameters": {"group-maximum": {"nodes": 0}}}, "at least 1, got 0"),
    "a flag for a number": ({"parameters": {"group-maximum": {"nodes": True}}}, "a whole number"),
    "parameter of a rule that has none": ({"parameters": {"idle-exposure": {"x": 1}}}, "unknown parameter"),
    "parameters as a number": ({"parameters": {"group-maximum": 4}}, "must be a mapping"),
    "waivers as a mapping": ({"waivers": {"rule": "x"}}, "waivers: must be a list"),
    "waiver without a reason": (
        {"waivers": [{"rule": "idle-exposure", "resource": "x", "expires": "2027-01-01"}]},
        "waivers[0].reason: must be a non-empty text",
    ),
    "waiver without an end": (
        {"waivers": [{"rule": "idle-exposure", "resource": "x", "reason": "moved by hand in May"}]},
        "waivers[0].expires: must be a date",
    ),
    "waiver that never ends": (
        {"waivers": [{"rule": "idle-exposure", "resource": "x", "reason": "moved by hand in May", "expires": "never"}]},
        "must be a date, YYYY-MM-DD, got 'never'",
    ),
    "waiver whose reason says nothing": (
        {
            "waivers": [
                {"rule": "idle-exposure", "resource": "x", "reason": "todo: mend this soon", "expires": "2027-01-01"}
            ]
        },
        (
            "waivers[0].reason: must be why this resource may violate the rule, in at least 3 words, got 'todo: mend "
            "this soon'"
        ),
    ),
    "waiver whose reason is a word": (
        {"waivers": [{"rule": "idle-exposure", "resource": "x", "reason": "approved", "expires": "2027-01-01"}]},
        "waivers[0].reason: must be why",
    ),
    "a longest waiver of no days": (
        {"waiver_days_max": 0},
        "waiver_days_max: must be a whole number, at least 1, got 0",
    ),
    "waiver of an unknown rule": (
        {"waivers": [{"rule": "idle", "resource": "x", "reason": "moved by hand in May", "expires": "2027-01-01"}]},
        "unknown rule",
    ),
    "waiver with an unknown key": (
        {
            "waivers": [
                {
                    "rule": "idle-exposure",
                    "resource": "x",
                    "reason": "moved by hand in May",
                    "expires": "2027-01-01",
                    "til": 1,
                }
            ]
        },
        "waivers[0].til: unknown key",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_configuration_names_itself_and_stops(name: str) -> None:
    data, words = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        parse_config(data, "policy.yaml")
    assert words in str(caught.value)
    assert str(caught.value).startswith("policy.yaml: 1 fault")
    assert caught.value.exit_code == 64


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"levels": {"nope": "advisory", "idle-exposure": "loud"}, "waivers": [{}]})
    assert len(caught.value.faults) == 6


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_config(tmp_path / "missing.yaml")
    broken_file = tmp_path / "broken.yaml"
    broken_file.write_text("levels: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml:1:10: is not valid YAML"):
        read_config(broken_file)


def test_the_shipped_configuration_is_right_and_matches_its_schema() -> None:
    import jsonschema

    path = Path(__file__).parents[2] / "policy" / "config.yaml"
    read_config(path)
    text = path.read_text()
    jsonschema.validate(yaml.safe_load(text) or {}, schema())
    named = path.parent / text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert json.loads(named.read_text()) == schema(), "refresh: make generate"


@pytest.mark.parametrize(
    ("stated", "right"),
    [
        ({"levels": {"expired": "advisory", "idle-exposure": {"dev": "disabled", "prod": "mandatory"}}}, True),
        ({"undetermined": {"open-trust": "advisory"}}, True),
        ({"levels": {"expired": "off"}}, False),
        ({"levels": {"expired": {"production": "advisory"}}}, False),
        ({"undetermined": {"expird": "advisory"}}, False),
        ({"waivers": [{"rule": "expird", "resource": "a", "reason": "moved by hand", "expires": "2026-12-01"}]}, False),
    ],
)
def test_the_schema_takes_what_the_reader_takes(stated: dict[str, Any], right: bool) -> None:
    import jsonschema

    assert jsonschema.Draft202012Validator(schema()).is_valid(stated) is right
    if right:
        parse_config(stated)
        return
    with pytest.raises(ConfigError):
        parse_config(stated)


def test_the_guide_s_configuration_is_right() -> None:
    guide = Path(__file__).parents[2] / "docs" / "howto" / "set-the-policies.md"
    stated = parse_config(yaml.safe_load(guide.read_text().partition("```yaml\n")[2].partition("```")[0]))
    assert [each.stack for each in stated.waivers] == ["", "staging-aws"]


def test_every_rule_says_what_it_prevents_and_where_it_stands() -> None:
    for each in RULES:
        assert each.module.startswith("sizewell.policy.rules.")
        assert each.judge.__name__ == each.id.replace("-", "_"), "the function has the rule's name"
        assert ">>>" in (each.judge.__doc__ or ""), f"{each.id} has no example"
        assert each.prevents
        assert each.subject == "stack" or hasattr(FACTS, each.subject)
        for name, parameter in each.parameters.items():
            parse_config({"parameters": {each.id: {name: parameter.default}}})


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"expired: declared in .* and in sizewell\.policy\.rules\.ownership"
    ) as refused:
        declare("expired", area="ownership", subject="pools", prevents="waste")(broken)
    assert str(refused.value).endswith("rename one of them")
    assert {each.id for each in RULES if each.judge is broken} == set()


def test_a_subject_can_be_read_in_one_sitting() -> None:
    files = sorted((Path(__file__).parents[2] / "src/sizewell").glob("policy/rules/*.py"))
    assert {f"policy/rules/{path.name}" for path in files} == {each.file for each in RULES} | {
        "policy/rules/__init__.py"
    }
    assert [path.name for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 600] == []


def test_the_reference_lists_the_subjects_as_they_describe_themselves() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/policies.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \[([\w ]+)\]\(\.\./\.\./src/sizewell/policy/rules/(\w+)\.py\) \| (.*) \|$", page, re.MULTILINE
    )
    modules = sorted({each.module for each in RULES})
    described = {module.rsplit(".", 1)[-1]: str(sys.modules[module].__doc__).rstrip(".") for module in modules}
    assert [(title.replace(" ", "_"), text) for title, _, text in rows] == list(described.items())
    assert [name for _, name, _ in rows] == list(described)
