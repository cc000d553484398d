"""A preview from end to end: another revision, a state, the engine's files, and what fails on the way."""

import os
import signal
import subprocess
import sys
import time
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from sizewell.preview import records
from sizewell.preview.base import file_at, moved_from, worktree
from sizewell.preview.pipeline import Request, run_preview, stacks_of
from sizewell.preview.render.text import headline
from sizewell.sizing.errors import ServiceError, UsageError

ON = date(2026, 10, 1)
FIXTURES = Path(__file__).parent / "fixtures"
PROGRAM = """
import pulumi

class Instance(pulumi.CustomResource):
    def __init__(self, name, **props):
        super().__init__("aws:ec2/instance:Instance", name, props, None)

class Volume(pulumi.CustomResource):
    def __init__(self, name, **props):
        super().__init__("aws:ebs/volume:Volume", name, props, None)

Instance("gpu", ami="ami-1", instanceType="{machine}", availabilityZone="us-east-1a")
Volume("data", size={size}, type="gp3", availabilityZone="us-east-1a")
"""
GIT = {
    **os.environ,
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
}  # fmt: skip


def git(directory, *arguments):
    done = subprocess.run(["git", *arguments], cwd=directory, env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Repository:
    def __init__(self, root):
        self.root = root
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        (root / "stacks/config").mkdir(parents=True)
        (root / "Pulumi.yaml").write_text("name: demo\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
        self.stack("dev")
        self.program("g6.xlarge", 100)
        self.commit()

    def stack(self, name):
        (self.root / f"stacks/config/Pulumi.{name}.yaml").write_text("config: {aws:region: us-east-1}\n")

    def program(self, machine="g6.xlarge", size=100, text=None):
        program = PROGRAM.format(machine=machine, size=size) if text is None else text
        (self.root / "stacks/__main__.py").write_text(program)

    def commit(self):
        git(self.root, "add", ".")
        git(self.root, "commit", "-qm", "x")

    def preview(self, **more):
        return run_preview(Request(root=self.root, on=ON, **more))

    def worktrees(self):
        return git(self.root, "worktree", "list").count("\n") + 1


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repo")


def test_no_base(repository):
    preview = repository.preview()
    stack = preview.stacks[0]
    assert stack.before is None
    assert stack.after.usd_per_month.expected > 500
    assert {row.component for row in stack.rows} == {"gpu", "data"}


def test_a_change_against_another_revision(repository):
    repository.program("g6.2xlarge", 50)
    preview = repository.preview(base="main")
    stack = preview.stacks[0]
    assert stack.base.startswith("main@")
    assert stack.before.usd_per_month.expected < stack.after.usd_per_month.expected
    assert {row.component: row.sign for row in stack.rows} == {"gpu": "~", "data": "~"}
    assert stack.prices_moved_usd_per_month is None  # the base has no catalog of its own
    assert repository.worktrees() == 1
    assert list(Path(repository.root.parent).glob("sizewell-base-*")) == []


def test_a_project_that_has_moved_is_compared_with_where_it_stood(repository):
    for name in ("Pulumi.yaml", "stacks"):
        (repository.root / "platform/infra").mkdir(parents=True, exist_ok=True)
        (repository.root / name).rename(repository.root / "platform/infra" / name)
    moved = repository.root / "platform/infra"
    stack = run_preview(Request(root=moved, on=ON, base="main")).stacks[0]
    assert stack.change_usd_per_month == 0
    assert stack.base.endswith("there in the top folder")
    assert file_at(moved, "main", "stacks/config/Pulumi.dev.yaml") is not None
    # What was copied is a project of its own: the other one still stands.
    git(repository.root, "checkout", "main", "--", "Pulumi.yaml")
    assert moved_from(moved, "main") is None
    (repository.root / "Pulumi.yaml").unlink()
    (moved / "Pulumi.yaml").write_text("name: other\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    assert moved_from(moved, "main") is None


def test_a_stack_that_neither_side_knows_is_refused(repository):
    with pytest.raises(UsageError, match=r"no stack 'dve', neither here nor at main@\w+\n  fix: did you mean dev"):
        repository.preview(base="main", stacks=("dve",))
    assert repository.preview(base="main", stacks=("dev",)).stacks[0].stack == "dev"


def test_a_new_stack_and_one_that_is_gone(repository):
    repository.stack("old")
    repository.commit()
    (repository.root / "stacks/config/Pulumi.old.yaml").unlink()
    repository.stack("new")
    preview = repository.preview(base="HEAD")
    stacks = {stack.stack: stack for stack in preview.stacks}
    assert list(stacks) == ["dev", "new", "old"]
    assert stacks["new"].before.usd_per_month.expected == 0
    assert stacks["new"].change_usd_per_month == stacks["new"].after.usd_per_month.expected
    assert stacks["old"].change_usd_per_month == 0  # nothing destroys what was built
    assert "has lost its files; its resources remain" in stacks["old"].notes[0]
    (need,) = stacks["old"].needs
    assert need.kind == "keeps"
    assert f"{stacks['old'].before.usd_per_month.expected:,.2f} USD a month until `pulumi destroy -s old`" in need.text
    assert not preview.silent
    assert preview.change_usd_per_month == stacks["new"].after.usd_per_month.expected


@pytest.mark.parametrize("change", [("name: ", "name: renamed-"), ("runtime:", "backend: {url: s3://other}\nruntime:")])
def test_what_another_project_or_backend_begins_anew_stands_on_in_the_old_one(repository, change):
    """The engine knows a stack by both: nothing of the old one is destroyed, and no saving is one."""
    file = repository.root / "Pulumi.yaml"
    file.write_text(file.read_text().replace(*change, 1))
    preview = repository.preview(base="main")
    new, old = preview.stacks
    assert (new.before.usd_per_month.expected, old.change_usd_per_month) == (0, 0)
    assert preview.change_usd_per_month == new.after.usd_per_month.expected > 0
    (need,) = old.needs
    assert "is not destroyed by another name or backend of its project" in need.text
    assert f"until `pulumi destroy -s {old.stack}`" in need.text
    assert old.stack.endswith("/dev")


@pytest.mark.parametrize("text", ["raise ValueError('broken at the base')", "x = = 1", "import not_there_at_all"])
def test_a_base_that_does_not_build_leaves_the_heads_figure(repository, text):
    repository.program(text=text)
    repository.commit()
    repository.program("g6.xlarge", 100)
    preview = repository.preview(base="HEAD")
    stack = preview.stacks[0]
    assert stack.before is None
    assert stack.after.usd_per_month.expected > 500
    assert stack.base_failed.startswith("the base HEAD@")
    assert "does not build" in stack.base_failed
    assert "Traceback" not in stack.base_failed
    assert not preview.silent
    assert preview.exit_code == 69  # a limit on an increase would have nothing to judge
    assert repository.worktrees() == 1


def test_a_head_that_does_not_build_is_a_failure_of_that_stack(repository):
    repository.program(text="import pulumi\nif pulumi.get_stack() == 'bad': raise ValueError('no')\n")
    repository.stack("bad")
    preview = repository.preview(base="HEAD")
    stacks = {stack.stack: stack for stack in preview.stacks}
    assert stacks["bad"].after is None
    assert "ValueError: no" in stacks["bad"].failed
    assert stacks["dev"].after is not None
    assert preview.exit_code == 69


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ("no-such-branch", "no such revision in this repository"),
        ("--upload-pack=x", "no such revision in this repository"),
    ],
)
def test_a_revision_that_is_not_there(repository, base, says):
    with pytest.raises(UsageError, match=says):
        repository.preview(base=base)


def test_a_revision_that_is_not_there_is_answered_with_the_branches_that_are(repository):
    branch = git(repository.root, "symbolic-ref", "--short", "HEAD")
    git(repository.root, "checkout", "-q", "-b", "feature")
    git(repository.root, "commit", "-q", "--allow-empty", "-m", "change")
    with pytest.raises(UsageError, match=f"fix: name one that is here: {branch};"):
        repository.preview(base="no-such-branch")


@pytest.mark.parametrize("checked_out", ["pull/7/merge", "branch alone", "tag"])
def test_what_is_checked_out_is_no_base_of_itself(repository, tmp_path, checked_out):
    """As CI has it: one commit, by a reference of its own or detached, and the base not fetched."""
    origin, clone = repository.root, tmp_path / "ci"
    branch = git(origin, "symbolic-ref", "--short", "HEAD")
    git(origin, "checkout", "-q", "-b", "feature")
    git(origin, "commit", "-q", "--allow-empty", "-m", "change")
    clone.mkdir()
    git(clone, "init", "-q", "-b", "unborn")
    git(clone, "remote", "add", "origin", str(origin))
    place = {"pull/7/merge": "refs/remotes/pull/7/merge", "tag": "refs/tags/v1"}.get(
        checked_out, "refs/remotes/origin/feature"
    )
    git(clone, "fetch", "-q", "--depth=1", "origin", f"feature:{place}")
    git(clone, "checkout", "-q", "--detach", place)
    with pytest.raises(UsageError) as refused, worktree(clone, branch):
        pass
    fetch = f"git fetch origin {branch}:{branch}"
    assert f"fix: {fetch} brings it" in str(refused.value)
    assert "name one" not in str(refused.value)
    git(clone, *fetch.split()[1:])
    with worktree(clone, branch) as tree:
        assert (tree.root / "stacks/__main__.py").exists()


def test_no_repository(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "__main__.py").write_text("")
    with pytest.raises(UsageError, match=r"fix: git init -b main && git add .* or leave --base out"):
        run_preview(Request(root=tmp_path, on=ON, base="main"))


def test_hooks_of_the_repository_do_not_run(repository, tmp_path):
    hook = repository.root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    repository.preview(base="HEAD")
    assert not (tmp_path / "ran").exists()


def test_the_worktree_goes_when_the_work_in_it_fails(repository):
    places = []

    def work():
        with worktree(repository.root, "main") as tree:
            assert (tree.root / "stacks/__main__.py").exists()
            places.append(tree.root)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    assert not places[0].exists()
    assert repository.worktrees() == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_worktree_goes_when_the_process_is_stopped(repository, number):
    """SIGKILL leaves one behind; the next run finds and removes it."""
    code = (
        # A job in the background of a script ignores SIGINT, and so would the process that inherits that.
        "import signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from pathlib import Path\nfrom sizewell.preview.base import worktree\n"
        "with worktree(Path(sys.argv[1]), 'main') as tree:\n    print(tree.root, flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, repository.root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline().strip()
    assert line, process.communicate(timeout=30)[1]  # "" would be the working directory, which is there
    place = Path(line)
    assert place.is_dir()
    process.send_signal(number)
    process.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert repository.worktrees() == 2
        repository.preview(base="main")
    assert not place.exists()
    assert repository.worktrees() == 1


def test_a_worktree_that_somebody_works_in_is_left_alone(repository):
    """Two previews at a time: the later one sweeps what killed ones left, not what the earlier one reads."""
    with worktree(repository.root, "main") as earlier:
        with worktree(repository.root, "main") as later:
            assert earlier.root.is_dir()
            assert later.root.is_dir()
        assert (earlier.root / "stacks/__main__.py").exists()
        assert repository.worktrees() == 2
    assert repository.worktrees() == 1


def test_a_worktree_is_swept_though_its_process_number_is_anothers_by_now(repository, tmp_path):
    place = tmp_path / f"sizewell-base-{os.getpid()}-x/tree"
    git(repository.root, "worktree", "add", "--detach", str(place), "main")
    with worktree(repository.root, "main"):
        assert not place.exists()
    assert repository.worktrees() == 1


def test_the_bases_own_prices_are_a_line_of_their_own(repository):
    """A catalog in the base with other prices: the base is priced with both."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog import loading as catalog_module

    data = repository.root / "sizing/catalog/data"
    data.parent.mkdir(parents=True)
    import shutil

    shutil.copytree(catalog_module.DATA, data)
    changed = 0
    for path in (data / "offers").rglob("*.csv"):
        text = path.read_text()
        if "0.8048" in text:
            path.write_text(text.replace("0.8048", "0.7048"))
            changed += 1
    assert changed
    repository.commit()
    shutil.rmtree(data)
    preview = repository.preview(base="HEAD")
    hours = Decimal(730)
    assert load().price("aws", "g6.xlarge", "us-east-1", "on-demand", ON).amount == Decimal("0.8048")
    assert preview.prices_moved_usd_per_month == pytest.approx(hours / 10, abs=Decimal("0.01"))
    assert preview.change_usd_per_month == 0
    assert not preview.silent


def test_a_state_as_the_base(repository, tmp_path):
    with pytest.raises(UsageError, match="is of the stack dev of small, not of dev of demo"):
        repository.preview(stacks=("dev",), base_state=FIXTURES / "state.json")
    own = tmp_path / "state.json"
    own.write_text((FIXTURES / "state.json").read_text().replace(":dev::small::", ":dev::demo::"))
    preview = repository.preview(stacks=("dev",), base_state=own)
    stack = preview.stacks[0]
    assert stack.base == "state.json"
    assert {"v0", "gone"} <= {row.component for row in stack.rows if row.sign == "-"}
    with pytest.raises(UsageError, match="cannot be used together"):
        repository.preview(stacks=("dev",), base="main", base_state=FIXTURES / "state.json")
    with pytest.raises(UsageError, match="state of one stack"):
        repository.preview(base_state=FIXTURES / "state.json")


def test_the_engines_own_preview_as_input(repository):
    preview = repository.preview(plan_files=(FIXTURES / "preview-change-sames.json",))
    stack = preview.stacks[0]
    assert (stack.stack, stack.base) == ("dev", "the engine's state")
    signs = {row.component: row.sign for row in stack.rows}
    assert signs["new"] == "+"
    assert signs["gone"] == "-"
    assert signs["v0"] == "~"
    assert preview.provenance.engine == "pulumi"


def test_an_engine_that_is_not_there(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ServiceError, match="pulumi is not on PATH"):
        repository.preview(engine="pulumi")


def test_a_component_that_only_the_engine_shows_is_open_where_there_is_none(repository, monkeypatch):
    repository.program(text=REMOTE)
    monkeypatch.setenv("PATH", "/nonexistent")
    preview = repository.preview()
    assert preview.stacks[0].coverage.not_judged == 1
    assert "+ ?" in headline(preview)
    assert preview.exit_code == 3


def test_auto_asks_the_engine_for_such_a_component_and_keeps_its_own_plan_where_that_fails(
    repository, monkeypatch, tmp_path
):
    repository.program(text=REMOTE)
    fake = tmp_path / "bin/pulumi"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncat {FIXTURES / 'preview-change-sames.json'}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert repository.preview().stacks[0].coverage.not_judged == 0
    fake.write_text("#!/bin/sh\nexit 255\n")
    assert repository.preview().stacks[0].coverage.not_judged == 1


def test_a_program_in_another_language_is_asked_of_the_engine_on_both_sides(repository, monkeypatch, tmp_path):
    fake = tmp_path / "bin/pulumi"
    fake.parent.mkdir()
    sames = FIXTURES / "preview-change-sames.json"
    fake.write_text(f"#!/bin/sh\npwd >> {tmp_path / 'asked'}\nexec cat {sames}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    settings = repository.root / "Pulumi.yaml"
    settings.write_text(settings.read_text().replace("python", "yaml"))
    repository.commit()
    stack = repository.preview(base="HEAD").stacks[0]
    assert (stack.failed, stack.base_failed) == ("", "")
    assert (stack.rows, stack.unchanged.components) == ((), 2)
    assert len(set((tmp_path / "asked").read_text().split())) == 2, "the project, and the revision beside it"
    fake.write_text(
        '#!/bin/sh\necho "warning: an old plugin" >&2\necho \'{"diagnostics": [{"severity": "info#err", "message": "Warning: Type"}, {"severity": "info#err", "message": "Error: no plugin aws"}]}\'\nexit 1\n'
    )
    failed = repository.preview().stacks[0].failed
    assert "the engine failed: Error: no plugin aws\n  fix: make `pulumi preview -s dev` succeed" in failed


REMOTE = "import pulumi\npulumi.ComponentResource('far:index:C', 'c', {}, None, True)\n"


def test_an_engine_that_fails_is_quoted(repository, monkeypatch, tmp_path):
    fake = tmp_path / "bin/pulumi"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'error: no stack named dev found' >&2\nexit 255\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    preview = repository.preview(engine="pulumi")
    assert "the engine failed: error: no stack named dev found" in preview.stacks[0].failed


def test_the_engine_gives_both_sides(repository, monkeypatch, tmp_path):
    fake = tmp_path / "bin/pulumi"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncat {FIXTURES / 'preview-change-sames.json'}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    stack = repository.preview(engine="pulumi").stacks[0]
    assert stack.base == "the engine's state"
    assert stack.before is not None


def test_policies_come_from_the_caller(repository):
    seen = []

    def judge(plan, decision, changes, before):
        seen.append((plan.stack, decision, changes))
        finding = records.PolicyFinding(policy="p", level="mandatory", message="no")
        return records.PolicyReport(findings=(finding,), passed=3)

    preview = repository.preview(policies=judge)
    assert seen == [("dev", None, {})], "nothing is compared without a base"
    assert preview.exit_code == 1


def test_policies_hear_what_changes_and_stop_the_replacement_of_a_scarce_machine(repository):
    """From another image in the program to a finding of the rule, through the preview and the real policies."""
    from sizewell.cli import judging
    from sizewell.policy.config import Config

    program = repository.root / "stacks/__main__.py"
    repository.program("p5.48xlarge", 100)
    repository.commit()
    judge = judging.for_preview(Config(), repository.root, ON)
    heard = []

    def policies(plan, decision, changes, before):
        heard.append(dict(changes))
        return judge(plan, decision, changes, before)

    def replaced():
        heard.clear()
        stack = repository.preview(base="HEAD", policies=policies).stacks[0]
        return [f.resource for f in stack.policies.findings if f.policy == "scarce-pool-replaced"]

    assert replaced() == []
    repository.program("p5.48xlarge", 200)
    gpu = "urn:pulumi:dev::demo::aws:ec2/instance:Instance::gpu"
    volume = "urn:pulumi:dev::demo::aws:ebs/volume:Volume::data"
    assert (replaced(), heard) == ([], [{volume: "update"}])
    program.write_text(program.read_text().replace("ami-1", "ami-2"))
    assert (replaced(), heard) == ([gpu], [{gpu: "replace", volume: "update"}])


def test_a_decision_that_cannot_be_read_is_a_note(repository):
    (repository.root / "stacks/decisions").mkdir()
    (repository.root / "stacks/decisions/dev.json").write_text("{}")
    stack = repository.preview().stacks[0]
    assert stack.after is not None
    assert any("the decision cannot be read" in note for note in stack.notes)


def test_no_stacks(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    with pytest.raises(UsageError, match="no stacks found"):
        run_preview(Request(root=tmp_path, on=ON))


def test_the_repositorys_own_stacks_are_found():
    root = Path(__file__).parents[2]
    assert "dev-aws" in stacks_of(root)


def test_many_stacks_share_one_import(repository):
    """Stacks after the first cost a fraction of it: providers and packages are imported once."""
    for number in range(30):
        repository.stack(f"s{number:02}")
    repository.commit()
    repository.preview(stacks=("dev",))
    start = time.process_time()
    preview = repository.preview(base="HEAD")
    assert len(preview.stacks) == 31
    assert time.process_time() - start < 8
    assert preview.silent


def rates_file(folder, count):
    path = folder / "rates.yaml"
    path.write_text(
        "commitments:\n  - {cloud: aws, instance_type: g6.xlarge, region: us-east-1,"
        f" count: {count}, usd_per_hour: 0.5, until: 2027-06-30}}\n"
    )
    return path


TWO = """
import pulumi
class Instance(pulumi.CustomResource):
    def __init__(self, name, **props):
        super().__init__("aws:ec2/instance:Instance", name, props, None)
if pulumi.get_stack() in {stacks}:
    Instance("gpu", ami="ami-1", instanceType="g6.xlarge", availabilityZone="us-east-1a")
"""


def committed(preview):
    lines = [
        (stack.stack, line)
        for stack in preview.stacks
        for row in (*stack.rows, *stack.unchanged.rows)
        for line in row.lines
    ]
    return {(stack, line.unit): line.usd.expected for stack, line in lines if line.source == "own commitment"}


def test_a_commitment_is_used_once_over_all_stacks(repository, tmp_path):
    repository.stack("prod")
    repository.program(text=TWO.format(stacks=("dev", "prod")))
    rates = rates_file(tmp_path, 1)
    both = repository.preview(discounts=rates)
    assert committed(both) == {("dev", "machine-hour"): 365}
    assert both.stacks[0].notes[0] == (
        "the commitment to 1 x g6.xlarge, on-demand, us-east-1 is 100 % used, 730 of 730 hours a month, "
        "and covers 50 % of those that run"
    )
    (more,) = repository.preview(discounts=rates_file(tmp_path, 4), stacks=("dev",)).stacks
    assert "is 25 % used, 730 of 2,920 hours a month, and covers 100 % of those that run" in more.notes[0]
    assert "; 1,095.00 USD a month is left over, is billed all the same and is in no total" in more.notes[0]
    rates = rates_file(tmp_path, 1)
    alone = repository.preview(discounts=rates, stacks=("prod",)).stacks[0]
    assert (
        "the commitment to g6.xlarge, on-demand, us-east-1 is counted here in full: dev may use it as well"
        in alone.notes
    )
    assert committed(repository.preview(discounts=rates_file(tmp_path, 2))) == {
        ("dev", "machine-hour"): 365, ("prod", "machine-hour"): 365,
    }  # fmt: skip


def test_rates_name_the_billing_account_of_a_stack(repository, tmp_path):
    file = tmp_path / "rates.yaml"
    file.write_text("billing_accounts:\n  - {cloud: aws, id: '012345678901', name: Example Ltd}\n")
    stack = repository.preview(discounts=file).stacks[0]
    assert {key: (account.id, account.name) for key, account in stack.billing_accounts.items()} == {
        "aws": ("012345678901", "Example Ltd")
    }


def test_a_commitment_does_not_go_away_with_its_machine(repository, tmp_path):
    repository.stack("prod")
    repository.program(text=TWO.format(stacks=("dev", "prod")))
    repository.commit()
    rates = rates_file(tmp_path, 1)
    listed = repository.preview(discounts=rates).stacks[1].after.usd_per_month.expected
    repository.program(text=TWO.format(stacks=("prod",)))  # dev's machine goes, prod takes over what it had
    moved = repository.preview(base="HEAD", discounts=rates)
    assert committed(moved) == {
        ("dev", "machine-hour"): 365,
        ("prod", "machine-hour"): 365,
    }  # a row that goes shows what was
    assert moved.change_usd_per_month == 365 - 365 - listed
    repository.program(text="import pulumi\n")  # both go: the commitment is paid until its end
    gone = repository.preview(base="HEAD", discounts=rates)
    assert gone.after.usd_per_month.expected == 365
    assert committed(gone)["dev", "hour"] == 365
    assert gone.after.idle_usd_per_hour.expected == 0


def test_a_savings_plan_is_used_once_over_all_stacks_and_paid_when_its_machine_goes(repository, tmp_path):
    rates = tmp_path / "rates.yaml"
    # one machine at 0.64384 an hour in the plan, and as much again less a quarter of it
    rates.write_text("savings_plans:\n  - {cloud: aws, percent: 20, usd_per_hour: 1.12672, until: 2027-06-30}\n")
    repository.stack("prod")
    repository.program(text=TWO.format(stacks=("dev", "prod")))
    repository.commit()
    both = repository.preview(discounts=rates)
    said = (
        "the savings plan of 1.12672 USD/h on aws until 2027-06-30 is 100 % used, 822.51 of 822.51 USD a month, and "
        "covers 88 % of what it may"
    )
    assert [note for stack in both.stacks for note in stack.notes if "savings plan" in note] == [said, said]
    alone = repository.preview(discounts=rates, stacks=("prod",)).stacks[0]
    assert "57 % used" in alone.notes[0]
    assert (
        "352.50 USD a month is left over, is billed all the same and is in no total; dev may use it as well"
        in alone.notes[0]
    )
    repository.program(text="import pulumi\n")
    gone = repository.preview(base="HEAD", discounts=rates)
    assert abs(gone.after.usd_per_month.expected - Decimal("822.51")) <= Decimal("0.01")
    assert "covers nothing here" in gone.stacks[0].notes[0]


POOL = """
import pulumi
class Resource(pulumi.CustomResource):
    def __init__(self, kind, name, **props):
        super().__init__(kind, name, {{**props, "id_": None}}, None)
machines = {machines}[pulumi.get_stack()]
if machines:
    block = {{"capacityReservationTarget": {{"capacityReservationId": "cr-0123456789abcdef0"}}}}
    lt = Resource("aws:ec2/launchTemplate:LaunchTemplate", "lt", imageId="ami-1", instanceType="p5.48xlarge",
                  instanceMarketOptions={{"marketType": "capacity-block"}}, capacityReservationSpecification=block)
    Resource("aws:autoscaling/group:Group", "pool", minSize=machines, maxSize=machines, vpcZoneIdentifiers=["s"],
             launchTemplate={{"id": lt.id, "version": "1"}})
"""


def bought(preview):
    return {stack.stack: stack.after.usd_once.expected for stack in preview.stacks}


def test_a_purchased_block_counts_once_over_all_stacks(repository):
    repository.stack("prod")
    repository.program(text=POOL.format(machines={"dev": 1, "prod": 2}))
    one = repository.preview(stacks=("prod",)).after.usd_once.expected
    assert one > 0
    assert bought(repository.preview()) == {
        "dev": 0,
        "prod": one,
    }  # both stand in it: the larger one is what was bought
    repository.commit()
    repository.program(text=POOL.format(machines={"dev": 2, "prod": 2}))
    joined = repository.preview(base="HEAD")
    assert bought(joined) == {"dev": 0, "prod": one}
    assert joined.bought.expected == 0
