"""Plans from the engine's own files. The fixtures are what pulumi 3.260 wrote, less times and stack traces."""

import json
from datetime import date
from pathlib import Path

import pytest

from sizewell.preview.pipeline import Request, run_preview
from sizewell.preview.render.text import open_ends
from sizewell.recording.sources import PreviewFile, read_plan_file, read_preview, read_state
from sizewell.resources.recorded import UNKNOWN, Plan
from sizewell.sizing.errors import UsageError

FIXTURES = Path(__file__).parent / "fixtures"


def names(plan):
    return {resource.name for resource in plan.resources}


def one(plan, name):
    return next(resource for resource in plan.resources if resource.name == name)


def test_a_preview_with_show_sames_is_both_sides_whole():
    file = read_preview(FIXTURES / "preview-change-sames.json")
    assert file.complete
    assert names(file.before) == {"small-dev", "c", "c-b", "p", "v0", "gone", "pw"}
    assert names(file.after) == {"small-dev", "c", "c-b", "p", "v0", "new", "pw"}
    assert one(file.before, "v0").inputs["size"] == 10
    assert one(file.after, "v0").inputs == {"availabilityZone": "eu-west-1a", "size": 20, "tags": {"b": "arn-of-c-b"}}
    assert file.after.config["aws:region"] == "us-east-1"
    assert (file.after.project, file.after.stack) == ("small", "dev")


def test_a_preview_without_sames_says_that_totals_are_missing():
    file = read_preview(FIXTURES / "preview-change.json")
    assert not file.complete
    assert names(file.before) == {"small-dev", "v0", "gone"}
    assert "totals need --show-sames" in file.after.notes[0]


def test_a_first_preview_has_nothing_before_and_unknowns_after():
    file = read_preview(FIXTURES / "preview-create.json")
    assert file.before.resources == ()
    assert one(file.after, "v0").inputs["tags"] == {"b": UNKNOWN}
    bucket = one(file.after, "c-b")
    assert (bucket.protect, bucket.retain_on_delete) == (True, True)
    assert bucket.parent == one(file.after, "c").urn
    assert one(file.after, "c").inputs == {"sizewell": {"kind": "pool", "name": "c"}}
    assert one(file.after, "pw").inputs["value"] is UNKNOWN
    assert one(file.after, "pw").secret_paths == ("value",)


def test_state_and_its_default_provider():
    plan = read_state(FIXTURES / "state.json")
    assert names(plan) == {"small-dev", "c", "c-b", "p", "v0", "gone", "pw"}
    assert plan.config == {"aws:region": "us-east-1"}  # from the default provider, which is no resource of a program
    assert one(plan, "gone").provider is None
    assert one(plan, "v0").provider.startswith(one(plan, "p").urn)
    assert one(plan, "pw").inputs["value"] is UNKNOWN
    assert plan.outputs == {"n": "abc"}
    assert one(read_state(FIXTURES / "state-secrets.json"), "pw").inputs["value"] == "hunter2"


def test_the_two_kinds_are_told_apart():
    assert isinstance(read_plan_file(FIXTURES / "preview-change.json"), PreviewFile)
    assert isinstance(read_plan_file(FIXTURES / "state.json"), Plan)


def resource(name, **more):
    return {"urn": f"urn:pulumi:dev::p::t:m:R::{name}", "type": "t:m:R", "custom": True, "inputs": {}, **more}


def test_each_operation_stands_on_its_side(tmp_path):
    def step(op, name, old=True, new=True):
        return {
            "op": op,
            "urn": resource(name)["urn"],
            **({"oldState": resource(name, inputs={"v": "old"})} if old else {}),
            **({"newState": resource(name, inputs={"v": "new"})} if new else {}),
        }

    steps = [
        step("same", "same"),
        step("create", "create", old=False),
        step("update", "update"),
        step("create-replacement", "replaced"),
        step("replace", "replaced"),
        step("delete-replaced", "replaced", new=False),
        step("delete", "delete", new=False),
        step("import", "import", old=False),
        {"op": "read", "urn": resource("read")["urn"], "newState": resource("read", external=True)},
    ]
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"steps": steps, "changeSummary": {"same": 1}}))
    file = read_preview(path)
    assert names(file.before) == {"same", "update", "replaced", "delete"}
    assert names(file.after) == {"same", "create", "update", "replaced", "import"}
    assert one(file.after, "replaced").inputs == {"v": "new"}
    assert file.replaced == {resource("replaced")["urn"]}


def test_pending_deletions_are_said(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"deployment": {"resources": [resource("a"), resource("a", delete=True)]}}))
    plan = read_state(path)
    assert names(plan) == {"a"}
    assert "pending deletion" in plan.notes[0]


def test_what_a_preview_replaces_stands_before_it(tmp_path):
    """The engine marks the old state of a replacement as going; an earlier update's leftover is marked alike."""

    def going(name, number):
        return resource(name, delete=True, id=number)

    urn = resource("a")["urn"]
    steps = [
        {"op": "delete-replaced", "urn": urn, "oldState": going("a", "old")},
        {"op": "replace", "urn": urn, "oldState": going("a", "old"), "newState": resource("a")},
        {"op": "delete-replaced", "urn": urn, "oldState": going("a", "older")},
    ]
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"steps": steps}))
    file = read_preview(path)
    assert names(file.before) == names(file.after) == {"a"}
    assert [note for note in file.before.notes if "1 resource is pending deletion" in note]
    path.write_text(json.dumps({"steps": steps[:2]}))
    assert read_preview(path).before.notes == ()


# What `pulumi preview --save-plan` writes has only what changes, by how the inputs differ.


def test_an_update_plan_of_a_new_stack_is_whole():
    file = read_plan_file(FIXTURES / "update-plan-create.json")
    assert names(file.after) == {"p-dev", "a", "b"}
    assert file.before.resources == ()
    assert (one(file.after, "a").inputs["size"], one(file.after, "b").inputs["size"]) == (3, UNKNOWN)
    assert one(file.after, "b").protect
    assert one(file.after, "b").property_dependencies == {"size": (one(file.after, "a").urn,)}
    assert (file.after.project, file.after.stack) == ("p", "dev")


def test_an_update_plan_takes_what_does_not_change_from_what_stands():
    state = read_state(FIXTURES / "update-plan-state.json")
    file = read_plan_file(FIXTURES / "update-plan-change.json", state)
    assert names(file.before) == {"p-dev", "a", "b"}
    assert names(file.after) == {"p-dev", "a", "c"}
    assert (one(file.before, "a").inputs["size"], one(file.after, "a").inputs["size"]) == (3, 4)


def test_an_update_plan_without_what_stands_is_refused_with_both_ways_out(tmp_path):
    with pytest.raises(
        UsageError, match=r"only what changes of urn:.*::a\n  fix: add what stands, --state FILE"
    ) as caught:
        read_plan_file(FIXTURES / "update-plan-change.json")
    assert "--show-sames" in str(caught.value)
    other = Plan(project="q", stack="dev", resources=read_state(FIXTURES / "update-plan-state.json").resources)
    with pytest.raises(UsageError, match="the state given is of the stack dev of q"):
        read_plan_file(FIXTURES / "update-plan-change.json", other)
    newer = (FIXTURES / "update-plan-create.json").read_text(encoding="utf-8").replace('"create"', '"conjure"')
    (tmp_path / "plan.json").write_text(newer, encoding="utf-8")
    with pytest.raises(UsageError, match="a step is of the kind 'conjure'"):
        read_plan_file(tmp_path / "plan.json")


def test_an_empty_stack(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"version": 3, "deployment": {"manifest": {}}}')
    assert read_state(path).resources == ()
    path.write_text('{"steps": null, "changeSummary": {}}')
    assert read_preview(path).after.resources == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("  \n", "it is empty"),
        ("[]", "it begins with '['"),
        ("Previewing update (dev):", "it begins with 'P'"),
        ("{}", "no `steps`, `deployment` or `resourcePlans`"),
        ('{"resources": {"aws_instance": 1}}', "no `steps`, `deployment` or `resourcePlans`"),
        ('{"planned_values": {}, "resource_changes": []}', "it is Terraform's"),
        ('{"version": 4, "terraform_version": "1.9.0", "resources": []}', "it is Terraform's"),
        ('{"steps": [{"op": "create"', "cut short or not JSON"),
        ('{"steps": [{"op": "create"}} ', "cut short or not JSON"),
        ('{"steps": [1]}', "a step has no `op`"),
        ('{"steps": {"a": 1}}', "it has no `steps`"),
        ('{"steps": [{"op": "create", "newState": {"urn": "x"}}]}', "a resource has no URN and type"),
        ('{"deployment": {"resources": [3]}}', "a resource is not an object but int"),
        ('{"deployment": {"resources": [{"urn": "urn:pulumi:a::b::c::d", "type": "c", "inputs": []}]}}', None),
        ('{"deployment": {"resources": [{"urn": "urn:pulumi:a::b::c::d", "type": "c", "inputs": 3}]}}', "not an object"),
    ],
)  # fmt: skip
def test_other_files_get_one_message(tmp_path, text, says):
    path = tmp_path / "x.json"
    path.write_text(text)
    if says is None:
        read_plan_file(path)
        return
    with pytest.raises(UsageError) as caught:
        read_plan_file(path)
    assert says in str(caught.value)
    assert "fix: " in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read_plan_file(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b'{"steps": "\xff\xfe"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_plan_file(tmp_path / "b.json")


@pytest.mark.parametrize("name", ["preview-change-sames.json", "state.json", "update-plan-create.json"])
def test_cut_anywhere_there_is_one_message(tmp_path, name):
    text = (FIXTURES / name).read_text().rstrip()
    for place in range(1, len(text) - 1, 53):
        path = tmp_path / "cut.json"
        path.write_text(text[:place])
        with pytest.raises(UsageError, match=r"cut short or not JSON|neither|it is empty"):
            read_plan_file(path)


def test_pieces_that_end_anywhere_give_the_same_plan(monkeypatch):
    whole = read_preview(FIXTURES / "preview-change-sames.json")
    for size in (1, 7, 64):
        monkeypatch.setattr("sizewell.recording.sources.stream._CHUNK", size)
        assert read_preview(FIXTURES / "preview-change-sames.json") == whole


def test_the_evaluator_and_the_engine_agree_on_the_same_program(tmp_path):
    """The program that the engine previewed into the fixture, evaluated here."""
    pytest.importorskip("pulumi_aws")
    from sizewell.recording.evaluate import evaluate

    (tmp_path / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-east-1, small:pw: {secure: v1:x}}\n")
    (tmp_path / "__main__.py").write_text((FIXTURES / "small_program.py").read_text())
    ours = evaluate(tmp_path, "dev").by_urn()
    theirs = read_preview(FIXTURES / "preview-create.json").after.by_urn()
    assert ours.keys() == theirs.keys()
    for urn, resource in theirs.items():
        mine = ours[urn]
        for field in ("type", "name", "inputs", "parent", "custom", "protect", "retain_on_delete", "dependencies",
                      "property_dependencies", "provider", "secret_paths"):  # fmt: skip
            assert getattr(mine, field) == getattr(resource, field), (urn, field)


def test_a_preview_that_failed_before_its_first_step_is_named_as_that(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(
        '{"diagnostics": [{"message": "error: no stack named dev\\n", "severity": "error"}], "duration": 1}'
    )
    with pytest.raises(UsageError, match=r"the preview that wrote it failed: error: no stack named dev\n  fix: "):
        read_plan_file(file)


def test_a_preview_of_changes_alone_has_no_totals_and_its_change(tmp_path):
    """What stands beside the changes may be anything: neither a run-rate nor the absence of accelerators is known."""
    request = Request(root=tmp_path, on=date(2026, 10, 1), plan_files=(FIXTURES / "preview-change.json",))
    (stack,) = run_preview(request).stacks
    assert [row.sign for row in stack.unchanged.rows if row.component == "the plan"] == ["="]
    missing = open_ends([stack.model_copy(update={"rows": ()})])
    assert (missing.before, missing.after, missing.change) == (" + ?", " + ?", "")
    assert any("the file lists changes alone" in line for line in stack.failing)
