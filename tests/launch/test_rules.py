"""What has to hold of what runs: the decision's figures arrive, the machines' own words are used, mistakes are
refused."""

import dataclasses
import re
import subprocess

import judging
import launch_cases as cases
import pytest
from decisions import decision, pool, workload
from hypothesis import given, settings
from hypothesis import strategies as st
from launch_cases import training

from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks.args import eks_cluster_args
from sizewell.launch import batch, burn_in, kinds, pods, serving
from sizewell.launch import training as runs
from sizewell.launch.launch import launch_of
from sizewell.launch.manifests import manifests, trials
from sizewell.launch.plan import Window, WorkingHours
from sizewell.launch.run import read_run
from sizewell.launch.target import Disks, aks_target, eks_target, machine_of
from sizewell.sizing import catalog
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Parallelism


def one(found, kind):
    return next(item for item in found if item["kind"] == kind)


def pod_of(jobset):
    return jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def env_of(pod):
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in pod["containers"][0]["env"]}


def word(command, flag):
    return command[command.index(flag) + 1]


# Training


def test_the_decision_s_split_arrives_in_the_script():
    env = env_of(pod_of(one(manifests(cases.eks_training()), "JobSet")))
    assert env["SIZEWELL_TENSOR"] == "2"
    assert env["SIZEWELL_ZERO_STAGE"] == "3"
    assert env["SIZEWELL_MICRO_BATCH"] == "2"
    assert env["SIZEWELL_STEPS"] == "13000"
    assert env["SIZEWELL_NODES"] == "4"
    assert env["SIZEWELL_COORDINATOR"] == "pretrain-workers-0-0.pretrain:29500"
    assert env["SIZEWELL_CHECKPOINT_URI"] == "s3://sizewell-prod-aws-pretrain/main"


def test_a_run_in_a_block_knows_when_the_block_ends():
    """72 hours from 11:30, less the forty minutes in which the cloud clears the machines."""
    of = cases.eks_training()
    assert runs.deadline(of) == "2026-09-13T10:50:00Z"
    moved = cases.planned(of, window=Window(hours=72, start="2026-09-10T13:30:00+02:00"))
    assert runs.deadline(moved) == "2026-09-13T10:50:00Z"


@pytest.mark.parametrize(
    ("case", "resource", "count", "script"),
    [
        ("eks-training", "nvidia.com/gpu", "8", "train_fsdp.py"),
        ("eks-neuron", "aws.amazon.com/neuron", "16", "train_neuron.py"),
        ("gke-slice", "google.com/tpu", "4", "train_jax.py"),
        ("aks-training", "nvidia.com/gpu", "8", "train_fsdp.py"),
    ],
)
def test_each_accelerator_has_its_resource_and_its_script(case, resource, count, script):
    pod = pod_of(one(manifests(cases.CASES[case]()), "JobSet"))
    main = pod["containers"][0]
    assert main["resources"]["limits"][resource] == count
    assert any(item.endswith(script) for item in main["command"])
    assert {"key": resource, "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]


def test_one_process_per_core_on_neuron():
    assert word(runs.command(cases.eks_neuron()), "--processes") == "32"
    assert word(runs.command(cases.eks_training()), "--processes") == "8"


def test_rdma_is_asked_for_where_the_pool_has_it():
    efa = pod_of(one(manifests(cases.eks_training()), "JobSet"))["containers"][0]["resources"]["limits"]
    assert efa["vpc.amazonaws.com/efa"] == "32"
    assert efa["hugepages-2Mi"] == "5120Mi"
    ib = pod_of(one(manifests(cases.aks_training()), "JobSet"))["containers"][0]["resources"]["limits"]
    assert ib["rdma/ib"] == "8"
    alone = pod_of(one(manifests(cases.eks_spot()), "JobSet"))["containers"][0]["resources"]["limits"]
    assert set(alone) == {"cpu", "memory", "nvidia.com/gpu"}


def test_a_slice_is_one_job_and_two_slices_know_of_each_other():
    single = one(manifests(cases.gke_slice()), "JobSet")["spec"]["replicatedJobs"][0]
    assert (single["replicas"], single["template"]["spec"]["parallelism"]) == (1, 4)
    double = one(manifests(cases.gke_queued()), "JobSet")
    group = double["spec"]["replicatedJobs"][0]
    assert (group["replicas"], group["template"]["spec"]["parallelism"]) == (2, 4)
    assert env_of(pod_of(double))["MEGASCALE_NUM_SLICES"] == "2"
    assert double["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"]


def test_a_queue_is_named_and_packs():
    found = one(manifests(cases.gke_queued()), "JobSet")
    assert found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "pretrain"
    template = found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert "kueue.x-k8s.io/podset-preferred-topology" in template["metadata"]["annotations"]
    assert "suspend" not in found["spec"]


def test_a_pod_ends_within_what_a_reclaimed_machine_leaves():
    assert pod_of(one(manifests(cases.eks_spot()), "JobSet"))["terminationGracePeriodSeconds"] == 115
    spot = pod_of(one(manifests(cases.gke_slice()), "JobSet"))
    assert spot["terminationGracePeriodSeconds"] == 25
    assert env_of(spot)["SIZEWELL_GRACE_S"] == "25"


def test_what_a_run_survives():
    policy = one(manifests(cases.eks_spot()), "JobSet")["spec"]
    actions = {rule["name"]: rule["action"] for rule in policy["failurePolicy"]["rules"]}
    assert actions == {
        "wrongInput": "FailJobSet",
        "timeIsUp": "FailJobSet",
        "waitedTooLong": "FailJobSet",
        "reclaimed": "RestartJobSetAndIgnoreMaxRestarts",
    }
    rules = policy["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"]["rules"]
    assert [rule["onExitCodes"]["values"] for rule in rules if "onExitCodes" in rule] == [[64, 76, 124], [75]]


def test_a_command_of_one_s_own_is_ended_after_so_much_running_and_not_started_again(tmp_path):
    script = 'trap "echo saved; exit 0" TERM; echo began; sleep 30 & wait'
    of = dataclasses.replace(cases.eks_training(), run=cases.run(command=("sh", "-c", script)))
    found = one(manifests(of), "JobSet")
    line = pod_of(found)["containers"][0]["command"]
    assert line == ["timeout", "-k", "60", "259200", "sh", "-c", script]
    done = subprocess.run([*line[:3], "0.5", *line[4:]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (124, "began\nsaved\n")
    over = next(rule for rule in found["spec"]["failurePolicy"]["rules"] if rule["name"] == "timeIsUp")
    assert over["action"] == "FailJobSet"
    message = "Container main for pod default/a-0 failed with exit code 124 matching FailJob rule at index 0"
    assert any(re.fullmatch(pattern, message) for pattern in over["onJobFailureMessagePatterns"])


def test_a_deadline_counts_running_and_waiting_has_a_limit_of_its_own():
    found = one(manifests(cases.eks_training()), "JobSet")
    assert env_of(pod_of(found))["SIZEWELL_TIME_LIMIT_S"] == "259200"
    job = found["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert job["activeDeadlineSeconds"] == 259200 + 86400, "Kubernetes counts from when pods are made, machines or not"


def ingress(manifest_list, port):
    """Who may reach a port beside the pods of the job, as the policy has it."""
    rules = one(manifest_list, "NetworkPolicy")["spec"]["ingress"]
    return [rule["from"] for rule in rules if any(one["port"] == port for one in rule.get("ports", []))]


def test_the_operator_of_ray_reaches_the_dashboard_and_nothing_else():
    policy = manifests(cases.ray())
    operator = {"app.kubernetes.io/name": "kuberay-operator"}
    assert ingress(policy, 8265) == [[{"namespaceSelector": {}, "podSelector": {"matchLabels": operator}}]]
    assert ingress(policy, 6379) == []


@pytest.mark.parametrize(("case", "port"), [(cases.serve_hours, 8000), (cases.serve_pictures, 8002)])
def test_a_metric_that_scales_is_scraped_and_its_absence_is_no_zero(case, port):
    """A port that is annotated, declared nowhere else and closed to Prometheus would be a metric that never comes."""
    found = manifests(case())
    said = one(found, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert said["prometheus.io/scrape"] == "true"
    assert said["prometheus.io/port"] == str(port)
    names = [rule[0]["namespaceSelector"]["matchExpressions"][0]["values"] for rule in ingress(found, port)[-1:]]
    assert names == [["monitoring"]]
    for trigger in one(found, "ScaledObject")["spec"]["triggers"]:
        assert trigger["metadata"].get("ignoreNullValues", "false") == "false"


def test_a_gateway_s_namespace_is_admitted_where_it_is_named():
    of = cases.serve_hours()
    called = dataclasses.replace(of, run=cases.run(cases.VLLM, callers=("gateway",)))
    values = ingress(manifests(called), 8000)[-1][0]["namespaceSelector"]["matchExpressions"][0]["values"]
    assert values == ["gateway", "monitoring"]
    assert "gateway" not in str(one(manifests(of), "NetworkPolicy"))


def test_kserve_s_form_is_a_plain_deployment_that_we_scale():
    """Knative refuses grace periods and its probes name ports that are not there; the plain form takes our pod
    whole."""
    found = manifests(cases.serve_kserve())
    service = one(found, "InferenceService")
    said = service["metadata"]["annotations"]
    assert said["serving.kserve.io/deploymentMode"] == "RawDeployment"
    assert said["serving.kserve.io/autoscalerClass"] == "external"
    container = service["spec"]["predictor"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    probes = [container[key]["httpGet"]["port"] for key in container if key.endswith("Probe")]
    assert len(probes) == 3
    assert set(probes) <= ports
    assert "scaleMetric" not in service["spec"]["predictor"], "KServe refuses concurrency in this form"
    target = one(found, "ScaledObject")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat-predictor"}


def test_a_command_of_one_s_own_brings_its_own_settings():
    of = dataclasses.replace(cases.eks_training(), run=cases.run(command=("python", "mine.py"), args=("--fast",)))
    found = manifests(of)
    assert "ConfigMap" not in [item["kind"] for item in found]
    main = pod_of(one(found, "JobSet"))["containers"][0]
    assert (main["command"][-2:], main["args"]) == (["python", "mine.py"], ["--fast"])
    assert not [item for item in main["env"] if item["name"].startswith("SIZEWELL_")]


@pytest.mark.parametrize(
    ("task", "layout", "words"),
    [
        (cases.BIG.model_copy(update={"method": "qlora"}), Parallelism(), "task.method: is qlora"),
        (cases.BIG.model_copy(update={"family": "vision"}), Parallelism(), "task.family: is vision"),
        (cases.BIG.model_copy(update={"engine": "trl"}), Parallelism(), "task.engine: is trl"),
        (cases.BIG.model_copy(update={"optimizer": "muon"}), Parallelism(), "task.optimizer: is muon"),
        (cases.BIG.model_copy(update={"method": "lora"}), Parallelism(tensor=2), "parallelism.tensor: is 2"),
        (cases.BIG, Parallelism(pipeline=4), "parallelism.pipeline: is 4"),
        (cases.BIG, Parallelism(expert=8), "parallelism.expert: is 8"),
        (None, Parallelism(), "task: is missing"),
    ],
)
def test_what_the_entry_scripts_cannot_do_is_refused(task, layout, words):
    p5 = pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(0, 2, 2))
    work = training("pretrain", p5, task=task).model_copy(update={"parallelism": layout})
    of = launch_of(decision("prod-aws", work), work, p5, cases.run(), eks_target(work, p5, name="pretrain"))
    with pytest.raises(ConfigError) as caught:
        manifests(of)
    assert words in str(caught.value)
    assert "checkpoint: is missing" in str(caught.value), "all faults together"


# Serving


def test_one_machine_serves_several_replicas():
    of = cases.serve_shared()
    main = one(manifests(of), "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert main["resources"]["limits"]["amd.com/gpu"] == "2"
    assert word(main["command"], "--tensor-parallel-size") == "2"
    assert word(main["command"], "--max-num-seqs") == "256"  # 40 are in flight at the mean
    assert word(main["command"], "--quantization") == "fp8"
    each, _ = pods.share(of.machine, 2)
    assert each * 4 <= of.machine.cpus


def test_a_replica_of_two_machines_is_a_group():
    found = manifests(cases.serve_groups())
    group = one(found, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    assert group["size"] == 2
    leader, worker = (group[key]["spec"]["containers"][0] for key in ("leaderTemplate", "workerTemplate"))
    for main in (leader, worker):
        assert word(main["command"], "--tensor-parallel-size") == "8"
        assert word(main["command"], "--pipeline-parallel-size") == "2"
    assert "--headless" in worker["command"]
    assert "readinessProbe" not in worker
    assert "--headless" not in leader["command"]
    assert one(found, "Service")["spec"]["selector"]["sizewell/role"] == "leader"


def test_the_autoscaler_has_the_decision_s_threshold_and_one_to_spare():
    of = cases.serve_shared()
    counts = of.plan.replicas.model_copy(update={"in_flight_target": 21.5, "spare": 4})
    metadata = one(manifests(cases.planned(of, replicas=counts)), "ScaledObject")["spec"]["triggers"][0]["metadata"]
    assert metadata["threshold"] == "21.5"
    assert metadata["query"].endswith("[120s:15s]) + 86")
    asleep = counts.model_copy(update={"min": 0})  # a constant would keep replicas up for ever
    metadata = one(manifests(cases.planned(of, replicas=asleep)), "ScaledObject")["spec"]["triggers"][0]["metadata"]
    assert metadata["query"].endswith("[120s:15s])")


def test_zero_replicas_only_where_something_wakes_them():
    asleep = one(manifests(cases.serve_hours()), "ScaledObject")["spec"]
    assert asleep["minReplicaCount"] == 0
    assert [item["type"] for item in asleep["triggers"]] == ["prometheus", "cron"]
    of = cases.serve_hours()
    always = cases.planned(of, hours=None)
    assert one(manifests(always), "ScaledObject")["spec"]["minReplicaCount"] == 1
    called = dataclasses.replace(always, run=cases.run(cases.VLLM, wake="sum(gateway_waiting)"))
    scaled = one(manifests(called), "ScaledObject")["spec"]
    assert scaled["minReplicaCount"] == 0
    assert scaled["triggers"][1]["metadata"]["query"] == "sum(gateway_waiting)"


def test_hours_to_midnight_end_on_the_same_day():
    of = cases.serve_hours()
    late = WorkingHours(time_zone="Europe/London", windows=(("sat,sun", "18:30", "24:00"),))
    found = manifests(cases.planned(of, hours=late))
    cron = one(found, "ScaledObject")["spec"]["triggers"][1]["metadata"]
    assert (cron["start"], cron["end"]) == ("30 18 * * SAT,SUN", "59 23 * * SAT,SUN")


@pytest.mark.parametrize(
    ("weights", "accelerator", "flags"),
    [
        ("bf16", ("aws", "g6.xlarge", "l4", 1), ["--dtype", "bfloat16"]),
        ("fp16", ("aws", "g6.xlarge", "l4", 1), ["--dtype", "half"]),
        ("bf16", ("aws", "g4dn.xlarge", "t4", 1), ["--dtype", "half"]),
        ("fp8", ("aws", "g6.xlarge", "l4", 1), ["--quantization", "fp8"]),
        ("nf4", ("aws", "g4dn.xlarge", "t4", 1), ["--dtype", "half", "--quantization", "bitsandbytes"]),
    ],
)
def test_precision_as_flags(weights, accelerator, flags):
    machines = pool(*accelerator, role="replicas")
    task = cases.CHAT.model_copy(update={"weights": weights})
    work, _ = cases.serve(machines=machines, task=task)
    of = launch_of(
        decision("dev-aws", work), work, machines, cases.run(cases.VLLM), eks_target(work, machines, name="chat")
    )
    command = serving.command(of, serving.engine_of(of))
    assert command[-len(flags) :] == flags
    named = dataclasses.replace(of, run=cases.run(cases.VLLM, model="org/model-awq"))
    assert "--quantization" not in serving.command(named, serving.engine_of(named)), (
        "its own files say how it is stored"
    )
    assert serving.command(named, serving.engine_of(named))[2] == "org/model-awq"


def test_loading_may_take_twice_what_was_expected():
    probe = one(manifests(cases.serve_shared()), "Deployment")["spec"]["template"]["spec"]["containers"][0][
        "startupProbe"
    ]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 2 * 600


@pytest.mark.parametrize(
    ("task", "run", "words"),
    [
        (cases.PICTURES, {}, "triton needs a model to load"),
        (cases.CHAT.model_copy(update={"model": None}), {}, "vllm needs a model to load"),
        (cases.CHAT.model_copy(update={"weights": "int8"}), {}, "weights in int8 have to be prepared beforehand"),
        (cases.CHAT.model_copy(update={"weights": "int4"}), {}, "weights in int4 have to be prepared beforehand"),
        (cases.CHAT.model_copy(update={"engine": "sglang"}), {}, "sglang is what the decision was sized for"),
        (cases.CHAT.model_copy(update={"family": "diffusion"}), {"engine": "vllm"}, "does not serve diffusion models"),
    ],
)
def test_what_cannot_be_served_is_refused(task, run, words):
    work, machines = cases.serve(task=task)
    target = eks_target(work, machines, name="chat")
    of = launch_of(decision("dev-aws", work), work, machines, cases.run(cases.VLLM, **run), target)
    with pytest.raises(ConfigError, match=words):
        manifests(of)
    own = dataclasses.replace(of, run=cases.run(command=("serve-it",), **run))
    assert one(manifests(own), "Deployment")


def launched(task, accelerator=("aws", "g6.xlarge", "l4", 1), **run):
    machines = pool(*accelerator, role="replicas")
    work, _ = cases.serve(machines=machines, task=task)
    target = eks_target(work, machines, name="chat")
    return launch_of(decision("dev-aws", work), work, machines, cases.run(cases.VLLM, **run), target)


@pytest.mark.parametrize(
    ("weights", "accelerator", "words"),
    [
        ("fp8", ("aws", "g4dn.xlarge", "t4", 1), "vllm has no kernels for fp8 weights on t4"),
        ("fp8", ("azure", "Standard_NC6s_v3", "v100-16gb", 1), "vllm has no kernels for fp8 weights on v100-16gb"),
        ("fp16", ("aws", "own-1x", "p100", 1), "vllm does not run on p100"),
    ],
)
def test_weights_that_the_engine_has_no_kernels_for_on_these_machines_are_refused(weights, accelerator, words):
    of = launched(cases.CHAT.model_copy(update={"weights": weights}))
    family = catalog.load().accelerators[accelerator[2]].family
    of = dataclasses.replace(of, machine=dataclasses.replace(of.machine, family=family))
    with pytest.raises(ConfigError, match=words):
        manifests(cases.planned(of, accelerator=accelerator[2]))


def test_an_engine_is_told_to_take_what_the_decision_says_and_twice_the_mean_where_it_says_nothing():
    for most, mean, said in ((4096, 3072, "4096"), (None, 1250, "3072")):
        of = launched(cases.CHAT.model_copy(update={"sequence_length": mean, "request_tokens_max": most}))
        assert word(serving.command(of, serving.engine_of(of)), "--max-model-len") == said


def test_a_model_that_is_published_quantized_is_served_as_it_is():
    """Its own files say how it is stored: no engine has to be told, and none has to make it."""
    for model, weights in (("openai/gpt-oss-120b", "fp4"), ("TheBloke/Llama-2-7B-AWQ", "int4")):
        work, machines = cases.serve(task=cases.CHAT.model_copy(update={"model": model, "weights": weights}))
        target = eks_target(work, machines, name="chat")
        of = launch_of(decision("dev-aws", work), work, machines, cases.run(cases.VLLM), target)
        command = serving.command(of, serving.engine_of(of))
        assert model in command
        assert "--quantization" not in command


# Batch, notebook, burn-in


def test_a_batch_is_cut_into_pieces_that_an_interruption_can_repeat():
    found = one(manifests(cases.batch()), "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert found["parallelism"] == 8
    assert found["completions"] == 113  # 12,655 s x 8 replicas / 900 s
    assert found["podFailurePolicy"]["rules"][0]["action"] == "FailIndex"
    command = found["template"]["spec"]["containers"][0]["command"]
    assert word(command, "--pieces") == "113"
    assert word(command, "--input") == "s3://petsnap/captions"
    assert "max_tokens=20" in command  # twice the mean, which half of all answers pass
    assert "max_model_len=2048" in command


def test_a_model_takes_the_cores_of_all_chips_that_were_sized_on_neuron():
    """Two chips of Inferentia2 are four cores to vLLM, each with a quarter of their memory."""
    work, machines = cases.serve(devices=2, machines=cases.pool("aws", "inf2.24xlarge", "inferentia2", 6))
    target = eks_target(work, machines, name="chat")
    image = cases.run("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference-vllm-neuronx:0.13.0")
    of = launch_of(decision("dev-aws", work), work, machines, image, target)
    assert word(serving.command(of, serving.engine_of(of)), "--tensor-parallel-size") == "4"
    of = cases.batch()
    command = batch.command(dataclasses.replace(of, machine=dataclasses.replace(of.machine, processes_per_device=2)))
    assert f"tensor_parallel_size={2 * of.plan.replicas.devices_per_replica}" in command


@pytest.mark.parametrize(("weights", "word"), [("bf16", "half"), ("int8", "half"), ("fp32", "float32")])
def test_what_is_sized_in_fp32_is_not_computed_in_fp16(weights, word):
    of = cases.batch()
    task = of.plan.task.model_copy(update={"weights": weights})
    machine = dataclasses.replace(of.machine, bf16=False)
    of = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task), machine=machine)
    assert f"dtype={word}" in batch.command(of)
    assert serving._precision(of, serving.ENGINES["vllm"])[:2] == ["--dtype", word]


def test_nothing_leads_to_a_notebook_and_it_ends_itself():
    found = manifests(cases.notebook())
    command = one(found, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["command"]
    assert "--ServerApp.ip=127.0.0.1" in command
    assert "--ServerApp.shutdown_no_activity_timeout=6300" in command  # window and grace of the guard
    assert one(found, "NetworkPolicy")["spec"]["ingress"] == []
    assert one(found, "Role")["rules"] == [
        {"apiGroups": ["apps"], "resources": ["statefulsets/scale"], "resourceNames": ["lab"], "verbs": ["patch"]}
    ]


def test_the_threshold_is_a_share_of_the_slowest_link():
    of = cases.eks_training()
    assert burn_in.threshold(of) == pytest.approx(0.6 * 400e9), "EFA: 32 cards of 100 Gbit/s"
    alone = cases.planned(of, nodes=1, nodes_max=1)
    assert burn_in.threshold(alone) == pytest.approx(0.6 * 450e9), "NVLink 4, one direction"
    assert burn_in.threshold(cases.eks_spot()) == 0, "one device has no link"
    command = pod_of(one(trials(of), "JobSet"))["containers"][0]["command"]
    assert float(word(command, "--least")) == pytest.approx(burn_in.threshold(of), rel=1e-3)


@given(st.sampled_from([s for s in catalog.load().shapes if s.cloud in ("aws", "azure", "gcp") and s.accelerators]))
@settings(max_examples=60, deadline=None)
def test_no_threshold_is_above_the_figure_of_a_link_on_its_way(shape):
    try:
        machines = pool(shape.cloud, shape.instance_type, shape.accelerator, shape.accelerators, nodes=(0, 2, 2))
        machine = machine_of(machines)
    except Exception:  # noqa: BLE001  (devices of which Kubernetes knows nothing)
        return
    work = training("t", machines, task=cases.BIG)
    of = launch_of(decision("prod-aws", work), work, machines, cases.run(), eks_target(work, machines, name="t"))
    limits = [limit for limit in (machine.fabric_bytes_per_s, machine.network_bytes_per_s) if limit]
    if machine.devices > 1 and machine.link_bytes_per_s:
        limits.append(machine.link_bytes_per_s)
    assert burn_in.threshold(of) <= max(limits, default=0)


def test_the_load_is_the_decision_s_and_so_are_the_limits():
    command = one(trials(cases.serve_shared()), "Job")["spec"]["template"]["spec"]["containers"][0]["command"]
    assert word(command, "--rate") == "12.5"
    assert (word(command, "--ttft"), word(command, "--tpot"), word(command, "--percentile")) == ("2", "0.05", "0.95")
    assert (word(command, "--input-tokens"), word(command, "--output-tokens")) == ("1000", "250")
    assert word(command, "--url") == "http://chat.default.svc"


def test_volumes_are_read_by_every_machine_for_its_share():
    one_case = cases.coreweave()
    run = dataclasses.replace(one_case.run, claims=(("data", "/data"),))
    of = dataclasses.replace(cases.planned(one_case, data_bytes_per_s=8e9), run=run)
    jobs = [item for item in trials(of) if item["kind"] == "JobSet"]
    assert len(jobs) == 2
    (pod,) = judging.pods(jobs[1])
    command = pod["spec"]["containers"][0]["command"]
    assert (word(command, "--folder"), float(word(command, "--least"))) == ("/data", 8e9 / of.nodes)
    assert jobs[1]["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == of.nodes
    assert len([item for item in trials(one_case) if item["kind"] == "JobSet"]) == 1, "nothing is mounted"


def test_no_all_reduce_of_ours_for_neuron():
    with pytest.raises(ConfigError, match="cannot be tested with an all-reduce"):
        trials(cases.eks_neuron())


@pytest.mark.parametrize("slices", [1, 2])
def test_all_chips_of_a_slice_are_summed_over(slices):
    of = cases.gke_slice(slices)
    test = one(trials(of), "JobSet")
    pod = pod_of(test)
    assert pod["containers"][0]["command"][1] == "/opt/sizewell/all_reduce_jax.py"
    assert ("MEGASCALE_NUM_SLICES" in env_of(pod)) == (slices > 1)
    assert pod["containers"][0]["resources"]["limits"]["google.com/tpu"] == str(of.machine.devices)
    (scripts,) = [item["data"] for item in trials(of) if item["kind"] == "ConfigMap"]
    assert set(scripts) == {"all_reduce.py", "all_reduce_jax.py"}


@pytest.mark.parametrize("case", ["eks-training", "serve-shared", "batch", "ray"])
def test_a_priority_is_every_pod_s(case):
    made = cases.CASES[case]()
    plain = [pod for item in manifests(made) for pod in judging.pods(item)]
    assert not any("priorityClassName" in pod["spec"] for pod in plain)
    made = dataclasses.replace(made, run=dataclasses.replace(made.run, priority="nightly"))
    found = [pod["spec"].get("priorityClassName") for item in manifests(made) for pod in judging.pods(item)]
    assert found == ["nightly"] * len(plain)
    assert found


def test_a_job_larger_than_its_pool_is_refused():
    one = cases.coreweave()
    wide = cases.planned(one, parallelism=Parallelism(data=64, zero_stage=3))
    with pytest.raises(ConfigError, match="is over 64 devices, the pool has 32: 4 machines of 8"):
        manifests(wide)


# What every machine of the catalog can run


SHAPES = [s for s in catalog.load().shapes if s.cloud in ("aws", "azure") and s.accelerators]


@given(st.sampled_from(SHAPES), st.integers(1, 8), st.sampled_from(["on-demand", "spot"]))
@settings(max_examples=60, deadline=None)
def test_a_job_fits_its_machines(shape, nodes, mode):
    """Requests are never more than a machine has, and every object is one that a cluster takes."""
    machines = pool(
        shape.cloud, shape.instance_type, shape.accelerator, shape.accelerators, nodes=(0, nodes, nodes), mode=mode
    )
    work = training("t", machines, task=cases.BIG)
    if catalog.load().accelerator(shape.accelerator).runtime not in ("cuda", "rocm", "neuron"):
        return
    of = launch_of(
        decision("prod-aws", work), work, machines, cases.run(), eks_target(work, machines, name="t", store="s3://b")
    )
    found = manifests(of)
    assert [fault for item in found for fault in kinds.faults(item)] == []
    limits = pod_of(one(found, "JobSet"))["containers"][0]["resources"]["limits"]
    if shape.vcpus:
        assert int(limits["cpu"]) <= max(1, shape.vcpus)
    if shape.memory_bytes:
        asked = sum(int(limits[key].removesuffix("Mi")) for key in ("memory", "hugepages-2Mi") if key in limits)
        assert asked * 2**20 <= shape.memory_bytes
    assert one(found, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == nodes


# The run that a person writes


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "run.image: must be an image with a tag other than latest"),
        ({"image": "vllm"}, "run.image: must be"),
        ({"image": "vllm:latest"}, "run.image: must be"),
        ({"image": "a:1", "imge": "b"}, "run.imge: is not a setting of a run; did you mean image?"),
        ({"image": "a:1", "env": {"HF_TOKEN": "x"}}, "put HF_TOKEN into a Secret"),
        ({"image": "a:1", "env": {"MY_API_KEY": "x"}}, "put MY_API_KEY into a Secret"),
        ({"image": "a:1", "namespace": "kube-system"}, "kube-* belong to the cluster"),
        (
            {"image": "a:1", "engine": "tgi"},
            "run.engine: must be one of llama.cpp, text-embeddings-inference, triton, vllm",
        ),
        ({"image": "a:1", "restarts": True}, "run.restarts: must be 0 to 1000"),
        ({"image": "a:1", "command": "python x.py"}, "run.command: must be a list"),
        ({"image": "a:1", "claims": {"data": "mnt"}}, "run.claims: must be claims by name"),
        ({"image": "a:1", "prefix": "../x"}, "run.prefix: must be a folder's name"),
        ({"image": "a:1", "priority": "system-node-critical"}, "system-* belong to the cluster"),
        ("a:1", "must be a mapping with at least image"),
    ],
)
def test_a_wrong_run_is_refused_with_its_path(data, words):
    with pytest.raises(ConfigError) as caught:
        read_run(data, "run")
    assert words in str(caught.value)


def test_a_run_as_it_is_read():
    found = read_run(
        {
            "image": "a/b@sha256:" + "0" * 64,
            "secrets": ["hub"],
            "env": {"TOKENIZERS_PARALLELISM": False},
            "claims": {"d": "/d"},
        },
        "run",
    )
    assert found.env == (("TOKENIZERS_PARALLELISM", "False"),)
    assert found.claims == (("d", "/d"),)


def test_a_name_that_is_too_long_is_cut_everywhere():
    p5 = pool("aws", "p5.48xlarge", "h100-sxm", 8, nodes=(0, 2, 2))
    work = training("a-workload-with-the-longest-name-it-has", p5, task=cases.BIG)
    name = f"{work.spec.name}-workers"
    of = launch_of(decision("prod-aws", work), work, p5, cases.run(), eks_target(work, p5, name=name, store="s3://b"))
    found = trials(of)
    for item in found:
        if item["kind"] == "JobSet":
            host = f"{item['metadata']['name']}-workers-0-0"
            assert len(f"{host}-xxxxx") <= 63
            assert env_of(pod_of(item))["SIZEWELL_COORDINATOR"].startswith(f"{host}.")


@pytest.mark.parametrize("case", [cases.aks_training, cases.coreweave])
def test_infiniband_may_lock_memory(case):
    """A capability added to another user than root has no effect: the pod is root, with that one capability."""
    pod = pod_of(one(manifests(case()), "JobSet"))
    assert pod["securityContext"]["runAsUser"] == 0
    assert "runAsNonRoot" not in pod["securityContext"]
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


@pytest.mark.parametrize(
    ("disks", "named", "made"),
    [
        (Disks(storage_class="managed-csi-premium"), "managed-csi-premium", None),
        (Disks(driver="ebs.csi.aws.com", parameters={"type": "gp3"}), "default-lab", "ebs.csi.aws.com"),
        (Disks(), None, None),
    ],
)
def test_a_notebook_s_disk_names_a_class_whose_driver_the_cluster_has(disks, named, made):
    of = cases.notebook()
    of = dataclasses.replace(of, target=dataclasses.replace(of.target, disks=disks))
    found = manifests(of)
    (claim,) = one(found, "StatefulSet")["spec"]["volumeClaimTemplates"]
    assert claim["spec"].get("storageClassName") == named
    classes = {item["metadata"]["name"]: item["provisioner"] for item in found if item["kind"] == "StorageClass"}
    assert classes == ({named: made} if made else {})


def test_every_cloud_s_notebook_names_a_driver_that_its_cluster_is_built_with():
    g6 = pool("aws", "g6.xlarge", "l4", 1, role="notebook")
    nc = pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1, role="notebook")
    eks = eks_target(workload("lab", "notebook", g6), g6, name="lab")
    aks = aks_target(workload("lab", "notebook", nc), nc, name="lab")
    assert eks.disks.driver == "ebs.csi.aws.com"
    assert aks.disks.storage_class == "managed-csi-premium"
    assert "aws-ebs-csi-driver" in eks_charts.addons(versions={}, lustre=False, disks=True)
    args = eks_cluster_args(decision("dev-aws"), "us-east-1", ["us-east-1a"], [workload("lab", "notebook", g6)])
    assert args["disks"] is True
    assert "disks" not in eks_cluster_args(decision("dev-aws"), "us-east-1", ["us-east-1a"], [training("t", g6)])


def test_a_run_without_data_is_not_launched_on_made_up_numbers():
    of = cases.eks_spot()
    bare = dataclasses.replace(of, plan=dataclasses.replace(of.plan, data=None))
    with pytest.raises(ConfigError) as error:
        manifests(bare)
    assert "storage.location: is missing: the location of the training data" in str(error.value)
    for how in (cases.run(env=(("SIZEWELL_DATA", "synthetic"),)), cases.run(command=("python", "mine.py"))):
        assert manifests(dataclasses.replace(bare, run=how))


def test_the_matrices_with_adapters_are_the_run_s_to_name():
    of = cases.eks_spot()
    of = dataclasses.replace(of, run=dataclasses.replace(of.run, env=(("SIZEWELL_LORA_TARGETS", "q_proj,v_proj"),)))
    template = one(manifests(of), "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    env = {each["name"]: each.get("value") for each in template["spec"]["containers"][0]["env"]}
    assert (env["SIZEWELL_LORA_TARGETS"], env["SIZEWELL_LORA_RANK"]) == ("q_proj,v_proj", "16")


@pytest.mark.parametrize(("targets", "told"), [(("k_proj", "o_proj"), "k_proj,o_proj"), (None, None)])
def test_the_matrices_with_adapters_are_the_decision_s(targets, told):
    of = cases.eks_spot()
    task = of.plan.task.model_copy(update={"lora_targets": targets})
    env = runs.variables(dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task)))
    assert env.get("SIZEWELL_LORA_TARGETS") == told
