"""What every child of a component gets without being told, and what the table of names says of the clouds' kinds."""

import ast
import functools
import importlib
import inspect
import re
from pathlib import Path

import pulumi
import pytest
from aws_recording import ROOT
from pulumi_aws import autoscaling, sns, sqs
from pulumi_gcp import monitoring, storage
from stacks_recording import recorded

from sizewell.components import owned
from sizewell.components.aws import Network
from sizewell.components.names import NAMES
from sizewell.components.owned import Owned, kept, token_of
from sizewell.components.tags import physical_name
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.registration import REGISTRATION_KEY, Registration

OWNED = {"environment": "dev", "owner": "ml-platform", "expires": "2026-12-31"}


class Sample(Owned):
    """A component of nothing but what a test puts into it."""

    @classmethod
    def token(cls):
        return "sizewell-aws:index:Sample"

    def __init__(self, name, build):
        super().__init__(name, OWNED, None, kind="storage", bytesExpected={"floor": 1.0})
        build(self)
        self.register_outputs({})


def made(build):
    """The resources of a component, by name."""
    resources = evaluate(ROOT, "dev-aws", program=lambda: Sample("sample", build)).resources
    return {resource.name: resource for resource in resources}


@functools.cache
def kinds_made():
    """Token -> class of every resource that a component makes, read from the components' own text."""
    kinds = {}
    for path in sorted((ROOT / "src" / "sizewell" / "components").rglob("*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "make":
                kind = ast.unparse(node.args[0])
                if kind.split(".")[0] in vars(module):
                    value = eval(kind, vars(module))  # noqa: S307  (our own text)
                    if inspect.isclass(value):
                        kinds[token_of(value)] = value
    return kinds


def arguments(kind):
    return inspect.signature(kind._internal_init).parameters


def test_a_child_is_named_tagged_and_has_its_parent():
    queue = made(lambda owner: owner.make(sqs.Queue, "sample-lost", message_retention_seconds=60))["sample-lost"]
    assert queue.inputs["name"] == "sizewell-dev-aws-sample-lost"
    assert queue.inputs["messageRetentionSeconds"] == 60
    assert queue.inputs["tags"]["sizewell-owner"] == "ml-platform"
    assert queue.inputs["tags"]["sizewell-expires"] == "2026-12-31"
    assert queue.parent.endswith("sizewell-aws:index:Sample::sample")


def test_what_the_component_says_itself_holds():
    def build(owner):
        owner.make(sns.Topic, "sample-costs", name="mine", tags={"a": "b"})
        owner.make(autoscaling.Policy, "sample-stop", name=owner.name_of(sns.Topic, "x"), autoscaling_group_name="g")

    resources = made(build)
    assert resources["sample-costs"].inputs["name"] == "mine"
    assert resources["sample-costs"].inputs["tags"] == {"a": "b"}
    assert resources["sample-stop"].inputs["name"] == "sizewell-dev-aws-x"
    assert "tags" not in resources["sample-stop"].inputs


def test_a_name_is_cut_to_what_its_kind_allows():
    long = "sample-" + "x" * 100
    name = made(lambda owner: owner.make(sqs.Queue, long))[long].inputs["name"]
    assert len(name) == NAMES["aws:sqs/queue:Queue"].characters == 80


def test_options_are_the_childs_own_and_are_not_changed():
    options = kept(ignore_changes=["policy"])

    def build(owner):
        owner.make(sns.Topic, "sample-a", opts=options)
        owner.make(sns.Topic, "sample-b", opts=options)

    resources = made(build)
    for name in ("sample-a", "sample-b"):
        assert resources[name].parent.endswith("::sample")
        assert resources[name].protect
        assert resources[name].retain_on_delete
        assert resources[name].ignore_changes == ("policy",)
    assert options.parent is None


def test_labels_of_google_cloud_are_those_that_the_bill_shows():
    def build(owner):
        owner.make(storage.Bucket, "sample-data", location="US")
        owner.make(monitoring.NotificationChannel, "sample-mail", type="email", labels={"email_address": "a@b.c"})

    resources = made(build)
    assert resources["sample-data"].inputs["labels"]["managed-by"] == "sizewell"
    assert resources["sample-mail"].inputs["labels"] == {"email_address": "a@b.c"}
    assert resources["sample-mail"].inputs["userLabels"]["managed-by"] == "sizewell"


def test_a_class_that_a_project_derives_has_its_components_token():
    derived = type("TeamNetwork", (Network,), {"__module__": "team.network"})
    assert derived.token() == Network.token() == "sizewell-aws:index:Network"


def test_every_kind_in_the_table_is_made_and_takes_such_a_name():
    for token, limit in NAMES.items():
        assert limit.argument in arguments(kinds_made()[token]), f"{token} has no argument {limit.argument}"
        assert 20 <= limit.characters <= 500, token


def test_a_kind_has_tags_where_its_arguments_have():
    """`make` asks the class for its outputs; an output without an argument would be refused by the SDK."""
    for token, kind in kinds_made().items():
        argument = owned._tag_argument(kind)
        taken = [key for key in ("tags", *CLOUDS.gcp.provider.tag_arguments) if key in arguments(kind)]
        assert bool(argument) == bool(taken), token
        assert not argument or argument in taken, token


@pytest.mark.parametrize("stack", ["dev-aws", "dev-azure", "dev-gcp"])
def test_a_registration_has_the_keys_of_its_record(stack):
    for resource in recorded(stack):
        if REGISTRATION_KEY in resource.inputs and resource.type.startswith("sizewell-"):
            record = resource.inputs[REGISTRATION_KEY]
            assert set(record) <= set(Registration.__annotations__), resource.type
            assert {"kind", "name", "environment", "owner"} <= set(record), resource.type


def test_every_component_makes_its_children_by_make():
    """A resource that a component makes past `make` would have neither tags nor a parent."""
    past = []
    for path in sorted((ROOT / "src" / "sizewell" / "components").rglob("*.py")):
        if path.name == "program.py" or "pulumi_" not in path.read_text():
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func).split(".")[0] not in vars(module):
                continue
            try:
                value = eval(ast.unparse(node.func), vars(module))  # noqa: S307  (our own text)
            except (AttributeError, NameError):
                continue
            if inspect.isclass(value) and issubclass(value, pulumi.CustomResource):
                past.append(f"{Path(path).relative_to(ROOT)}:{node.lineno}")
    assert past == []


def test_what_is_inside_of_a_cluster_goes_with_it():
    """By the kubeconfig that the cluster's component gave; a cluster that somebody else built takes nothing along."""
    given = []

    class Release(pulumi.CustomResource):
        def __init__(self, name, opts=None):
            given.append(opts.deleted_with)
            super().__init__("kubernetes:helm.sh/v3:Release", name, {}, opts)

    Release.__module__ = "pulumi_kubernetes.helm.v3.Release"

    def build(self):
        cluster = self.make(sns.Topic, "cluster")
        theirs = pulumi.Output.secret("theirs")
        for kubeconfig in (owned.reaching(cluster, pulumi.Output.secret("ours")), theirs, "text"):
            self._args = {**self._args, "kubeconfig": kubeconfig}
            self.make(Release, f"release-{len(given)}")
        self.make(sqs.Queue, "beside")
        assert given == [cluster, None, None]

    assert len(made(build)) >= 5


@pytest.mark.parametrize(
    "names", [("Train_1", "Train.1", "train-1"), ("a-b", "A_b", "A-B"), ("x" * 90 + "a", "x" * 90 + "A")]
)
@pytest.mark.parametrize("limit", [12, 30, 40, 63])
def test_names_that_differ_stay_apart_when_they_are_cleaned(names, limit):
    made = {physical_name("sizewell", "dev", name, limit=limit) for name in names}
    assert len(made) == len(names)
    assert all(len(name) <= limit and re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name) for name in made)
    assert physical_name("sizewell", "dev", "chat", limit=40) == "sizewell-dev-chat"
