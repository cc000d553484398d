"""Workloads on clusters of every kind, as settings that manifests follow from."""

import dataclasses

from decisions import HOURS, decision, pool, serving, workload
from decisions import training as trained

from sizewell.launch.launch import launch_of
from sizewell.launch.run import Run
from sizewell.launch.target import aks_target, eks_target, gke_target, other_target
from sizewell.sizing.records.decision import Capacity, CapacityBlock, Parallelism, Performance, Replicas, Storage, Task

IMAGE = "registry.example/train:2.8.0"
VLLM = "vllm/vllm-openai:v0.11.0"
SEVERAL_MACHINES = "vllm/vllm-openai:v0.12.0"
ROCM = "rocm/vllm:v0.11.0"
BIG = Task(
    model="meta-llama/Llama-3.1-8B",
    family="decoder",
    precision="bf16",
    method="pretrain",
    optimizer="adamw",
    sequence_length=8192,
    samples_per_step=512,
    steps=13000,
    deadline_s=259200.0,
)
CHAT = Task(
    model="meta-llama/Llama-3.1-70B",
    family="decoder",
    precision="bf16",
    weights="fp8",
    sequence_length=1250,
    input_tokens=1000,
    output_tokens=250,
    ttft_s=2.0,
    tpot_s=0.05,
    percentile=0.95,
)
PICTURES = Task(
    model="resnet-50",
    family="vision",
    precision="fp16",
    weights="fp16",
    resolution=224,
    latency_s=0.1,
    percentile=0.95,
)
SERVED = Performance(
    metric="requests_per_s_within_slo",
    value=20.0,
    low=15.0,
    high=25.0,
    grade="calibrated",
    bottleneck="memory bandwidth (weights)",
    figures={"requests_per_s": 12.5, "e2e_s": 9.0, "cold_start_s": 600.0},
)
BATCHED = Performance(
    metric="run_time_s", value=12655, low=8493, high=18859, grade="calibrated", bottleneck="prefill", figures={}
)
WINDOW = Capacity(
    mode="capacity-block",
    block=CapacityBlock(
        duration_hours=72, start="2026-09-10T11:30:00Z", id="cr-0123456789abcdef0", purchase="confirmed"
    ),
)


def training(name, machines, **changes):
    """A run that reads its data where its spec says; one without is not launched."""
    tokens = Storage(kind="object", bytes=10**12, location="s3://corpus/tokens")
    return trained(name, machines, **{"storage": tokens, **changes})


def replicas(low, now, high, devices, concurrency=40):
    return Replicas(min=low, initial=now, max=high, devices_per_replica=devices, concurrency_per_replica=concurrency)


def run(image=IMAGE, **changes):
    return Run(image=image, **changes)


def planned(of, **changes):
    """The setting with another plan."""
    return dataclasses.replace(of, plan=dataclasses.replace(of.plan, **changes))


def eks_training():
    p5 = pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(0, 4, 4), mode="capacity-block", capacity=WINDOW)
    layout = Parallelism(data=16, tensor=2, zero_stage=3, micro_batch=2, gradient_accumulation=16)
    one = training("pretrain", p5, task=BIG, storage=Storage(kind="object", bytes=10**12, location="s3://petsnap/text"))
    one = one.model_copy(update={"parallelism": layout})
    target = eks_target(one, p5, name="pretrain", queue="pretrain", store="s3://sizewell-prod-aws-pretrain")
    return launch_of(decision("prod-aws", one), one, p5, run(secrets=("hub",)), target)


def eks_spot():
    g6e = pool("aws", "g6e.xlarge", "l40s", 1, mode="spot", nodes=(0, 1, 1))
    tuned = BIG.model_copy(update={"method": "lora", "lora_rank": 16, "steps": 6250, "samples_per_step": 16})
    one = training("tune", g6e, task=tuned, interruptible=True)
    target = eks_target(one, g6e, name="tune", store="s3://sizewell-dev-aws-tune")
    return launch_of(decision("dev-aws", one), one, g6e, run(prefix="second"), target)


def eks_neuron():
    trn = pool("aws", "trn1.32xlarge", "trainium1", 16, nodes=(0, 2, 2))
    one = training("pretrain", trn, task=BIG)
    target = eks_target(one, trn, name="pretrain", store="s3://sizewell-dev-aws-pretrain")
    return launch_of(decision("staging-aws", one), one, trn, run(), target)


def gke_slice(slices=1, mode="spot"):
    machines = 4 * slices
    v6e = pool("gcp", "ct6e-standard-4t", "tpu-v6e", 4, nodes=(0, machines, machines), mode=mode, tpu_topology="4x4")
    made = BIG.model_copy(update={"model": None, "dimensions": {"layers": 24, "hidden": 2560, "heads": 20}})
    one = training("pretrain", v6e, task=made, framework="jax")
    writer = "writer@petsnap.iam.gserviceaccount.com"
    target = gke_target(v6e, name="pretrain", label="pretrain", writer=writer, store="gs://sizewell-dev-gcp-pretrain")
    return launch_of(decision("dev-gcp", one), one, v6e, run(), target)


def gke_queued():
    one = gke_slice(2, mode="queued")
    changed = {"queue": "pretrain", "levels": ("cloud.google.com/gce-topology-block", "kubernetes.io/hostname")}
    return dataclasses.replace(one, target=dataclasses.replace(one.target, **changed))


def gke_direct(machine="a3-megagpu-8g", accelerator="h100-sxm", fabric="gpudirect-tcpxo", **changes):
    gpus = pool("gcp", machine, accelerator, 8, nodes=(0, 2, 4), mode="spot")
    one = training("pretrain", gpus, task=BIG, **changes)
    writer = "writer@petsnap.iam.gserviceaccount.com"
    store = "gs://sizewell-prod-gcp-pretrain"
    target = gke_target(gpus, name="pretrain", label="pretrain", writer=writer, store=store, fabric=fabric)
    return launch_of(decision("prod-gcp", one), one, gpus, run(), target)


def gke_tcpx():
    return gke_direct("a3-highgpu-8g", fabric="gpudirect-tcpx")


def gke_rdma():
    return gke_direct("a3-ultragpu-8g", "h200-sxm", "gpudirect-rdma")


def gke_rdma_ray():
    return gke_direct("a4-highgpu-8g", "b200", "gpudirect-rdma", scheduler="ray")


def aks_training():
    nd = pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 4))
    one = training("pretrain", nd, task=BIG)
    target = aks_target(
        one, nd, name="pretrain", client="11111111-1111-1111-1111-111111111111", store="az://acc/ckpt/p"
    )
    return launch_of(decision("prod-azure", one), one, nd, run(), target)


def coreweave():
    """A decision for Azure's H100 machines, run on somebody else's cluster with the same ones."""
    nd = pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 4))
    one = training("pretrain", nd, task=BIG)
    target = other_target(
        nd, name="pretrain", selector={"gpu.nvidia.com/class": "H100"}, rdma="rdma/ib", queue="team", store="s3://b/p"
    )
    return launch_of(decision("prod-azure", one), one, nd, run(), target)


def ray():
    a100 = pool("aws", "p4d.24xlarge", "a100-40gb-sxm", 8, nodes=(0, 2, 2))
    one = training("pretrain", a100, task=BIG, scheduler="ray")
    target = eks_target(one, a100, name="pretrain", store="s3://sizewell-staging-aws-pretrain")
    return launch_of(decision("staging-aws", one), one, a100, run("rayproject/ray:2.50.0-gpu"), target)


def serve(devices=1, **changes):
    machines = changes.pop("machines", pool("aws", "g6.xlarge", "l4", 1, role="replicas"))
    count = changes.pop("count", replicas(0, 1, 2, devices))
    task = changes.pop("task", CHAT.model_copy(update={"model": "meta-llama/Llama-3.1-8B", "weights": "nf4"}))
    one = serving("chat", machines, task=task, performance=SERVED, **changes)
    return one.model_copy(update={"replicas": count}), machines


def serve_hours():
    one, machines = serve(schedule=HOURS)
    target = eks_target(one, machines, name="chat")
    return launch_of(decision("dev-aws", one), one, machines, run(VLLM), target)


def serve_shared():
    """Four replicas of two devices on a machine of eight."""
    machines = pool("azure", "Standard_ND96is_MI300X_v5", "mi300x", 8, nodes=(1, 8, 12), role="replicas")
    one, _ = serve(machines=machines, count=replicas(4, 29, 48, 2), task=CHAT)
    return launch_of(decision("prod-azure", one), one, machines, run(ROCM), aks_target(one, machines, name="chat"))


def serve_groups():
    """A replica of two machines: tensor parallel inside, pipeline between them."""
    p5 = pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(2, 4, 8), role="replicas")
    one, _ = serve(machines=p5, count=replicas(1, 2, 4, 16), task=CHAT)
    return launch_of(decision("prod-aws", one), one, p5, run(SEVERAL_MACHINES), eks_target(one, p5, name="chat"))


def serve_kserve():
    one, machines = serve()
    target = eks_target(one, machines, name="chat")
    return launch_of(decision("dev-aws", one), one, machines, run(VLLM, form="kserve"), target)


def serve_pictures():
    g4 = pool("gcp", "g4-standard-6", "rtx-pro-6000-bse-share-1-8", 1, nodes=(1, 1, 2), role="replicas")
    one, _ = serve(machines=g4, count=replicas(1, 1, 2, 1, 1), task=PICTURES)
    how = run("registry.example/tritonserver:25.10-py3", model="gs://petsnap/models")
    return launch_of(decision("prod-gcp", one), one, g4, how, gke_target(g4, name="chat", label="chat"))


def batch():
    b200 = pool("aws", "p6-b200.48xlarge", "b200", 8, nodes=(0, 1, 1), mode="spot")
    task = Task(
        model="meta-llama/Llama-3.1-8B",
        family="decoder",
        weights="fp8",
        sequence_length=410,
        records=50_000_000,
        input_tokens=400,
        output_tokens=10,
        deadline_s=28800.0,
    )
    one = workload(
        "nightly",
        "batch-inference",
        b200,
        task=task,
        performance=BATCHED,
        replicas=replicas(0, 8, 8, 1, 1014),
        storage=Storage(kind="object", bytes=10**11, location="s3://petsnap/captions"),
    )
    target = eks_target(one, b200, name="nightly", store="s3://petsnap/answers")
    return launch_of(decision("prod-aws", one), one, b200, run(VLLM), target)


def notebook():
    l4 = pool("gcp", "g2-standard-4", "l4", 1, nodes=(0, 1, 1), role="notebook")
    one = workload("lab", "notebook", l4)
    target = gke_target(l4, name="lab", label="lab")
    return launch_of(decision("dev-gcp", one), one, l4, run("quay.io/jupyter/pytorch-notebook:2026-11-01"), target)


CASES = {
    "eks-training": eks_training,
    "eks-spot": eks_spot,
    "eks-neuron": eks_neuron,
    "gke-slice": gke_slice,
    "gke-queued": gke_queued,
    "gke-tcpx": gke_tcpx,
    "gke-tcpxo": gke_direct,
    "gke-rdma": gke_rdma,
    "gke-rdma-ray": gke_rdma_ray,
    "aks-training": aks_training,
    "coreweave": coreweave,
    "ray": ray,
    "serve-hours": serve_hours,
    "serve-shared": serve_shared,
    "serve-groups": serve_groups,
    "serve-kserve": serve_kserve,
    "serve-pictures": serve_pictures,
    "batch": batch,
    "notebook": notebook,
}
BURN_IN = ("eks-training", "gke-tcpxo", "coreweave", "eks-spot", "serve-shared", "serve-pictures")
