"""Every workload of every example decision, in every form: it starts without a command of the user's own, or the
refusal names the one line to write, and with that line it starts."""

import functools
import importlib
import json
import re
from pathlib import Path

import pytest

from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.launch import machines, reach, serving, slurm
from sizewell.launch.launch import launch_of
from sizewell.launch.manifests import manifests, trials
from sizewell.launch.run import Run
from sizewell.sizing.billing import standing
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Decision

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "stacks/decisions").glob("*.json"))
# The value of each line that a refusal may name.
LINES = {
    "command": ("python3", "/opt/train/mine.py"),
    "model": "/models/mine",
    "output": "s3://petsnap/answers",
    "image": "registry.example/mine:1.0",
}
SERVICES = ("sagemaker", "hyperpod", "vertex", "cloud-run", "azureml")  # start what their own configuration names


def workloads():
    for path in DECISIONS:
        decision = Decision.from_json(path)
        for workload in decision.workloads:
            for pool in workload.pools:
                target = standing.target_of(
                    pool.managed, workload.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet"
                )
                if target not in SERVICES:
                    yield pytest.param(decision, workload, pool, target, id=f"{path.stem}-{pool_name(workload, pool)}")


def made(decision, workload, pool, **run):
    how = Settings(project="sizewell", stack=decision.stack, organization="petsnap")
    cloud = importlib.import_module(f"sizewell.components.{pool.cloud}.launching")
    target = cloud.target(decision, workload, pool, how)
    of = launch_of(decision, workload, pool, Run(image="registry.example/mine:1.0"), target)
    if workload.kind == "inference":
        image = serving.engine_of(of).images.get(of.machine.runtime)
        run.setdefault("image", f"{image}:v0.12.0" if image else "registry.example/mine:1.0")
    return launch_of(decision, workload, pool, Run(**{"image": "registry.example/mine:1.0", **run}), target)


def forms(of, target):
    """What may be started of a workload, by name."""
    found = {"manifests": lambda: manifests(of), "burn-in": lambda: trials(of)}
    if of.plan.kind in slurm.KINDS and of.machine.runtime != "tpu":
        found |= {"slurm": lambda: slurm.script(of), "slurm burn-in": lambda: slurm.burn_in(of)}
    if target in ("machines", "fleet"):
        found["machine"] = lambda: machines.first_boot(of, region="us-east-1")
    return found


def started(of, target, name, *, internet):
    reach.check(of, internet=internet or "burn-in" in name)
    return forms(of, target)[name]()


@pytest.mark.parametrize("internet", [True, False], ids=["with the internet", "without"])
@pytest.mark.parametrize(("decision", "workload", "pool", "target"), workloads())
def test_it_starts_or_the_refusal_names_the_line(decision, workload, pool, target, internet):
    for name in forms(made(decision, workload, pool), target):
        run = {}
        for _ in range(3):  # each refusal names all faults of one kind
            try:
                assert started(made(decision, workload, pool, **run), target, name, internet=internet)
                break
            except ConfigError as error:
                at = workload.spec.name
                for fault in error.faults:
                    keys = re.findall(rf"run\.{re.escape(at)}\.(\w+)", f"{fault.path} {fault.fix}")
                    keys = [key for key in keys if key in LINES and key not in run]
                    assert keys, f"{name}: {fault}: names no line of run.{at}"
                    run[keys[-1]] = LINES[keys[-1]]
        else:
            pytest.fail(f"{name}: still refused with {run}")


@pytest.mark.parametrize(
    "run", [{}, {"command": ("run",)}, {"model": "/models/mine", "output": "s3://petsnap/answers"}]
)
@pytest.mark.parametrize(("decision", "workload", "pool", "target"), workloads())
def test_any_form_is_made_or_refused_with_the_way_out(decision, workload, pool, target, run):
    """Also the forms that a person asks for where the decision has another: `launch --format`."""
    of = made(decision, workload, pool, **run)
    boot = functools.partial(machines.first_boot, region="us-east-1")
    refused = []
    for form in (manifests, trials, slurm.script, slurm.burn_in, boot):
        try:
            assert form(of)
        except ConfigError as error:
            refused += error.faults
    assert [fault for fault in refused if not (fault.fix or fault.allowed)] == []


@pytest.mark.parametrize(("decision", "workload", "pool", "target"), workloads())
def test_two_runs_of_a_workload_share_no_object(decision, workload, pool, target):
    """But the account, which the cloud knows by its name; no selector of one matches the other's pods."""
    first, second = (
        manifests(made(decision, workload, pool, command=("run",), prefix=prefix)) for prefix in ("main", "second")
    )
    names = [{(one["kind"], one["metadata"]["name"]) for one in found} for found in (first, second)]
    assert {kind for kind, _ in names[0] & names[1]} <= {"ServiceAccount"}
    label = "app.kubernetes.io/name"
    said = [set(re.findall(rf'"{label}": "([^"]+)"', json.dumps(found))) for found in (first, second)]
    assert not said[0] & said[1] - {first[0]["metadata"]["name"]}
