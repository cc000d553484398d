"""Whoever opens a pull request does not change its judge: limits and policies are those of the base until approved."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from test_run import PROGRAM, Repository, git

from sizewell.cli.main import main
from sizewell.preview import pipeline
from sizewell.preview.base import merged_into
from sizewell.preview.records import PolicyFinding, PolicyReport

RULES = "policy/config.yaml"
LIMITS = "stacks/config/guardrails.yaml"


@pytest.fixture
def preview(tmp_path, monkeypatch, capsys):
    repository = Repository(tmp_path / "repo")
    monkeypatch.chdir(repository.root)
    (repository.root / "policy").mkdir()

    def run(*arguments):
        code = main(["preview", "--base", "HEAD", "--format", "json", "--on", "2026-10-01", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return repository, run


def failed(found):
    (stack,) = found["stacks"]
    return {each["policy"] for each in stack["policies"]["findings"] if each["level"] == "mandatory"}


def test_a_rule_that_the_change_switches_off_still_judges_it(preview):
    repository, run = preview
    repository.program("m6i.large", 100)
    repository.commit()
    repository.program("g6.xlarge", 100)
    (repository.root / RULES).write_text("levels: {idle-exposure: disabled}\n")
    code, found = run()
    assert code == 1
    assert "idle-exposure" in failed(found)
    assert any(RULES in line for line in found["judge"])
    assert not found["silent"]
    code, found = run("--unblock", "agreed in the meeting of the team")
    assert "idle-exposure" not in failed(found)
    row = f"{RULES}: level of idle-exposure: its own -> disabled (let pass: agreed in the meeting of the team)"
    assert row in found["judge"]


WAIVER = "{rule: idle-exposure, resource: gpu, reason: load test until Friday, expires: 2026-11-01}"


def test_each_change_of_the_judge_is_a_row(preview):
    repository, run = preview
    (repository.root / RULES).write_text("profile: strict\nlevels: {soft-delete: {prod: mandatory}}\n")
    (repository.root / LIMITS).write_text("increase: {percent: 20}\nbudgets: {dev: 900}\n")
    (repository.root / "catalog").mkdir()
    repository.commit()
    (repository.root / RULES).write_text(
        f"profile: accelerators\nparameters: {{group-maximum: {{nodes: 900}}}}\nwaivers: "
        f"[{WAIVER}]\nwaiver_days_max: 300\n"
    )
    (repository.root / LIMITS).write_text("increase: {percent: 90}\nbudgets: {dev: 90000}\n")
    (repository.root / "CODEOWNERS").write_text("/policy/ @mallory\n")
    workflows = repository.root / ".github/workflows"
    workflows.mkdir(parents=True)
    (workflows / "preview.yml").write_text("jobs: {preview: {steps: [{uses: acme/sizewell@0, with: {fail: false}}]}}\n")
    (workflows / "tests.yml").write_text("jobs: {}\n")
    _, found = run()
    later = "(the version of HEAD applies until this change is approved or merged)"
    assert found["judge"] == [
        f"{LIMITS}: increase.percent: 20 -> 90 {later}",
        f"{LIMITS}: budgets.dev: 900 -> 90000 {later}",
        f"{RULES}: profile: strict -> accelerators {later}",
        f"{RULES}: level of soft-delete in prod: mandatory -> its own {later}",
        f"{RULES}: nodes of group-maximum: its default -> 900 {later}",
        f"{RULES}: waiver added: idle-exposure for gpu until 2026-11-01: load test until Friday {later}",
        f"{RULES}: longest waiver: 180 -> 300 days {later}",
        ".github/workflows/preview.yml: changes what runs these checks or who owns them: it needs a human review",
        "CODEOWNERS: changes what runs these checks or who owns them: it needs a human review",
    ]


def test_limits_in_a_file_of_their_own_are_those_of_the_base_as_well(preview):
    repository, run = preview
    (repository.root / RULES).write_text("profile: accelerators\nlevels: {idle-exposure: disabled}\n")
    (repository.root / "limits.yaml").write_text("increase: {usd_per_month: 10}\n")
    repository.commit()
    repository.program("g6.xlarge", 5000)
    (repository.root / "limits.yaml").write_text("increase: {usd_per_month: 100000}\n")
    _, found = run("--guardrails", "limits.yaml")
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["10"]


def test_a_plan_is_judged_by_the_base_as_well(preview, capsys):
    repository, _ = preview
    plan = Path(__file__).parent / "fixtures/preview-change-sames.json"
    (repository.root / LIMITS).write_text("budgets: {total: 1}\n")
    repository.commit()
    (repository.root / LIMITS).write_text("budgets: {total: 1000000000}\n")
    main(["preview", "--plan", str(plan), "--judge", "HEAD", "--format", "json", "--on", "2026-10-01"])
    found = json.loads(capsys.readouterr().out)
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["1"]
    assert len(found["judge"]) == 1


def test_a_limit_that_the_change_lifts_still_holds(preview):
    repository, run = preview
    (repository.root / RULES).write_text("profile: accelerators\nlevels: {idle-exposure: disabled}\n")
    (repository.root / LIMITS).write_text("increase: {usd_per_month: 10}\n")
    repository.commit()
    repository.program("g6.xlarge", 5000)
    (repository.root / LIMITS).write_text("increase: {usd_per_month: 100000}\n")
    code, found = run()
    assert code in (1, 2)  # a policy may fail as well, and is said first
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["10"]
    assert any(LIMITS in line for line in found["judge"])


LAX = "profile: accelerators\nlevels: {idle-exposure: disabled, instance-metadata: disabled}\n"


def linked(root, *, outside):
    """Configuration and limits of one's own behind links: in the repository, outside of it, or a folder that is a link."""
    place = root.parent / "elsewhere" if outside else root / "mine"
    place.mkdir()
    (place / "config.yaml").write_text(LAX)
    (place / "limits.yaml").write_text("budgets: {dev: 1000000}\n")
    for name, other in ((RULES, "config.yaml"), (LIMITS, "limits.yaml")):
        (root / name).unlink()
        (root / name).symlink_to(place / other)


def linked_folder(root):
    (root / "policy").rename(root / "mine")
    (root / "policy").symlink_to("mine")
    (root / RULES).write_text(LAX)


@pytest.mark.parametrize(
    "cheat",
    [lambda root: linked(root, outside=False), lambda root: linked(root, outside=True), linked_folder],
    ids=["a link inside", "a link outside", "a folder that is a link"],
)
def test_a_link_is_no_other_judge(preview, cheat):
    repository, run = preview
    (repository.root / RULES).write_text("profile: standard\n")
    (repository.root / LIMITS).write_text("budgets: {dev: 100}\n")
    repository.program("m6i.large", 10)
    repository.commit()
    repository.program("g6.xlarge", 10)
    cheat(repository.root)
    _, found = run()
    assert "idle-exposure" in failed(found)
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["100"]
    assert any(line.startswith(f"{RULES}: level of idle-exposure: its own -> disabled") for line in found["judge"])


def test_a_link_of_the_base_leads_to_what_the_base_had(preview):
    repository, run = preview
    (repository.root / "shared.yaml").write_text("levels: {idle-exposure: advisory}\n")
    (repository.root / RULES).symlink_to("../shared.yaml")
    repository.commit()
    (repository.root / "shared.yaml").write_text(LAX)
    _, found = run()
    assert any(line.startswith(f"{RULES}: level of idle-exposure: advisory -> disabled") for line in found["judge"])


def test_limits_above_the_project_are_those_of_the_base(preview, monkeypatch):
    repository, run = preview
    below = repository.root / "service"
    below.mkdir()
    for name in ("Pulumi.yaml", "stacks", "policy"):
        (repository.root / name).rename(below / name)
    (repository.root / "limits.yaml").write_text("budgets: {dev: 100}\n")
    repository.commit()
    (repository.root / "limits.yaml").write_text("budgets: {dev: 1000000}\n")
    monkeypatch.chdir(below)
    _, found = run("--guardrails", "../limits.yaml")
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["100"]


STACK = "config: {aws:region: us-east-1, sizewell:environment: prod}\n"
PROJECT = "name: demo\nruntime: python\nmain: stacks/\n"


@pytest.mark.parametrize(
    "files",
    [
        {"stacks/config/Pulumi.dev.yaml": STACK},
        {"Pulumi.yaml": f"{PROJECT}stackConfigDir: stacks/config\nconfig: {{sizewell:environment: prod}}\n"},
        {"Pulumi.yaml": f"{PROJECT}stackConfigDir: other\n", "other/Pulumi.dev.yaml": STACK},
    ],
    ids=["of the stack", "of the project", "in another folder"],
)
def test_another_environment_is_a_row_and_does_not_judge(preview, files):
    repository, run = preview
    (repository.root / RULES).write_text("levels: {idle-exposure: {prod: disabled}}\n")
    repository.commit()
    repository.program("g6.2xlarge", 100)
    for name, text in files.items():
        (repository.root / name).parent.mkdir(exist_ok=True)
        (repository.root / name).write_text(text)
    _, found = run()
    assert "idle-exposure" in failed(found)
    assert any(line.startswith("stack dev: sizewell:environment: not set -> prod") for line in found["judge"])
    _, found = run("--unblock", "agreed in the meeting of the team")
    assert "idle-exposure" not in failed(found)


def test_only_what_is_new_fails(preview):
    repository, run = preview
    repository.program("g6.xlarge", 500)
    code, found = run("--new-only")
    stood = [each for each in found["stacks"][0]["policies"]["findings"] if each["level"] == "mandatory"]
    assert stood
    assert all(each["stood"] for each in stood)
    assert code == 0
    assert run()[0] == 1
    repository.program("m6i.large", 500)
    repository.commit()
    repository.program("g6.xlarge", 500)
    code, found = run("--new-only")
    assert code == 1
    assert any(not each["stood"] for each in found["stacks"][0]["policies"]["findings"])


RATES = "catalog/rates.yaml"
TINY = "rates:\n  - {cloud: aws, market: on-demand, percent: 99}\n"
USE = "resources: {data: {storage_gb: 1}}\n"


def priced_anew(repository, text=TINY):
    (repository.root / "catalog").mkdir(exist_ok=True)
    (repository.root / RATES).write_text(text)


@pytest.fixture
def limited(preview):
    """A change that costs more than its limit allows, by a machine of twice the size."""
    repository, run = preview
    (repository.root / RULES).write_text(LAX)
    (repository.root / LIMITS).write_text("increase: {usd_per_month: 100}\n")
    repository.commit()
    repository.program("g6.12xlarge", 100)
    return repository, run


def broken(found):
    return [(rail["kind"], rail["limit"], rail.get("at", "")) for rail in found["guardrails"] if rail["broken"]]


def test_rates_that_a_change_brings_do_not_get_it_below_its_limits(limited):
    repository, run = limited
    code, found = run()
    assert (code, broken(found)) == (2, [("absolute", "100", "")]), "without rates of one's own"
    priced_anew(repository)
    code, found = run()
    assert (code, broken(found)) == (2, [("absolute", "100", "HEAD")])
    assert "at the prices of HEAD" in found["exit_reason"]
    later = "limits and policies also hold at the prices of HEAD until this change is approved or merged"
    assert found["judge"] == [f"{RATES}: changes prices ({later})"]
    dear = Decimal(found["stacks"][0]["change_usd_per_month"])
    assert dear < 200, "the figures are those of the change"
    code, found = run("--unblock", "the contract is signed")
    assert (code, broken(found)) == (0, [])
    assert found["judge"] == [f"{RATES}: changes prices (let pass: the contract is signed)"]


def test_rates_that_stood_before_the_change_count(limited):
    repository, run = limited
    repository.program("g6.xlarge", 100)
    priced_anew(repository, TINY.replace("99", "50"))
    repository.commit()
    repository.program("g6.12xlarge", 100)
    code, found = run()
    assert (code, found["judge"]) == (2, [])
    cheap = Decimal(found["stacks"][0]["change_usd_per_month"])
    priced_anew(repository, "rates: []\n")
    code, found = run()
    assert code == 2
    assert all(at == "" for *_, at in broken(found)), "dearer at the change's own prices"
    assert Decimal(found["stacks"][0]["change_usd_per_month"]) > cheap


def test_discounts_and_use_in_files_of_their_own_are_no_way_around(limited):
    repository, run = limited
    repository.program("g6.xlarge", 100)
    (repository.root / "own.yaml").write_text("rates: []\n")
    repository.commit()
    repository.program("g6.12xlarge", 100)
    (repository.root / "own.yaml").write_text(TINY)
    code, found = run("--discounts", "own.yaml")
    assert (code, broken(found)) == (2, [("absolute", "100", "HEAD")])
    assert any(line.startswith("own.yaml: changes prices") for line in found["judge"])


def test_an_overlay_that_the_change_adds_does_not_judge(limited):
    """A row of one's own for the machine, instead of a rate."""
    repository, run = limited
    from sizewell.sizing.catalog.records import Offer
    from sizewell.sizing.catalog.table import columns_of

    stated = {"cloud": "aws", "instance_type": "g6.12xlarge", "region": "us-east-1", "market": "on-demand"}
    stated |= {
        "usd_per_hour": "0.01",
        "effective_from": "2026-09-01",
        "basis": "contract",
        "source": "the seller's letter",
        "confidence": "high",
    }
    columns = columns_of(Offer)
    assert set(stated) <= set(columns)
    (repository.root / "catalog").mkdir()
    text = ",".join(columns) + "\n" + ",".join(stated.get(column, "") for column in columns) + "\n"
    (repository.root / "catalog/offers.csv").write_text(text)
    code, found = run()
    assert code == 2
    assert broken(found) == [("absolute", "100", "HEAD")]


def test_prices_of_the_base_that_cannot_be_read_are_said(limited):
    repository, run = limited
    priced_anew(repository, "rates: nonsense\n")
    repository.commit()
    repository.program("g6.48xlarge", 100)
    priced_anew(repository)
    _, found = run()
    (row,) = found["judge"]
    assert row.startswith(f"{RATES}: changes prices; those of HEAD cannot be read: ")


def policy(capsys, *arguments):
    code = main(["policy", "--json", "--on", "2026-10-01", *arguments])
    ((_, report),) = json.loads(capsys.readouterr().out).items()
    return code, report


@pytest.mark.parametrize("named", [False, True])
def test_the_policies_alone_say_what_a_change_makes_of_them(preview, capsys, named):
    repository, _ = preview
    (repository.root / RULES).write_text("profile: accelerators\n")
    repository.commit()
    git(repository.root, "branch", "-M", "main")
    git(repository.root, "switch", "-qc", "change")
    assert policy(capsys)[1]["judge"] == []
    (repository.root / RULES).write_text(f"profile: accelerators\nwaivers: [{WAIVER}]\n")
    repository.commit()
    _, report = policy(capsys, *(["--base", "main"] if named else []))
    (line,) = report["judge"]
    assert line.startswith(f"{RULES}: waiver added: idle-exposure for gpu until 2026-11-01")
    outcomes = {each["outcome"] for each in report["results"] if each["rule"] == "idle-exposure"}
    assert outcomes == ({"violation"} if named else {"waived"}), "a base that is named is the judge"


@pytest.mark.parametrize("option", ["retain_on_delete=True", "protect=True", "ignore_changes=['instanceType']"])
def test_the_policies_alone_judge_what_a_change_ignores_and_keeps_as_a_preview_does(preview, capsys, option):
    repository, run = preview
    keeping = PROGRAM.replace("name, props, None)", f"name, props, pulumi.ResourceOptions({option}))")
    repository.program(text=keeping.format(machine="p4d.24xlarge", size=100))
    repository.commit()
    ignored = option.startswith("ignore")
    repository.program(text=keeping.format(machine="t3.micro", size=100) if ignored else "import pulumi")
    _, found = run()
    code, report = policy(capsys, "--base", "HEAD")
    assert code == 1
    alone = {each["rule"] for each in report["results"] if each["level"] == "mandatory"}
    assert "idle-exposure" in failed(found)
    assert alone == failed(found)


def test_what_is_replaced_and_retained_stands_beside_the_new_one(preview, capsys):
    repository, run = preview
    keeping = PROGRAM.replace("name, props, None)", "name, props, pulumi.ResourceOptions(retain_on_delete=True))")
    repository.program(text=keeping.format(machine="g5.12xlarge", size=100))
    repository.commit()
    moved = keeping.replace("us-east-1a", "us-east-1b")
    repository.program(text=moved.format(machine="g5.xlarge", size=100))
    _, found = run()
    (stack,) = found["stacks"]
    before, after = (Decimal(stack[side]["usd_per_month"]["expected"]) for side in ("before", "after"))
    assert after > before > 4000
    assert any("the old one stays and is billed beside the new" in note for note in stack["notes"])
    assert not stack["needs"]
    _, report = policy(capsys, "--base", "HEAD")
    failing = {name for each in report["results"] if each["rule"] == "idle-exposure" for name in [each["resource"]]}
    assert len(failing) == 2


def test_the_policies_alone_hold_at_the_prices_before_the_change_as_well(preview, capsys):
    repository, run = preview
    (repository.root / RULES).write_text("levels: {hourly-budget: mandatory}\n")
    repository.commit()
    repository.program("p5.48xlarge", 100)
    priced_anew(repository)
    assert "hourly-budget" in failed(run()[1])
    code, report = policy(capsys, "--base", "HEAD")
    assert code == 1
    assert "hourly-budget" in {each["rule"] for each in report["results"] if each["level"] == "mandatory"}
    assert any(line.startswith(f"{RATES}: changes prices") for line in report["judge"])


def test_a_base_that_cannot_be_evaluated_leaves_what_stands_not_judged(preview, capsys):
    repository, _ = preview
    repository.program(text="raise ValueError('of the base')")
    repository.commit()
    repository.program(text="import pulumi")
    _, report = policy(capsys, "--base", "HEAD")
    (gap,) = [each for each in report["results"] if each["rule"] == "not-judged"]
    assert "what stands may bring machines that the change leaves as they are" in gap["message"]


def test_a_base_that_is_not_there_is_refused(preview, capsys):
    assert main(["policy", "--base", "nowhere"]) == 64
    assert "--base nowhere: no such revision" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "stated"),
    [
        ("GITHUB_BASE_REF", "release"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "release"),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/release"),
    ],
)
def test_ci_names_the_branch_that_a_change_is_made_against(preview, monkeypatch, variable, stated):
    repository, _ = preview
    git(repository.root, "branch", "-M", "release")
    begun = git(repository.root, "rev-parse", "HEAD").strip()
    git(repository.root, "switch", "-qc", "change")
    monkeypatch.setenv(variable, stated)
    assert merged_into(repository.root) == ("release", begun)
    monkeypatch.setenv(variable, "elsewhere")
    assert merged_into(repository.root) == ("", "")


@pytest.mark.parametrize(
    ("was", "becomes", "stood"),
    [
        (["billed for at least 4 machines"], ["billed for at least 4 machines"], True),
        (["billed for at least 4 machines"], ["billed for at least 2 machines"], True),
        (["4 GPUs of p4d run unused"], ["4 GPUs of a100 run unused"], False),  # a number more
        (["billed for at least 4 machines"], ["billed for at least 8 machines"], False),
        (["its image is not pinned"], ["its image has no digest"], True),
        (["port 22 is open"], ["port 22 is open", "port 80 is open"], False),
        ([], ["its image is not pinned"], False),
    ],
)
def test_a_finding_in_other_words_is_as_old_as_its_rule_and_its_resource(was, becomes, stood):
    def report(messages):
        listed = [PolicyFinding(policy="r", level="mandatory", resource="u", message=each) for each in messages]
        return PolicyReport(findings=tuple(listed))

    assert pipeline._only_new(report(becomes), report(was)).findings[-1].stood is stood
