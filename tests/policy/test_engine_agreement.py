"""The real engine with the pack says of the plain programs, and of the pull-request cases, what the evaluator says.

Many programs stand in one stack, each under names of its own: a preview takes seconds, and there are hundreds of
programs. What they bring about together (a guard that names another program's pool, a stack's budget) is the same for
both; a program whose resources are judged differently among others than alone is previewed alone too.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_agreement import ALONE, suites
from test_weaknesses import CONFIG, STANDARD
from weak.rows import Ref

from sizewell.policy.engine import evaluate as judge
from sizewell.policy.expiring import expiries_of
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price
from sizewell.sizing.catalog import load

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PULLS = ROOT / "tests" / "preview" / "pulls"
PULLS_CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
OPTIONS = {"protect": "protect", "retainOnDelete": "retain_on_delete", "aliases": "aliases", "provider": "provider"}
TOGETHER = 40  # programs in one preview

pytestmark = [pytest.mark.engine, pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH")]

Finding = tuple[str, str, str, str]  # rule, resource's URN, message with its fix, level


@dataclass(frozen=True)
class Told:
    """A program as rows that plain_program.py registers."""

    name: str
    stack: str
    config: tuple[tuple[str, str], ...]
    rows: list[dict[str, Any]]


def programs() -> Iterator[Told]:
    for name, rows, stack in suites():
        made = []
        for row in rows:
            owner = {"tags": {"owner": "ml"}} if row["type"].startswith(("aws:", "azure")) else {}
            stated = {key: told(value) for key, value in row["inputs"].items() if value is not None}
            made.append({"type": row["type"], "name": row["name"], "inputs": {**owner, **stated}, "options": {}})
        yield Told(name, stack, tuple(sorted(CONFIG.items())), in_order(made))
    for path in sorted(PULLS.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")) if path.name != "prices.yaml" else ():
            for side, repeat in (("base", "base_repeat"), ("head", "repeat")):
                resources = dict(case[side])
                if again := case.get(repeat):
                    resources |= {f"each-{number}": again["resource"] for number in range(again["count"])}
                config = {**PULLS_CONFIG, **case.get("config", {}), **case.get(f"{side}_config", {})}
                made = [
                    {
                        "type": stated["type"],
                        "name": name,
                        "inputs": {
                            "type" if key == "type_" else key: told(value)
                            for key, value in stated.items()
                            if key not in ("type", "options")
                        },
                        "options": {OPTIONS[key]: value for key, value in stated.get("options", {}).items()},
                    }
                    for name, stated in resources.items()
                ]
                yield Told(f"pull {case['case']}, {side}", "dev", tuple(sorted(config.items())), in_order(made))


def told(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"$ref": value.name}
    if isinstance(value, str) and (match := re.fullmatch(r"\$\{(\w+)\}", value)):
        return {"$ref": match[1]}
    if isinstance(value, dict):
        return {key: told(part) for key, part in value.items()}
    return [told(part) for part in value] if isinstance(value, (list, tuple)) else value


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if set(value) == {"$ref"}:
            yield value["$ref"]
        else:
            for part in value.values():
                yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What others refer to comes before them, as a program has to write it."""
    named, ordered = {row["name"]: row for row in rows}, {}

    def place(row: dict[str, Any]) -> None:
        for name in (*references(row["inputs"]), *filter(None, [row["options"].get("provider")])):
            place(named[name])
        ordered.setdefault(row["name"], row)

    for row in rows:
        place(row)
    return list(ordered.values())


def beside_each_other(programs: Sequence[Told]) -> list[dict[str, Any]]:
    """The rows of many programs: each name begins with its program's number."""
    joined = []
    for number, program in enumerate(programs):
        names = {row["name"]: f"{number:03}-{row['name']}" for row in program.rows}

        def renamed(value: Any, names: dict[str, str] = names) -> Any:
            if isinstance(value, dict):
                if set(value) == {"$ref"}:
                    return {"$ref": names[value["$ref"]]}
                return {key: renamed(part) for key, part in value.items()}
            return [renamed(part) for part in value] if isinstance(value, list) else value

        for row in program.rows:
            options = dict(row["options"])
            if "provider" in options:
                options["provider"] = names[options["provider"]]
            stated = renamed(row["inputs"])
            joined.append({**row, "name": names[row["name"]], "inputs": stated, "options": options})
    return joined


class Judges:
    """A project of one program, which the engine with its pack and the evaluator judge."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(ROOT / "tests" / "engine"))
        try:
            import harness
        finally:
            sys.path.pop(0)
        work = folder / "project"
        work.mkdir(parents=True)
        (work / "Pulumi.yaml").write_text(
            "name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n", encoding="utf-8"
        )
        shutil.copy(HERE / "plain_program.py", work / "__main__.py")
        harness._virtual_environment(work / ".venv", warm=True)
        standard = folder / "policy.yaml"
        standard.write_text("profile: standard\n", encoding="utf-8")
        environment = {
            **harness.environment(folder),
            "SIZEWELL_STANDIN_TRUSTS": "1",  # the programs' weaknesses are ours to find
            "SIZEWELL_POLICY_CONFIG": str(standard),
            "SIZEWELL_PYTHON": sys.executable,
            "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true",
        }
        self.engine = harness.Engine(project=work, environment=environment, clouds=folder / "clouds")
        self.stacks: set[str] = set()

    def judge(self, programs: Sequence[Told]) -> tuple[set[Finding], set[Finding]]:
        """What the evaluator says and what the engine says of programs in one stack."""
        stack = self.write(beside_each_other(programs), programs)
        return self.by_the_evaluator(stack), self.by_the_engine(stack)

    def write(self, rows: list[dict[str, Any]], programs: Sequence[Told]) -> str:
        """Make these rows the project's program; the name of its stack."""
        stack, config = programs[0].stack, dict(programs[0].config)
        assert {(each.stack, each.config) for each in programs} == {(stack, programs[0].config)}
        work = self.engine.project
        (work / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        if stack not in self.stacks:
            self.engine.run("stack", "init", stack)
            self.stacks.add(stack)
        file = work / f"Pulumi.{stack}.yaml"
        settings = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(yaml.safe_dump({**settings, "config": config}), encoding="utf-8")
        return stack

    def by_the_engine(self, stack: str) -> set[Finding]:
        pack = str(ROOT / "policy")
        done = self.engine.run("preview", "-s", stack, "--json", "--policy-pack", pack, check=False)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert any("summaryEvent" in event for event in events), done.stdout[-3000:] + done.stderr[-3000:]
        said = [event["policyEvent"] for event in events if "policyEvent" in event]
        if "cost-total" not in {each["policyName"] for each in said}:
            spoken = [event["diagnosticEvent"] for event in events if "diagnosticEvent" in event]
            errors = [each["message"] for each in spoken if each["severity"] == "error"]
            raise AssertionError(f"the pack did not see the stack whole: {errors or done.stdout[-3000:]}")
        return {
            (
                each["policyName"],
                of_resource(each.get("resourceUrn", "")),
                each["message"].rstrip("\n"),
                each["enforcementLevel"],
            )
            for each in said
            if each["policyName"] != "cost-total"
        }

    def by_the_evaluator(self, stack: str) -> set[Finding]:
        today = datetime.now(UTC).date()  # a policy process reads the clock itself
        plan = evaluate(self.engine.project, stack)
        stated = facts(
            plan,
            load(),
            pricing=price(plan, load(), on=today),
            on=today,
            expiries=expiries_of(STANDARD, None, plan.stack, ""),
        )
        return {
            (each.rule, each.urn, f"{each.message}\nfix: {each.fix}", each.level)
            for each in judge(stated, STANDARD, on=today).results
            if each.rule not in ALONE
        }


def groups(programs: Sequence[Told]) -> Iterator[list[Told]]:
    alike: dict[tuple[Any, ...], list[Told]] = {}
    for each in programs:
        alike.setdefault((each.name.partition(" ")[0], each.stack, each.config), []).append(each)
    for many in alike.values():
        for start in range(0, len(many), TOGETHER):
            yield many[start : start + TOGETHER]


def of_resource(urn: str) -> str:
    """The engine hangs what is said of a whole stack on the stack's own resource."""
    return "" if "::pulumi:pulumi:Stack::" in urn else urn


def of_program(finding: Finding) -> int | None:
    match = re.match(r"(\d{3})-", finding[1].rpartition("::")[2])
    return int(match[1]) if match else None


def differing(evaluated: set[Finding], engine: set[Finding]) -> tuple[list[Finding], list[Finding]]:
    return sorted(evaluated - engine), sorted(engine - evaluated)


def test_a_sample_is_judged_alike(tmp_path: Path) -> None:
    sample = [each for each in programs() if each.stack == "prod"][::30]
    evaluated, engine = Judges(tmp_path).judge(sample)
    assert {each.name.partition(" ")[0] for each in sample} == {"weak", "mended", "sound"}
    assert len({of_program(finding) for finding in evaluated}) > len(sample) / 2, "most of them have findings"
    assert differing(evaluated, engine) == ([], [])


@pytest.mark.soak
def test_every_program_is_judged_alike(tmp_path: Path) -> None:
    """All suites, and both sides of the pull-request cases; whose resources are judged differently alone, alone too."""
    judges, wrong, count, found, again = Judges(tmp_path), {}, 0, 0, 0
    for group in groups(list(programs())):
        evaluated, engine = judges.judge(group)
        count, found = count + len(group), found + len(evaluated)
        if evaluated != engine:
            wrong[f"{group[0].name} and {len(group) - 1} more"] = differing(evaluated, engine)
        joined = beside_each_other(group)
        for number, program in enumerate(group):
            rows = [row for row in joined if row["name"].startswith(f"{number:03}-")]
            stack = judges.write(rows, group)
            alone = judges.by_the_evaluator(stack)
            resources = {finding for finding in alone if of_program(finding) is not None}
            if resources == {finding for finding in evaluated if of_program(finding) == number}:
                continue
            again += 1
            if alone != (engine := judges.by_the_engine(stack)):
                wrong[f"{program.name}, alone"] = differing(alone, engine)
    print(f"{count} programs, {found} findings in groups, {again} programs alone as well, {len(wrong)} differ")
    assert wrong == {}
