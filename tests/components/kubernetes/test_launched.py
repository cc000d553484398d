"""What runs on a cluster, as components: the same manifests as from a decision, what they refuse, and their schema."""

import dataclasses
import re
import warnings
from pathlib import Path

import gcp_recording
import launch_cases
import pulumi
import pytest
import sdk_types
from aws_recording import children, listing, plain, record, refusals
from pulumi.provider.experimental.analyzer import Analyzer

from sizewell.components.kubernetes import inside
from sizewell.components.kubernetes import run_args as to
from sizewell.components.kubernetes.burn_in import BurnIn
from sizewell.components.kubernetes.notebook import NotebookServer
from sizewell.components.kubernetes.serving import ServedModel
from sizewell.components.kubernetes.training import BatchRun, TrainingRun
from sizewell.launch.manifests import manifests, trials

OWNED = {**gcp_recording.OWNED, "kubeconfig": "{}"}
PROD = {**gcp_recording.PROD, "kubeconfig": "{}"}
KINDS = {
    "training": (TrainingRun, to.TrainingRunArgs),
    "batch-inference": (BatchRun, to.BatchRunArgs),
    "inference": (ServedModel, to.ServedModelArgs),
    "notebook": (NotebookServer, to.NotebookServerArgs),
}


def arguments(case, component=None):
    """The arguments of the component that a setting belongs to."""
    of = launch_cases.CASES[case]()
    cls, shape = KINDS[of.plan.kind] if component is None else (component, to.BurnInArgs)
    owned = OWNED if of.plan.expires_at else PROD
    args = {**owned, **to.args_of(of, shape)}
    if of.plan.guard and component is None:
        args["guard"] = of.plan.guard.model_dump()
    if of.plan.hours and component is None:
        hours = of.plan.hours
        windows = [dict(zip(("days", "start", "end"), window, strict=True)) for window in hours.windows]
        args["schedule"] = {"time_zone": hours.time_zone, "windows": windows}
    return of, cls, args


@pytest.mark.parametrize("case", launch_cases.CASES)
def test_arguments_say_all_that_the_manifests_follow_from(case):
    of, _, args = arguments(case)
    again = to.launch_of_args(of.name, of.plan.kind, of.plan.stack, args)
    of = dataclasses.replace(
        of, plan=dataclasses.replace(of.plan, name=of.name)
    )  # a component knows its own name alone
    assert manifests(again) == list(manifests(of))


@pytest.mark.parametrize("case", launch_cases.CASES)
def test_arguments_give_the_plan_that_the_decision_gives(case):
    """Nothing in it is invented: each field is what the decision says, beside two that arguments spell otherwise and
    the machines' boot disk and what it holds of weights, which is checked before there are any arguments.
    """
    of, _, args = arguments(case)
    again = to.plan_of(of.name, of.plan.kind, of.plan.stack, args | {"environment": of.plan.environment})
    scheduler = "kubernetes" if of.plan.scheduler == "none" else of.plan.scheduler
    assert again == dataclasses.replace(of.plan, scheduler=scheduler, name=of.name, disk_bytes=0, weights_bytes=0)


@pytest.mark.parametrize("case", ["eks-training", "coreweave", "serve-shared", "serve-pictures"])
def test_arguments_say_all_that_a_burn_in_follows_from(case):
    of, _, args = arguments(case, BurnIn)
    kind = "inference" if args.get("served") else "training"
    assert trials(to.launch_of_args(of.name, kind, of.plan.stack, args)) == [
        {**one, "metadata": {**one["metadata"], "labels": {**one["metadata"]["labels"]}}} for one in trials(of)
    ]


FORMS = {
    "training-dev": ("eks-spot", None),
    "training-prod": ("eks-training", None),
    "batch-dev": ("batch", None),
    "batch-prod": ("batch", None),
    "served-dev": ("serve-hours", None),
    "served-prod": ("serve-groups", None),
    "notebook-dev": ("notebook", None),
    "notebook-prod": ("notebook", None),
    "burn-in-dev": ("eks-spot", BurnIn),
    "burn-in-prod": ("serve-shared", BurnIn),
}


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    of, cls, args = arguments(*FORMS[form])
    args |= {"environment": form.rpartition("-")[2]}
    resources = record(lambda: cls(of.name, args), stack=of.plan.stack)
    for one in children(resources):
        inputs = {key: value for key, value in plain(one.inputs).items() if value is not None}
        assert sdk_types.faults(one.type, inputs) == [], f"{one.type} {one.name}"
        assert cls.__name__ in one.parent
        assert "default" not in one.provider
    for one in resources:  # the text of scripts has tests of its own
        if one.type.endswith(":ConfigMap"):
            assert all(name.endswith(".py") for name in one.inputs["data"])
    short = [one for one in resources if not one.type.endswith(":ConfigMap")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gcp_recording, "GOLDENS", Path(__file__).parent / "goldens")
        patch.setattr(gcp_recording, "listing", lambda found: without_hash(listing(found)))
        gcp_recording.golden(form, short)


def without_hash(text):
    import re

    return re.sub(r"-scripts-[0-9a-f]{8}", "-scripts-HASH", text)


def test_the_kubeconfig_is_told_to_nobody():
    of, cls, args = arguments("eks-spot")
    resources = record(lambda: cls(of.name, {**args, "kubeconfig": "token-7f3a"}))
    assert "token-7f3a" not in listing([one for one in resources if not one.type.startswith("pulumi:providers")])


def test_an_update_ends_when_a_job_is_made_and_runs_nothing_twice():
    of, cls, args = arguments("eks-spot")
    resources = record(lambda: cls(of.name, args))
    job = next(one for one in resources if one.type.endswith(":JobSet"))
    assert job.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    assert "ttlSecondsAfterFinished" not in job.inputs["spec"], "what is gone would be made again"
    made = [one for one in resources if one.custom]
    assert made.index(job) > max(
        made.index(one) for one in made if one.type.endswith((":ServiceAccount", ":ConfigMap"))
    )


def change(args, path, value):
    """`args` with one value put in place, or taken away."""
    head, _, rest = path.partition(".")
    inner = change(args.get(head, {}), rest, value) if rest else value
    return {key: item for key, item in {**args, head: inner}.items() if item is not ...}


@pytest.mark.parametrize(
    ("path", "value", "at", "sentence"),
    [
        ("machines.selector", {}, "machines.selector", "pods could be scheduled on any machine"),
        ("machines.nodes", 0, "machines.nodes", "from 1 on, got 0"),
        ("machines.instance_type", "p5.tiny", "machines.instance_type", "is not in the catalog"),
        ("machines.instance_typ", "x", "machines.instance_typ", "did you mean instance_type"),
        ("machines.capacity_mode", "cheap", "machines.capacity_mode", "must be one of on-demand"),
        ("machines.rdma_resource", "rdma/ib", "machines.rdma_count", "is missing: how many"),
        ("container.image", "train", "container.image", "an image with a tag"),
        ("container.env", {"HF_TOKEN": "x"}, "container.env.HF_TOKEN", "put HF_TOKEN into a Secret"),
        ("container.namespace", "kube-system", "container.namespace", "belong to the cluster"),
        ("store", "my-bucket", "store", "must be a URI"),
        ("store", ..., "checkpoint", "is lost with its machines"),
        ("task.method", "qlora", "task.method", "do not shard"),
        ("parallelism.pipeline", 2, "parallelism.pipeline", "support data and tensor parallelism only"),
        ("owner", "", "owner", "is empty"),
        ("environment", "live", "environment", "must be one of dev"),
        ("guard", {"action": "kill"}, "guard.action", "must be scale-to-zero or notify"),
    ],
)
def test_refuses(path, value, at, sentence):
    _, cls, args = arguments("eks-spot")
    args = change(args, path, value)
    found = refusals(cls, args)
    assert any(where == at and sentence in text for where, text in found), found


def test_refuses_a_served_model_that_cannot_be():
    _, cls, args = arguments("serve-hours")
    found = refusals(cls, {**args, "replicas": {"min": 3, "initial": 1, "max": 2, "devices_per_replica": 1}})
    assert any("0 <= min <= max" in text for _, text in found)
    found = refusals(cls, {**args, "task": {**args["task"], "weights": "int8"}})
    assert any("have to be prepared beforehand" in text for _, text in found)


@pytest.mark.parametrize("cls", [TrainingRun, BatchRun, ServedModel, NotebookServer, BurnIn])
def test_other_languages_can_use_it(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Analyzer("sizewell-kubernetes").analyze([cls])["component_definitions"][cls.__name__]
    needed = {key for key, one in found.inputs.items() if not one.optional}
    assert {"owner", "environment", "kubeconfig", "machines", "container"} <= needed
    assert [key for key, one in found.outputs.items() if not one.description] == []


def test_arguments_are_named_as_the_decision_has_them():
    for shape, record_type in (
        (to.TaskArgs, to.Task),
        (to.ParallelismArgs, to.Parallelism),
        (to.ReplicasArgs, to.Replicas),
    ):
        assert shape.__annotations__.keys() == record_type.model_fields.keys()
    assert to.ContainerArgs.__annotations__.keys() == set(to.Run.__slots__)


def test_every_cluster_is_reached_with_a_secret():
    """One place makes the providers of clusters, and there the kubeconfig becomes a secret of the state."""
    rooms = Path(inside.__file__).parents[1]
    makers = [
        path.name for path in rooms.rglob("*.py") if re.search(r"make\(\s*kubernetes\.Provider", path.read_text())
    ]
    assert makers == ["inside.py"]
    of, cls, args = arguments("eks-spot")
    with pytest.MonkeyPatch.context() as patch:
        secrets = []
        patch.setattr(pulumi.Output, "secret", staticmethod(lambda value: secrets.append(value) or value))
        record(lambda: cls(of.name, args), stack=of.plan.stack)
    assert args["kubeconfig"] in secrets


def test_a_run_without_its_task_is_told_what_to_give_and_not_that_it_is_old():
    _, cls, args = arguments("eks-training")
    found = str(refusals(cls, {key: value for key, value in args.items() if key != "task"}))
    assert "task: is missing: the entry scripts go by the model and the method" in found
    assert "give the run its task" in found
    assert "older version" not in found
