"""Trying machines out before they are trusted: their links, the file systems that they mount, the served model. Pure.

The threshold of the all-reduce follows from the catalog's figure for the slowest link on its way. How much of a figure
is a pass is an estimate, below what healthy machines of each kind were published to reach and above what a machine with
a broken link does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.launch import files, pods
from sizewell.launch.jobs import PORT, coordinator, jobset, packed
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.launch.serving import cold_start_s, engine_of
from sizewell.launch.training import between_slices, processes
from sizewell.sizing.errors import ConfigError, Fault

# Share of a link's figure that passes: estimates. Published all-reduce rates of healthy machines are at 75 to 95 % of
# NVLink and 80 to 95 % of InfiniBand or EFA, at half of GPUDirect-TCPX, at a third of what PCIe's lanes say.
WITHIN: Final = {"fast": 0.6, "pcie": 0.15}
BETWEEN: Final = {"efa": 0.6, "infiniband": 0.7, "gpudirect-rdma": 0.7, "gpudirect-tcpxo": 0.6, "gpudirect-tcpx": 0.4}
PLAIN: Final = 0.3  # of a network without RDMA
BYTES: Final = 2**32
TPU_BYTES: Final = (
    2**30
)  # a chip may have 16 GiB; its rate is printed and not judged: no figure of a healthy slice is known
SECONDS: Final = 120


def threshold(launch: Launch) -> float:
    """Bus bytes per second that pass: of the slowest link on the way, a share; 0 where the catalog knows none.

    Rates are one direction's. Between machines the ring passes all of a machine's cards at once, so the machine's whole
    fabric counts; inside it the link of one device.
    """
    machine = launch.machine
    rates = []
    if machine.devices > 1 and machine.link_bytes_per_s:
        rates.append(machine.link_bytes_per_s * WITHIN["fast" if machine.fast > 1 else "pcie"])
    if launch.nodes > 1 and machine.fabric_bytes_per_s and (launch.target.rdma[0] or launch.target.fabric):
        rates.append(machine.fabric_bytes_per_s * BETWEEN.get(machine.fabric, PLAIN))
    elif launch.nodes > 1 and machine.network_bytes_per_s:
        rates.append(machine.network_bytes_per_s * PLAIN)
    return min(rates, default=0.0)


def all_reduce(launch: Launch) -> list[Manifest]:
    """The links of a pool: every machine of it, every device, a few minutes; the JobSet fails where one is slow.

    On a TPU slice it fails where a chip does not join or sums wrongly.
    """
    if launch.machine.runtime == "neuron":
        fault = Fault(
            path=launch.plan.instance_type,
            message=f"cannot be tested with an all-reduce by Sizewell: its devices are {launch.machine.runtime}",
            fix="run the vendor's nccom-test, which is in its image, in a pod or session of your own",
        )
        raise ConfigError([fault], subject="burn-in")
    launch = _alone(launch, f"{launch.name}-burn-in")
    tpu, several = launch.machine.runtime == "tpu", launch.nodes > 1
    mine = {name: files.script(name) for name in ("all_reduce.py", "all_reduce_jax.py" if tpu else "spawn.py")}
    name = pods.scripts_name(launch.name, mine)
    env: dict[str, object] = {
        **pods.network_env(launch.machine, launch.target, several=several),
        **between_slices(launch),
    }
    if not tpu:
        env["SIZEWELL_NODES"] = str(launch.nodes)
        env["SIZEWELL_COORDINATOR"] = f"{coordinator(launch.name)}:{PORT}" if several else f"127.0.0.1:{PORT}"
    words = ["--bytes", str(TPU_BYTES if tpu else BYTES), "--least", f"{0 if tpu else threshold(launch):.4g}"]
    line = [f"{pods.SCRIPTS}/spawn.py", "--processes", str(processes(launch)), f"{pods.SCRIPTS}/all_reduce.py"]
    line = [f"{pods.SCRIPTS}/all_reduce_jax.py"] if tpu else line
    pod = pods.template(
        launch,
        pods.Container(
            command=["python3", *line, *words],
            fixed=True,
            env=env,
            files=name,
            ports={"rendezvous": PORT} if several else {},
        ),
        devices=launch.machine.devices,
        annotations=packed(launch.target) if several else None,
        grace=30,
    )
    test = jobset(launch, pod, pods=launch.nodes, deadline_s=1800, keep_s=3600)
    test["spec"]["failurePolicy"] = {"maxRestarts": 0}  # a slow link is an answer, not a failure to repeat
    return [pods.account(launch), pods.scripts(launch, mine), pods.among_themselves(launch), test]


def reads(launch: Launch) -> list[Manifest]:
    """The volumes that a run mounts: every machine reads at once; a job fails where one gets less than its share."""
    least, objects = launch.plan.data_bytes_per_s / launch.nodes, []
    for claim, path in launch.run.claims:
        alone = _alone(launch, f"{launch.name}-reads-{claim}")
        mine = {"read_files.py": files.script("read_files.py")}
        line = ["python3", f"{pods.SCRIPTS}/read_files.py", "--folder", path, "--least", f"{least:.4g}"]
        pod = pods.template(
            alone,
            pods.Container(command=line, fixed=True, files=pods.scripts_name(alone.name, mine)),
            devices=alone.machine.devices,  # a machine to each
            grace=30,
        )
        test = jobset(alone, pod, pods=alone.nodes, deadline_s=1800, keep_s=3600)
        test["spec"]["failurePolicy"] = {"maxRestarts": 0}
        objects += [pods.account(alone), pods.scripts(alone, mine), test]
    return objects


def load_test(launch: Launch) -> list[Manifest]:
    """The served model under the decision's own load, against the decision's own promises, from one CPU pod."""
    task, figures = launch.task, launch.plan.figures
    served = launch.name
    launch = _alone(launch, f"{launch.name}-load")
    mine = {"load_test.py": files.script("load_test.py")}
    words = ["--url", f"http://{served}.{launch.run.namespace}.svc", "--model", launch.plan.name]
    words += ["--rate", f"{max(0.1, figures.get('requests_per_s', 1.0)):.4g}"]
    words += ["--seconds", str(SECONDS), "--percentile", f"{task.percentile or 0.95:g}"]
    if engine_of(launch).protocol == "kserve-v2":
        side = task.resolution or 224
        words += ["--shape", f"1x3x{side}x{side}"]
    else:
        words += ["--input-tokens", str(task.input_tokens or 512), "--output-tokens", str(task.output_tokens or 256)]
    for flag, most in (("--ttft", task.ttft_s), ("--tpot", task.tpot_s), ("--latency", task.latency_s)):
        words += [flag, f"{most:g}"] if most else []
    pod = pods.template(
        launch,
        pods.Container(
            command=["python3", f"{pods.SCRIPTS}/load_test.py", *words],
            fixed=True,
            files=pods.scripts_name(launch.name, mine),
        ),
        devices=0,
        grace=30,
    )
    spec = pod["spec"]
    spec["nodeSelector"], spec["tolerations"] = {}, []  # beside the model, not on its machines
    small = {"cpu": "2", "memory": "2048Mi"}
    spec["containers"][0]["resources"] = {"requests": dict(small), "limits": dict(small)}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": launch.metadata(),
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": SECONDS + cold_start_s(launch) * 2,
            "ttlSecondsAfterFinished": 3600,
            "template": pod,
        },
    }
    return [pods.account(launch), pods.scripts(launch, mine), job]


def _alone(launch: Launch, name: str) -> Launch:
    """A launch of the test's own: another name, and an account that may do nothing at all."""
    named = launch.named(name)
    return replace(named, target=replace(launch.target, account=named.name, account_annotations={}, pod_labels={}))
