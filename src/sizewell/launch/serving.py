"""A model that answers: a Deployment, or groups of machines where one does not hold it, or KServe. Pure.

What the decision says becomes the engine's flags: tensor and pipeline parallelism from the devices of a replica, the
batch from its concurrency, quantization from the precision of the weights. Scaling to zero happens only where
something wakes the model up again: working hours, or a query that counts waiting requests.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final
from urllib.parse import urlsplit

from sizewell.launch import images, pods
from sizewell.launch.jobs import packed, queued
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.engine import MEMORY_SHARE, NGRAM, InferenceEngine, numbers
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.kernels import ANY, missing, missing_cache
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Task
from sizewell.sizing.records.launching import AVERAGED_S, LOOK_S, in_flight_target, sequences_at_once, tokens_taken
from sizewell.sizing.units import GIB
from sizewell.sizing.workload.drafts import BARS, bars
from sizewell.sizing.workload.precision import SIXTEEN_BIT, known_model, prepared, published_so
from sizewell.sizing.workload.schedule import end_days

PORT: Final = 8000
MASTER_PORT: Final = 29500
LEADER: Final = "$(LWS_LEADER_ADDRESS)"


def manifests(launch: Launch) -> list[Manifest]:
    """Everything that serves one workload, in the order in which each finds what it refers to."""
    engine = engine_of(launch)
    groups = nodes_per_replica(launch)
    _possible(launch, engine, groups)
    objects = [pods.account(launch), _reached(launch, engine)]
    if launch.run.form == "kserve":
        made = inference_service(launch, engine)
        return [*objects, made, *_scaling(launch, engine, ("apps/v1", "Deployment", f"{launch.name}-predictor"))]
    workload = leader_worker_set(launch, engine, groups) if groups > 1 else deployment(launch, engine)
    scaled = _scaling(launch, engine, (workload["apiVersion"], workload["kind"], launch.name))
    return [*objects, service(launch, leader=groups > 1), workload, budget(launch), *scaled]


def engine_of(launch: Launch) -> InferenceEngine:
    """The engine that the run names, else that of the spec, else the one for the model's family."""
    named = launch.run.engine or launch.task.engine or ""
    return ENGINES[named] if named in ENGINES else engine_for(launch.task.family, launch.machine.runtime)


def nodes_per_replica(launch: Launch) -> int:
    """Machines that hold one replica."""
    return max(1, math.ceil(_devices(launch) / max(1, launch.machine.devices)))


def command(launch: Launch, engine: InferenceEngine, *, nodes: int = 1, leader: bool = True) -> list[str]:
    """The engine's command line: what the decision says, in the engine's own flags."""
    task, devices, say = launch.task, _devices(launch), engine.words
    model = launch.run.model or (task.model if engine.hub else "") or ""
    file = model.startswith("/") and "model_file" in engine.flags
    loaded = say("model_file", model) if file else say("model", model)
    words = [*engine.command, *loaded, *say("host", "0.0.0.0"), *say("port", PORT)]  # noqa: S104
    ranks = devices // nodes * launch.machine.processes_per_device  # vLLM on Neuron counts cores, not chips
    words += [*say("served_name", launch.plan.name), *say("tensor_parallel", ranks)]
    words += say("expert_parallel", runtime=launch.machine.runtime) if task.expert_parallel else []
    if nodes > 1:
        words += [*say("pipeline_parallel", nodes), *say("executor", "mp"), *say("nodes", nodes)]
        words += say("node_rank", "0" if leader else "$(LWS_WORKER_INDEX)")
        words += [*say("master_host", LEADER), *say("master_port", MASTER_PORT)]
        words += [] if leader else say("worker")
    replicas = launch.plan.replicas
    if replicas and replicas.concurrency_per_replica:
        # Where each place has memory of its own from the start, there are as many as were sized.
        fixed = engine.shares_context or launch.machine.runtime == "neuron"
        words += say("sequences_max", _concurrency(launch) if fixed else sequences_at_once(_concurrency(launch)))
    if longest := longest_request(task):
        together = _concurrency(launch) if engine.shares_context else 1
        words += say("sequence_length_max", longest * together)
    if cores := launch.machine.cpus // 2:  # two threads share a core's vector units, and the machine itself needs some
        words += say("threads", cores, runtime=launch.machine.runtime)
    words += [*_adapters(launch, engine), *_speculative(launch, engine)]
    words += say("memory_share", MEMORY_SHARE, runtime=launch.machine.runtime)
    return [*words, *_precision(launch, engine), *engine.fixed]


def _adapters(launch: Launch, engine: InferenceEngine) -> list[str]:
    """Room for the LoRA adapters that were sized; which they are is said by the run's own arguments."""
    task, at, say = launch.task, launch.machine.runtime, engine.words
    if not task.adapters:
        return []
    resident = task.adapters_resident or task.adapters
    words = [*say("adapters", runtime=at), *say("adapters_resident", resident, runtime=at)]
    words += say("adapter_rank", task.adapter_rank, runtime=at) if task.adapter_rank else []
    return words + (say("adapters_cached", task.adapters, runtime=at) if resident < task.adapters else [])


def _speculative(launch: Launch, engine: InferenceEngine) -> list[str]:
    """The draft that was sized, as vLLM's `--speculative-config` has it (SpeculativeConfig of vllm/config)."""
    task = launch.task
    if not task.draft:
        return []
    said: dict[str, object] = {"method": "draft_model", "model": launch.run.draft or task.draft}
    said = {"method": NGRAM} if task.draft == NGRAM else said
    config = json.dumps({**said, "num_speculative_tokens": task.draft_tokens})
    return engine.words("speculative", config, runtime=launch.machine.runtime)


def deployment(launch: Launch, engine: InferenceEngine) -> Manifest:
    """Replicas that each fit into one machine; several of them share it where there is room."""
    replicas = _replicas(launch)
    pod = _pod(launch, engine, command(launch, engine), devices=_devices(launch))
    same = {"matchLabels": {"app.kubernetes.io/name": launch.name}}
    pod["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": same,
        }
    ]
    spare = _devices(launch) * 2 <= launch.machine.devices or replicas[2] > replicas[1]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**launch.metadata(), "labels": queued(launch.labels, launch.target)},
        "spec": {
            **({} if scales(launch) else {"replicas": replicas[1]}),
            "selector": same,
            "strategy": {  # a new version needs devices of its own: where none can be spare, the old one goes first
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}
                if spare
                else {"maxSurge": 0, "maxUnavailable": 1},
            },
            "progressDeadlineSeconds": cold_start_s(launch) * 2 + 600,
            "template": pod,
        },
    }


def leader_worker_set(launch: Launch, engine: InferenceEngine, nodes: int) -> Manifest:
    """Replicas of several machines each: a leader that answers and its workers, which live and fall together."""
    env = {"VLLM_HOST_IP": {"fieldRef": {"fieldPath": "status.podIP"}}}
    each = _devices(launch) // nodes
    leader = _pod(launch, engine, command(launch, engine, nodes=nodes), devices=each, env=env)
    leader["metadata"]["labels"]["sizewell/role"] = "leader"
    worker = _pod(
        launch, engine, command(launch, engine, nodes=nodes, leader=False), devices=each, env=env, answers=False
    )
    low, now, _ = _replicas(launch)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {**launch.metadata(), "labels": queued(launch.labels, launch.target)},
        "spec": {
            "replicas": max(low, now),
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": leader,
                "workerTemplate": worker,
            },
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0},
            },
        },
    }


def inference_service(launch: Launch, engine: InferenceEngine) -> Manifest:
    """KServe over a plain Deployment (its RawDeployment, called Standard from v0.16 on), scaled as our own is.

    Its other mode, Knative, refuses grace periods, named ports other than its own, and node selectors and tolerations
    without feature flags, and gives up a model that takes longer than ten minutes to load.
    """
    low, now, high = _replicas(launch)
    pod = _pod(launch, engine, command(launch, engine), devices=_devices(launch), main="kserve-container")
    predictor = {"minReplicas": max(1, low, now), "maxReplicas": max(high, 1, now), **pod["spec"]}
    mode = {
        "deploymentMode": "RawDeployment",
        "autoscalerClass": "external",
    }  # the latter: KServe itself scales nothing
    annotations = {
        **{f"serving.kserve.io/{key}": value for key, value in mode.items()},
        **pod["metadata"]["annotations"],  # KServe hands them on to its pods
    }
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            **launch.metadata(annotations=annotations),
            "labels": {**queued(launch.labels, launch.target), **launch.target.pod_labels},
        },
        "spec": {"predictor": predictor},
    }


def service(launch: Launch, *, leader: bool = False) -> Manifest:
    """The address inside the cluster; what lies before it (gateway, TLS, login) is the cluster's."""
    selector = {"app.kubernetes.io/name": launch.name, **({"sizewell/role": "leader"} if leader else {})}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": launch.metadata(),
        "spec": {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [{"name": "http", "port": 80, "targetPort": PORT, "protocol": "TCP"}],
        },
    }


def budget(launch: Launch) -> Manifest:
    """Maintenance takes one replica at a time."""
    same = {"matchLabels": {"app.kubernetes.io/name": launch.name}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": launch.metadata(),
        "spec": {"maxUnavailable": 1, "selector": same},
    }


def cold_start_s(launch: Launch) -> int:
    """From nothing to the first answer: the decision's figure, at least five minutes."""
    return int(max(300, launch.plan.figures.get("cold_start_s", 600)))


def possible(launch: Launch) -> None:
    """ConfigError where what was decided and what shall run do not go together."""
    _possible(launch, engine_of(launch), nodes_per_replica(launch))


def _possible(launch: Launch, engine: InferenceEngine, nodes: int) -> None:
    """ConfigError where what was decided and what shall run do not go together."""
    run, task, at = launch.run, launch.task, f"run.{launch.plan.name}"
    wrong: list[Fault] = []

    def must(holds: bool, path: str, message: str, fix: str) -> None:
        if not holds:
            wrong.append(Fault(path=f"{at}.{path}", message=message, fix=fix))

    own = bool(run.command)
    words = [] if own else command(launch, engine, nodes=nodes)
    wrong += images.faults(launch, engine=None if own else engine, command=words)
    must(
        own or bool(run.engine) or not task.engine or task.engine in ENGINES,
        "command",
        f"{task.engine} is what the decision was sized for, but there is no template for it",
        f"give {at}.command and an image with {task.engine}, or name one of {', '.join(ENGINES)} in the spec",
    )
    named = run.model or (task.model if engine.hub else "")
    told = f"is missing: {engine.name} needs a model to load"
    must(own or bool(named), "model", told, f"set {at}.model: {engine.model_example}")
    must(
        own or task.family is None or engine.serves(task.family, writes=bool(task.output_tokens)),
        "engine",
        f"{engine.name} does not serve {task.family} models",
        f"set engine: {engine_for(task.family, launch.machine.runtime).name}, or a command of your own",
    )
    lacking = engine.without(run.model, task.model, model_type=task.model_type)
    must(
        own or not lacking or launch.machine.runtime in engine.onnx_on,
        "command",
        f"is missing: {engine.name} has no layers for {lacking}, and would end at start",
        f"give {at}.command and an image that has it, or set {at}.engine to one that has it",
    )
    wrong += [] if own else [*_elsewhere(launch, engine, named or ""), *unloaded(launch, engine)]
    must(
        own or not task.adapters or ("adapters" in engine.flags and task.family in (None, "decoder")),
        "engine",
        f"{engine.name} does not serve LoRA adapters, and the decision has {task.adapters}",
        ", ".join(name for name, other in ENGINES.items() if "adapters" in other.flags),
    )
    must(
        own or not task.draft or "speculative" in engine.flags,
        "engine",
        f"{engine.name} is not started with speculative decoding, and the decision has {task.draft}",
        ", ".join(name for name, other in ENGINES.items() if "speculative" in other.flags),
    )
    released = images.release(run.image)
    inside = engine.name in images.engines_in(run.image)
    must(
        own
        or not inside
        or task.draft in (None, NGRAM)
        or not released
        or not engine.drafts_from
        or released >= numbers(engine.drafts_from)[: len(released)],
        "image",
        f"{run.image} takes no draft model, and the decision has {task.draft}",
        f"name release {engine.drafts_from} or later, or draft: {NGRAM} in the spec",
    )
    for bar in _bars(task) if inside and released and not own else ():
        must(
            not any(released[: len(numbers(each))] == numbers(each) for each in engine.undrafted.get(bar, ())),
            "image",
            f"{run.image} {BARS[bar].format(draft=task.draft)}",
            f"name a later release and try whether it starts, or draft: {NGRAM} in the spec",
        )
    scheme = run.draft.partition("://")[0] if "://" in run.draft else ""
    must(
        own or not scheme,
        "draft",
        f"{run.draft}: that {engine.name} loads a draft from {scheme}:// was not read anywhere",
        f"set {at}.draft to a folder of the image or of a volume, or a name on the Hub",
    )
    must(
        not run.draft or task.draft not in (None, NGRAM),
        "draft",
        "is for a decision with a draft model, which this one is not",
        f"leave {at}.draft out, or state traffic.speculative in the spec",
    )
    joining = [name for name, other in ENGINES.items() if other.nodes_max is None or other.nodes_max >= nodes]
    must(
        nodes == 1 or engine.name in joining,
        "engine",
        f"one replica needs {nodes} machines, which requires {', '.join(joining)}",
        ", ".join(joining),
    )
    must(
        nodes == 1 or run.form == "deployment",
        "form",
        f"one replica needs {nodes} machines: KServe's containers use one",
        "leave form out",
    )
    must(
        _devices(launch) % nodes == 0,
        "form",
        f"{_devices(launch)} devices of a replica are not divisible by its {nodes} machines",
        "decide the stack again with resources that do",
    )
    if wrong:
        raise ConfigError(wrong, subject=f"run {launch.plan.name}")


def _bars(task: Task) -> list[str]:
    """What may keep an engine from starting with the draft that was sized."""
    if task.draft is None or task.draft == NGRAM:
        return []
    known = load()
    try:
        draft = known_model(task.draft, known)
    except KeyError:
        return []  # of a catalog that was another when it was decided
    try:
        model = known_model(task.model or "", known)
    except KeyError:
        model = None
    return bars(draft, model)


def _elsewhere(launch: Launch, engine: InferenceEngine, model: str) -> list[Fault]:
    """A fault of weights that lie where the engine does not read."""
    scheme, uri, _ = model.partition("://")
    if not uri or not engine.reads or scheme in engine.reads:
        return []
    buckets = ", ".join(f"{known}://" for known in sorted(engine.reads - {"hub"}))
    places = ["a folder", *(["a name on the Hub"] if "hub" in engine.reads else []), *([buckets] if buckets else [])]
    at = f"run.{launch.plan.name}.model"
    message = f"{model}: {engine.name} loads from {', '.join(places[:-1])} or {places[-1]}, not from {scheme}://"
    return [Fault(path=at, message=message, fix=f"set {at} to a folder of the image or of a volume")]


def unloaded(launch: Launch, engine: InferenceEngine) -> list[Fault]:
    """Faults of weights that the engine cannot load, or cannot run on these accelerators."""
    weights, at, faults = launch.task.weights, f"run.{launch.plan.name}", []
    if not launch.run.model and prepared(engine, launch.task.model, weights):
        message = f"weights in {weights} have to be prepared beforehand: {engine.name} does not convert them on loading"
        fix = f"set {at}.model to a checkpoint in {weights}"
        faults.append(Fault(path=f"{at}.model", message=message, fix=fix))
    faults += _conversion(launch, engine)
    row = missing(engine.name, weights or "bf16", launch.machine.family)
    if row is not None and not row.only:
        lacks = "does not run" if row.weights == ANY else f"has no kernels for {weights} weights"
        fix = "name a newer accelerator in resources and decide the stack again"
        message = f"{engine.name} {lacks} on {launch.plan.accelerator}"
        faults.append(Fault(path=f"{at}.engine", message=message, fix=fix))
    if missing_cache(engine.name, launch.task.kv or "", launch.machine.family) is not None:
        message = f"{engine.name} has no kernels for a cache in fp8 on {launch.plan.accelerator}"
        fix = "leave model.kv out of the spec, or name a newer accelerator in resources, and decide the stack again"
        faults.append(Fault(path=f"{at}.engine", message=message, fix=fix))
    return faults


def _reached(launch: Launch, engine: InferenceEngine) -> Manifest:
    """The namespace and the callers that the run names reach the port, Prometheus the metrics."""
    port = metrics_port(engine)
    from_namespaces = {PORT: [*launch.run.callers, *(scrapers(launch.run.metrics) if port == PORT else ())]}
    if port != PORT:
        from_namespaces[port] = list(scrapers(launch.run.metrics))
    return pods.among_themselves(launch, ports=(PORT,), from_namespaces=from_namespaces)


def metrics_port(engine: InferenceEngine) -> int:
    """Where the engine says how many requests it has: a port of its own, or the one that it answers at.

    >>> metrics_port(ENGINES["triton"]), metrics_port(ENGINES["vllm"])
    (8002, 8000)
    """
    words = engine.fixed
    return int(words[words.index("--metrics-port") + 1]) if "--metrics-port" in words else PORT


def scrapers(metrics: str) -> tuple[str, ...]:
    """Namespaces whose pods collect metrics: that of a Prometheus in the cluster, else those of the clouds' agents.

    >>> scrapers("http://prometheus-server.monitoring.svc"), scrapers("https://prometheus.example.com")
    (('monitoring',), ('kube-system', 'gmp-system'))
    """
    host = (urlsplit(metrics).hostname or "").split(".")
    return (host[1],) if len(host) > 2 and host[2] == "svc" else ("kube-system", "gmp-system")


def _pod(
    launch: Launch,
    engine: InferenceEngine,
    command: list[str],
    *,
    devices: int,
    env: dict[str, Any] | None = None,
    answers: bool = True,
    main: str = "main",
) -> Manifest:
    several = devices < _devices(launch)
    variables = {**pods.network_env(launch.machine, launch.target, several=several), **(env or {})}
    variables |= {name: value.format(cache=pods.CACHE) for name, value in engine.env.items()}
    if launch.machine.runtime == RUNTIME and engine.cache_env:
        variables[engine.cache_env] = str(max(1, math.ceil(launch.plan.cache_bytes / GIB)))
    return pods.template(
        launch,
        pods.Container(
            command=command,
            env=variables,
            ports={"http": PORT} if answers else {},
            probes=_probes(launch, engine) if answers else {},
            name=main,
        ),
        devices=devices,
        grace=_drain_s(launch),
        restart="Always",
        annotations={**(packed(launch.target) if several else {}), **(_scraped(engine) if answers else {})},
    )


def _scraped(engine: InferenceEngine) -> dict[str, str]:
    """What Prometheus' own chart goes by; without the metrics nothing scales."""
    said = {"scrape": "true", "port": str(metrics_port(engine)), "path": "/metrics"}
    return {f"prometheus.io/{key}": value for key, value in said.items()}


def _probes(launch: Launch, engine: InferenceEngine) -> Manifest:
    """Loading may take twice what was expected; an engine that hangs is started anew after two minutes."""
    check = {"httpGet": {"path": engine.ready, "port": "http"}}
    alive = {"httpGet": {"path": engine.alive or engine.ready, "port": "http"}}
    return {
        "startupProbe": {**check, "periodSeconds": 10, "failureThreshold": max(30, cold_start_s(launch) * 2 // 10)},
        "readinessProbe": {**check, "periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**alive, "periodSeconds": 20, "timeoutSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "10"]}}},  # until no gate sends requests any more
    }


def _scaling(launch: Launch, engine: InferenceEngine, scaled: tuple[str, str, str]) -> list[Manifest]:
    """KEDA between the decision's fewest and most replicas, by requests in flight, and by working hours.

    A metric that does not arrive is an error of the scaler, which then changes nothing: as zero load it would end
    replicas that are busy. `scaled`: API version, kind and name.
    """
    if not scales(launch):
        return []
    low, now, high = _replicas(launch)
    wakes = bool(launch.run.wake or launch.plan.hours)
    api, kind, name = scaled
    replicas = launch.plan.replicas
    target = (replicas and replicas.in_flight_target) or in_flight_target(_concurrency(launch))
    spare = (replicas.spare or 0) if replicas and low else 0
    # of its own pods alone: those of chat-large, and of chat's load test, begin with chat- too
    own = "[0-9]+" if kind == "LeaderWorkerSet" else "[a-z0-9]{5,10}-[a-z0-9]{5}"
    match = f'namespace="{launch.run.namespace}",pod=~"{name}-{own}"'
    metadata = {
        "serverAddress": launch.run.metrics,
        "query": _in_flight(engine.in_flight.format(match), spare * target),
        "threshold": f"{target:g}",
        "ignoreNullValues": "false",
    }
    triggers = [{"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}]
    if launch.run.wake:
        query = {**metadata, "query": launch.run.wake, "threshold": "1", "activationThreshold": "0"}
        triggers.append({"type": "prometheus", "metricType": "AverageValue", "metadata": query})
    triggers += [{"type": "cron", "metadata": window} for window in _hours(launch, max(now, 1))]
    guard = launch.plan.guard
    return [
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": launch.metadata(),
            "spec": {
                "scaleTargetRef": {"apiVersion": api, "kind": kind, "name": name},
                "pollingInterval": 15,
                "cooldownPeriod": guard.window_s if guard else 2700,
                "minReplicaCount": low if wakes else max(1, low),
                "maxReplicaCount": max(high, 1),
                "triggers": triggers,
            },
        }
    ]


def _in_flight(now: str, spare: float) -> str:
    """The query for requests in flight, averaged over some minutes: in seconds they double by chance. `spare`: what
    those would have that stand by; none where replicas are taken down to zero, which it would keep up.
    """
    averaged = f"avg_over_time(({now})[{AVERAGED_S}s:{LOOK_S:g}s])"
    return f"{averaged} + {spare:g}" if spare else averaged


def scales(launch: Launch) -> bool:
    low, _, high = _replicas(launch)
    return high > max(1, low) or (low == 0 and bool(launch.run.wake or launch.plan.hours))


def _hours(launch: Launch, replicas: int) -> list[dict[str, str]]:
    """Working hours as cron lines; outside of them nothing holds the model up."""
    hours = launch.plan.hours
    if hours is None:
        return []
    lines = []
    for days, start, end in hours.windows:
        edges = {}
        for key, clock, on in (("start", start, days), ("end", end, end_days(days, start, end))):
            hour, minute = (23, 59) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            edges[key] = f"{minute} {hour} * * {on.upper()}"
        lines.append({"timezone": hours.time_zone, **edges, "desiredReplicas": str(replicas)})
    return lines


def _replicas(launch: Launch) -> tuple[int, int, int]:
    replicas = launch.plan.replicas
    return (replicas.min, replicas.initial, replicas.max) if replicas else (1, 1, 1)


def _devices(launch: Launch) -> int:
    return launch.plan.replicas.devices_per_replica if launch.plan.replicas else launch.machine.devices


def _concurrency(launch: Launch) -> int:
    replicas = launch.plan.replicas
    return (replicas.concurrency_per_replica or 1) if replicas else 1


def longest_request(task: Task, *, least: int = 0) -> int:
    """Tokens of the longest request to take; what was sized without them has twice the mean. 0 where neither is known.

    >>> longest_request(Task(sequence_length=720)), longest_request(Task(request_tokens_max=4096, sequence_length=3072))
    (2048, 4096)
    """
    mean = task.sequence_length or 0
    return task.request_tokens_max or tokens_taken(mean, longest=max(2 * mean, least))


def _precision(launch: Launch, engine: InferenceEngine) -> list[str]:
    """Flags for weights and cache; a model that the run names itself says in its own files how it is stored."""
    task, words = launch.task, []
    if not launch.machine.bf16 and task.weights != "fp32":
        words += engine.words("dtype", "fp16")
    elif task.weights in SIXTEEN_BIT:
        words += engine.words("dtype", task.weights)
    if word := converting(launch, engine):
        words += engine.words("quantization", word)
    if task.kv in ("fp8", "int8"):
        words += engine.words("kv_dtype", task.kv)
    return words


def converting(launch: Launch, engine: InferenceEngine) -> str:
    """The word that asks the image's release to make the decision's format while it loads; "" where it need not, or
    cannot, which `unloaded` says.
    """
    task = launch.task
    if launch.run.model or task.weights not in engine.at_load or published_so(task.model, task.weights):
        return ""
    return engine.converting(task.weights or "", _release(launch, engine)) or ""


def _release(launch: Launch, engine: InferenceEngine) -> tuple[int, ...]:
    """The release of the engine that the image is; () where nobody here knows."""
    return images.release(launch.run.image) if engine.name in images.engines_in(launch.run.image) else ()


def _conversion(launch: Launch, engine: InferenceEngine) -> list[Fault]:
    """Faults of an image that cannot make the decision's format, or holds 16-bit weights first that do not fit."""
    task, at, image = launch.task, f"run.{launch.plan.name}", launch.run.image
    release, weights = _release(launch, engine), task.weights or ""
    wanted = weights in engine.at_load and not launch.run.model and not published_so(task.model, weights)
    if not wanted or not release:
        return []
    own = f"or {at}.model to a checkpoint in {weights}"
    if engine.converting(weights, release) is None:
        known = [way.until for way in engine.conversions if way.weights == weights and way.until]
        message = f"{image}: {engine.name} makes {weights} of 16-bit weights until release {known[-1]}, not from it on"
        return [Fault(path=f"{at}.image", message=message, fix=f"set {at}.image to a release before {known[-1]}")]
    newest = (*release, 10**6) if len(release) == 2 else release
    if task.loading_bytes and engine.converts_by_layer and newest < numbers(engine.converts_by_layer):
        needs = f"{task.loading_bytes / GIB:,.1f} GiB on each device, which has less"
        message = f"{image}: loads all weights in 16 bits before it makes {weights} of them: {needs}"
        fix = f"set {at}.image to release {engine.converts_by_layer} or later, {own}"
        return [Fault(path=f"{at}.image", message=message, fix=fix)]
    return []


def _drain_s(launch: Launch) -> int:
    """Time to answer what is in flight: twice an answer's, within what a reclaimed machine leaves."""
    answer = launch.plan.figures.get("e2e_s", 10.0)
    wanted = int(2 * answer) + 30
    return min(launch.grace, wanted) if launch.plan.spot else max(30, min(wanted, 300))
