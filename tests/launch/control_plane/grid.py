"""Every form of what runs, on every kind of cluster, in every way to get machines: settings with their pools' flavors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import launch_cases as cases
from decisions import decision, pool, training, workload

from sizewell.components.aws.eks.node_config import queue_flavor as eks_flavor
from sizewell.components.azure.aks.node_config import queue_flavor as aks_flavor
from sizewell.components.gcp.node_pools import queue_flavor as gke_flavor
from sizewell.components.machines import find_shape
from sizewell.launch.launch import Launch, launch_of
from sizewell.launch.target import aks_target, beside, eks_target, gke_target, other_target
from sizewell.sizing.records.decision import Capacity, Parallelism, Storage

GANGS = {
    "eks": ("aws", "p5.48xlarge", "h100-sxm", 8),
    "gke": ("gcp", "a3-megagpu-8g", "h100-sxm", 8),
    "aks": ("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8),
    "other": ("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8),
}
SINGLES = {
    "eks": ("aws", "g6.xlarge", "l4", 1),
    "gke": ("gcp", "g2-standard-4", "l4", 1),
    "aks": ("azure", "Standard_NC40ads_H100_v5", "h100-nvl", 1),
    "other": ("azure", "Standard_NC40ads_H100_v5", "h100-nvl", 1),
}
MODES = {
    "eks": ("on-demand", "spot", "reservation", "capacity-block"),
    "gke": ("on-demand", "spot", "reservation", "flex-start", "queued"),
    "aks": ("on-demand", "spot", "reservation"),
    "other": ("on-demand",),
}
OTHERS = {  # gangs on accelerators that one cloud has: (form, machines of it, how many make a job)
    "gke": {"training, TPU": (("gcp", "ct6e-standard-4t", "tpu-v6e", 4), 4)},
    "eks": {"training, Neuron": (("aws", "trn1.32xlarge", "trainium1", 16), 2)},
    "aks": {"training, AMD": (("azure", "Standard_ND96is_MI300X_v5", "mi300x", 8), 2)},
}
# forms that wait in a queue until all of their machines are theirs
GROUPED = ("training", "ray", "batch", "groups", *(form for forms in OTHERS.values() for form in forms))
FORMS = ("training", "ray", "batch", "groups", "served", "kserve", "notebook")
SELECTOR = "gpu.nvidia.com/class"  # CoreWeave's label, for a cluster that is somebody else's
LAYOUT = Parallelism(data=16, tensor=1, zero_stage=3)
STORES = {"aws": "s3://petsnap-state", "gcp": "gs://petsnap-state", "azure": "az://petsnap/state"}


def rows() -> list[tuple[str, str]]:
    return [(cluster, mode) for cluster, modes in MODES.items() for mode in modes]


def settings(cluster: str, mode: str) -> Iterator[tuple[str, Launch, dict]]:
    """(form, setting in a namespace of its own, flavor of its pool): one pool and one queue for each form."""
    for form in (*FORMS, *OTHERS.get(cluster, {})):
        name, space = f"{form.replace(', ', '-').lower()}-{cluster}", f"{cluster}-{mode}"
        kind, gang = OTHERS.get(cluster, {}).get(form) or ((GANGS if form in GROUPED else SINGLES)[cluster], 2)
        capacity = cases.WINDOW if mode == "capacity-block" else Capacity(mode=mode)
        standing = mode == "reservation" or (form in GROUPED and mode == "on-demand")
        role = {"served": "replicas", "kserve": "replicas", "groups": "replicas", "notebook": "notebook"}.get(form)
        machines = gang if form in GROUPED else 1
        of = pool(
            *kind,
            nodes=(machines if standing else 0, machines, machines),
            mode=mode,
            capacity=capacity,
            **({"role": role} if role else {}),
            **({"tpu_topology": "4x4"} if form.endswith("TPU") else {}),
        )
        one, run = _work(form, name, of)
        run = dataclasses.replace(run, namespace=space)
        store = STORES[of.cloud] if form in GROUPED and form != "groups" else ""
        flavor = flavor_of(cluster, one, of, name)
        levels = tuple(flavor.get("topology_levels", ()))
        if cluster == "eks":
            target = eks_target(one, of, name=name, queue=name, levels=levels, store=store)
        elif cluster == "gke":
            fabric = "gpudirect-tcpxo" if form in GROUPED and levels else ""
            target = gke_target(of, name=name, label=name, queue=name, levels=levels, store=store, fabric=fabric)
        elif cluster == "aks":
            target = aks_target(one, of, name=name, client="1" * 8, queue=name, store=store)
        else:
            target = other_target(of, name=name, selector={SELECTOR: name}, rdma=_rdma(form), queue=name, store=store)
        yield form, launch_of(decision("prod", one), one, of, run, target), flavor


def flavor_of(cluster: str, one, of, name: str) -> dict:
    """As the cluster's own component makes it for the pool."""
    shape = find_shape(of.cloud, of.instance_type)
    args = {"capacity_mode": of.capacity.mode, "nodes_min": of.nodes_min, "nodes_max": of.nodes_max}
    if cluster == "eks":
        return eks_flavor(args, shape, queue=name, beside=beside(eks_target(one, of, name=name)))
    if cluster == "aks":
        return aks_flavor(args, shape, queue=name, beside=beside(aks_target(one, of, name=name)))
    if cluster == "gke":
        labels = {"sizewell-workload": name}
        slices = {"tpu_topology": of.tpu_topology} if of.tpu_topology else {}
        return gke_flavor({**args, **slices, "gang": of.nodes_max > 1, "labels": labels}, shape, queue=name, pools=2)
    target = other_target(of, name=name, selector={SELECTOR: name}, rdma=_rdma(name.partition("-")[0]))
    flavor = aks_flavor(args, shape, queue=name, beside=beside(target))
    return {**flavor, "node_labels": dict(target.selector), "tolerations": []}


def _rdma(form: str) -> str:
    return "rdma/ib" if form in GROUPED else ""


def _work(form: str, name: str, of):
    if form.endswith("TPU"):
        own = {"model": None, "dimensions": {"layers": 24, "hidden": 2560, "heads": 20}}
        return training(name, of, task=cases.BIG.model_copy(update=own), framework="jax"), cases.run()
    if form.startswith("training") or form == "ray":
        scheduler = {"scheduler": "ray"} if form == "ray" else {}
        one = training(name, of, task=cases.BIG, **scheduler).model_copy(update={"parallelism": LAYOUT})
        return one, cases.run("rayproject/ray:2.50.0-gpu" if form == "ray" else cases.IMAGE)
    if form == "notebook":
        return workload(name, "notebook", of), cases.run("quay.io/jupyter/pytorch-notebook:2026-11-01")
    if form == "batch":
        task = cases.CHAT.model_copy(update={"model": "meta-llama/Llama-3.1-8B", "records": 10**6, "ttft_s": None})
        stands = Storage(kind="object", bytes=10**11, location=f"{STORES[of.cloud]}/captions")
        made = workload(
            name,
            "batch-inference",
            of,
            task=task,
            performance=cases.BATCHED,
            replicas=cases.replicas(0, 16, 16, 1, 100),
            storage=stands,
        )
        return made, cases.run(cases.VLLM)
    if form == "groups":
        one, _ = cases.serve(machines=of, count=cases.replicas(1, 1, 1, 16), task=cases.CHAT)
        return one, cases.run(cases.SEVERAL_MACHINES)
    one, _ = cases.serve(machines=of, count=cases.replicas(1, 1, 2, 1))
    return one, cases.run(cases.VLLM, form="kserve" if form == "kserve" else "deployment")
