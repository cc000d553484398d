"""All that launch and the components make, judged by a real API server, Kueue, JobSet, LeaderWorkerSet and KubeRay.

Every form on every kind of cluster in every mode is applied with strict validation, first dry, then really; what is
queued is admitted by Kueue, made into pods by its controller, and each pod is bound by Kubernetes' scheduler to a
machine of its pool, which offers what the catalog says less what Google publishes that the system keeps.
"""

import dataclasses
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import judged_plans
import pytest
import yaml
from control_plane import build, grid, plane
from launch_cases import BURN_IN, CASES

from sizewell.components import bursting
from sizewell.components.adopted import _burst_flavor as burst_flavor
from sizewell.components.adopted import _flavor as own_flavor
from sizewell.components.kubernetes import objects
from sizewell.components.machines import find_shape
from sizewell.components.settings import Settings
from sizewell.launch import overflow
from sizewell.launch.adopted import read_adopted
from sizewell.launch.launch import launch_of
from sizewell.launch.manifests import manifests, trials
from sizewell.launch.run import read_run
from sizewell.launch.target import machine_of
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.records.decision import Decision

REASON = plane.absent()
pytestmark = [pytest.mark.soak, pytest.mark.skipif(bool(REASON), reason=REASON or "-")]
GIB = 2**30
CONTROLLERS = {
    "JobSet": "JobSet",
    "RayJob": "KubeRay",
    "LeaderWorkerSet": "LeaderWorkerSet",
    "Deployment": "Kubernetes",
    "StatefulSet": "Kubernetes",
    "Job": "Kubernetes",
    "InferenceService": "KServe",
}
RECORD = Path(__file__).parent / "control_plane/judged.json"


@pytest.fixture(scope="module")
def judged():
    """What was judged, which SIZEWELL_REFRESH writes down for docs/reference/judged.md."""
    rows = []
    yield rows
    if os.environ.get("SIZEWELL_REFRESH") and rows:
        versions = {
            name: build.PROGRAMS[name].version for name in (*plane.INSTALLED, "kuberay", "kserve", "kube-apiserver")
        }
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        before = [one for one in record.get("rows", []) if key(one) not in {key(row) for row in rows}]
        rows = sorted([*before, *rows], key=key)
        RECORD.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1) + "\n")


def key(row):
    return tuple(str(row.get(each, "")) for each in ("form", "cluster", "mode"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with plane.running(tmp_path_factory.mktemp("plane")) as started:
        for name, value in objects.PRIORITIES.items():
            one = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            assert started.apply({**one, "value": value, "globalDefault": False}) == ""
        started.node("system-0", {"kubernetes.io/os": "linux"}, {"cpu": "96", "memory": "384Gi", "pods": "110"}, [])
        yield started


def namespace(cluster, name):
    assert cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) == ""
    where = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    plane.until(lambda: cluster.read(where), f"the account of {name}", why=cluster.logs)


def refusals(cluster, made):
    """What a strict dry run and then a real one refuse, as texts."""
    found = [f"{one['kind']} {one['metadata']['name']}: {why}" for one in made if (why := cluster.apply(one, dry=True))]
    return found or [f"{one['kind']} {one['metadata']['name']}: {why}" for one in made if (why := cluster.apply(one))]


def kept(cluster, cpus, memory_gib):
    """(CPUs, GiB) that the node agent and the system keep, as each cloud publishes it; eviction at 100 MiB.

    docs.aws.amazon.com (the agent's own formula, by most pods), learn.microsoft.com/azure/aks/node-resource-reservations
    (from 1.29), cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes.
    """
    few = 0.06 + 0.01 * min(1, cpus - 1) + 0.005 * min(2, max(0, cpus - 2)) + 0.0025 * max(0, cpus - 4)
    if cluster == "eks":
        return few, (11 * (110 if cpus < 30 else 250) + 255 + 100) / 1024
    if cluster in ("aks", "other"):
        return 0.14 + 0.01 * max(0, cpus - 4), min((20 * 110 + 50) * 1e6 / GIB, memory_gib / 4) + 100 / 1024
    gib, left = 100 / 1024, memory_gib
    for size, share in ((4, 0.25), (4, 0.2), (8, 0.1), (112, 0.06), (float("inf"), 0.02)):
        gib += share * min(size, max(0.0, left))
        left -= size
    return few, gib


def offers(of):
    """What pods may have of a machine: what is sold, less what the machine itself takes (Karpenter's 7.5 %), what its
    cloud keeps, and a quarter of a CPU and half a GiB for daemons (estimate)."""
    shape, machine = find_shape(of.plan.cloud, of.plan.instance_type), of.machine
    cpus, memory = shape.vcpus, shape.memory_bytes / GIB * 0.925
    kept_cpu, kept_gib = kept(of.target.cluster, cpus, memory)
    found = {
        "cpu": f"{int((cpus - kept_cpu - 0.25) * 1000)}m",
        "memory": f"{int((memory - kept_gib - 0.5) * 1024)}Mi",
        "pods": "110",
        "ephemeral-storage": "200Gi",
        machine.resource: str(machine.devices),
    }
    resource, count = of.target.rdma
    if resource:
        found[resource] = str(count)
    if resource.endswith("/efa"):
        found["hugepages-2Mi"] = "5120Mi"
        found["memory"] = f"{int(found['memory'][:-2]) - 5120}Mi"
    return found


def machines(cluster, of, flavor):
    """The pool's machines, with the labels and taints that its component gives them."""
    google = {"cloud.google.com/gke-nodepool": flavor["name"]} if of.target.cluster == "gke" else {}
    if of.machine.tpu_label:
        google["cloud.google.com/gke-tpu-accelerator"] = of.machine.tpu_label
        google["cloud.google.com/gke-tpu-topology"] = of.machine.topology
    taints = [{"key": flavor["resource"], "value": "present", "effect": "NoSchedule"}]
    taints += [
        {"key": one["key"], "value": one.get("value", "true"), "effect": one["effect"]}
        for one in flavor.get("tolerations", [])
    ]
    if of.plan.capacity_mode == "queued":
        taints.append({"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"})
    for number in range(flavor["machines"]):
        name = f"{flavor['name']}-{number}"
        layers = {level: "a" for level in flavor.get("topology_levels", []) if level != "kubernetes.io/hostname"}
        of_host = {level: name for level in layers if level.endswith("topology-host")}
        cluster.node(name, {**flavor["node_labels"], **google, **layers, **of_host}, offers(of), taints)
    return {f"{flavor['name']}-{number}" for number in range(flavor["machines"])}


def queue(cluster, flavor, space):
    found = refusals(cluster, objects.manifests({"flavors": [flavor], "namespaces": [space]}))
    assert found == []
    where = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{flavor['name']}"

    def active():
        states = (cluster.read(where) or {}).get("status", {}).get("conditions", [])
        return any(one["type"] == "Active" and one["status"] == "True" for one in states)

    plane.until(active, f"queue {flavor['name']} is active", why=lambda: json.dumps(cluster.read(where)))


def pods_wanted(one):
    spec = one.get("spec", {})
    if one["kind"] == "JobSet":
        return sum(each["replicas"] * each["template"]["spec"]["parallelism"] for each in spec["replicatedJobs"])
    if one["kind"] == "RayJob":  # what submits comes once the head runs
        groups = spec["rayClusterSpec"]["workerGroupSpecs"]
        return 1 + sum(group["replicas"] * group.get("numOfHosts", 1) for group in groups)
    if one["kind"] == "LeaderWorkerSet":
        return spec["replicas"] * spec["leaderWorkerTemplate"]["size"]
    if one["kind"] in ("Deployment", "StatefulSet"):
        return spec.get("replicas", 1)
    if one["kind"] == "InferenceService":
        return spec["predictor"]["minReplicas"]
    return 1 if one["kind"] == "Job" else 0


def pods_of(cluster, space, name):
    every = cluster.ask(f"/api/v1/namespaces/{space}/pods")["items"]
    return [one for one in every if one["metadata"]["labels"].get("app.kubernetes.io/name") == name]


def provision(cluster, space):
    """What GKE's autoscaler says once the machines of a request are there."""
    where = f"/apis/autoscaling.x-k8s.io/v1/namespaces/{space}/provisioningrequests"
    for one in cluster.ask(where)["items"]:
        at = {"reason": "Here", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "status": "True"}
        if not one.get("status", {}).get("conditions"):
            state = {"conditions": [{**at, "type": "Accepted"}, {**at, "type": "Provisioned"}]}
            path = f"{where}/{one['metadata']['name']}/status"
            cluster.ask(path, method="PATCH", body={"status": state}, kind="application/merge-patch+json")


def admitted(cluster, space, name):
    """Whether Kueue has admitted all that waits in this queue, and that there is something."""
    provision(cluster, space)
    where = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{space}/workloads"
    mine = [one for one in cluster.ask(where)["items"] if one["spec"]["queueName"] == name]
    states = [{each["type"]: each["status"] for each in one.get("status", {}).get("conditions", [])} for one in mine]
    return bool(mine) and all(state.get("Admitted") == "True" for state in states)


def why(cluster, space, name):
    def told():
        where = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{space}/workloads"
        mine = [one for one in cluster.ask(where)["items"] if one["spec"]["queueName"] == name]
        states = [one.get("status", {}).get("conditions") for one in mine]
        pods = [(one["metadata"]["name"], one["status"].get("conditions")) for one in pods_of(cluster, space, name)]
        events = cluster.ask(f"/api/v1/namespaces/{space}/events")["items"]
        said = {one.get("message") or one.get("note") for one in events if name in str(one["involvedObject"])}
        return json.dumps({"workloads": states, "pods": pods, "events": sorted(map(str, said))}, indent=1)[:6000]

    return told


def run(cluster, of, made, nodes):
    """Applied, admitted, made into pods, bound to machines of the pool; (objects, pods)."""
    space = of.run.namespace
    for one in made:
        if one["kind"] == "StatefulSet":  # the disk that a storage class would make
            disk = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"{space}-{of.name}"}}
            spec = {"capacity": {"storage": "4Ti"}, "accessModes": ["ReadWriteOncePod"], "hostPath": {"path": "/x"}}
            claim = one["spec"]["volumeClaimTemplates"][0]["spec"]
            if storage := claim.get("storageClassName"):
                spec["storageClassName"] = storage
            assert cluster.apply({**disk, "spec": spec}) == ""
    assert refusals(cluster, made) == []
    wanted = sum(map(pods_wanted, made))
    if wanted and of.target.queue:
        plane.until(
            lambda: admitted(cluster, space, of.target.queue),
            f"{of.name} is admitted",
            60,
            why(cluster, space, of.name),
        )
    names = {one["metadata"]["name"] for one in made if pods_wanted(one)}

    def bound():
        provision(cluster, space)
        pods = [one for name in names for one in pods_of(cluster, space, name)]
        return len(pods) == wanted and all(one["spec"].get("nodeName") for one in pods) and pods

    if not wanted:
        return []
    pods = plane.until(bound, f"{wanted} pods of {of.name} are bound", 60, why(cluster, space, of.name))
    strangers = {one["spec"]["nodeName"] for one in pods} - nodes - {"system-0"}
    assert strangers == set()
    return pods


def tidy(cluster, space):
    """Nothing of a namespace is left, and none of the machines."""
    for kind in (
        "jobset.x-k8s.io/v1alpha2/*/jobsets",
        "ray.io/v1/*/rayjobs",
        "leaderworkerset.x-k8s.io/v1/*/leaderworkersets",
        "serving.kserve.io/v1beta1/*/inferenceservices",
        "serving.knative.dev/v1/*/services",
    ):
        cluster.delete("/apis/" + kind.replace("*", f"namespaces/{space}"))
    for kind in ("deployments", "statefulsets", "daemonsets"):
        cluster.delete(f"/apis/apps/v1/namespaces/{space}/{kind}")
    cluster.delete(f"/apis/batch/v1/namespaces/{space}/jobs")
    cluster.delete(f"/api/v1/namespaces/{space}")
    for one in cluster.ask("/api/v1/nodes")["items"]:
        if one["metadata"]["name"] != "system-0":
            cluster.delete(f"/api/v1/nodes/{one['metadata']['name']}")

    def gone():
        cluster.delete(f"/api/v1/namespaces/{space}/pods")
        return not cluster.ask(f"/api/v1/namespaces/{space}/pods")["items"]

    plane.until(gone, f"the pods of {space} are gone", 60)


@pytest.mark.parametrize(("kind", "mode"), grid.rows())
def test_every_form_is_accepted_admitted_and_placed(cluster, judged, kind, mode):
    space = f"{kind}-{mode}"
    namespace(cluster, space)
    try:
        for form, of, flavor in grid.settings(kind, mode):
            nodes = machines(cluster, of, flavor)
            queue(cluster, flavor, space)
            made = manifests(of)
            pods = run(cluster, of, made, nodes)
            work = next(one for one in made if one["kind"] in CONTROLLERS)
            judged.append(
                {
                    "form": form,
                    "cluster": kind,
                    "mode": mode,
                    "kind": work["kind"],
                    "objects": len(made),
                    "pods": len(pods),
                }
            )
    finally:
        tidy(cluster, space)


def test_a_gang_that_finds_the_own_machines_full_is_admitted_on_the_burst(cluster, judged):
    """examples/hybrid, one queue over both: the first gang on machines of one's own, the second on the burst's, the
    third waits for either; one that is larger than all of the own ones goes to the burst at once.
    """
    decision = Decision.from_json(HYBRID / "stacks/decisions/prod.json")
    config = yaml.safe_load((HYBRID / "stacks/config/Pulumi.prod.yaml").read_text())["config"]
    adopted = read_adopted(config["sizewell:cluster"])
    (pair,), burst = bursting.baseline(decision, adopted), bursting.machines(decision, adopted)
    places, objects_made = {}, 0
    for space, own_machines in (("hybrid", 2), ("hybrid-small", 1)):
        namespace(cluster, space)
        settings = Settings(project="p", stack="prod", cluster=adopted)
        own = {**own_flavor(space, [pair], settings), "machines": own_machines}
        more = {**burst_flavor(space, *burst), "name": f"{space}-burst"}
        # two clusters in one: a machine of the first is none of the second's
        own["node_labels"] |= {"space": space}
        more["node_labels"] = {"sizewell/pool": "pretrain-burst", "space": space}
        target = bursting.target(decision, adopted, pair, settings, queue=space)
        run = read_run({**config["sizewell:run"]["pretrain"], "namespace": space}, "run")
        of = launch_of(decision, *pair, run, target)
        on_burst = dataclasses.replace(of, machine=machine_of(burst[1]))
        on_burst = dataclasses.replace(on_burst, plan=dataclasses.replace(of.plan, **TYPE_OF_BURST))
        machines(cluster, of, own)
        machines(cluster, on_burst, more)
        assert refusals(cluster, objects.manifests({"flavors": [own, more], "namespaces": [space]})) == []
        for prefix in ("main", "second", "third"):
            job = launch_of(decision, *pair, dataclasses.replace(run, prefix=prefix), target)
            made = manifests(job)
            assert refusals(cluster, made) == []
            name = f"{space}/{prefix}"
            places[name] = placed(cluster, space, job.name)
            objects_made += len(made)
        tidy(cluster, space)
    assert places == {
        "hybrid/main": {"hybrid-0", "hybrid-1"},
        "hybrid/second": {"hybrid-burst-0", "hybrid-burst-1"},
        "hybrid/third": set(),
        "hybrid-small/main": {"hybrid-small-burst-0", "hybrid-small-burst-1"},
        "hybrid-small/second": set(),
        "hybrid-small/third": set(),
    }
    pods = sum(map(len, places.values()))
    row = {"form": "training, burst", "cluster": "other", "mode": "on-demand", "kind": "JobSet"}
    judged.append({**row, "objects": objects_made, "pods": pods})


def test_a_run_moves_to_the_second_queue_when_the_first_has_no_room(cluster, judged, tmp_path):
    """`launch --then`, its script run by bash with kubectl: two queues, whose clusters are two contexts of this one.

    Kueue deactivates the run where it waits, and does not admit it there when room comes; nobody else's run moves.
    """
    found, spaces = {}, ("then-first", "then-second")
    for space, kind in zip(spaces, ("other", "eks"), strict=True):
        namespace(cluster, space)
        _, of, flavor = next(row for row in grid.settings(kind, "on-demand") if row[0] == "training")
        flavor = {**flavor, "name": space, "node_labels": {**flavor["node_labels"], "space": space}}
        target = dataclasses.replace(of.target, queue=space, store="s3://petsnap-state")
        found[space] = dataclasses.replace(of, run=dataclasses.replace(of.run, namespace=space), target=target)
        machines(cluster, found[space], flavor)
        queue(cluster, flavor, space)
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["contexts"] = [{**config["contexts"][0], "name": space} for space in spaces]
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    (tmp_path / "kubectl").symlink_to(cluster.programs["kubectl"])
    env = {
        **os.environ,
        "KUBECONFIG": str(tmp_path / "config"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PAUSE": "1",
    }

    def submitted(prefix, after_s):
        pair = [dataclasses.replace(of, name=f"{of.name}-{prefix}") for of in found.values()]
        text = overflow.script(*pair, after_s=after_s)
        line = ["bash", "-s", "--", *spaces]
        done = subprocess.run(line, input=text, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    first, second = (of.name for of in found.values())
    assert submitted("main", 120) == f"{first}-main runs on then-first"
    assert submitted("more", 3) == f"{second}-more is submitted to then-second"
    assert placed(cluster, spaces[1], f"{second}-more") == {"then-second-0", "then-second-1"}
    assert submitted("more", 3) == f"{second}-more is on then-second"
    cluster.delete(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{spaces[0]}/jobsets/{first}-main")
    assert (
        submitted("next", 120) == f"{first}-next runs on then-first"
    )  # which has room now, and not for the one that went
    assert pods_of(cluster, spaces[0], f"{first}-more") == []
    objects_made = sum(len(manifests(of)) for of in found.values()) * 2
    row = {"form": "training, moved", "cluster": "other", "mode": "on-demand", "kind": "JobSet"}
    judged.append({**row, "objects": objects_made, "pods": 6})
    for space in spaces:
        tidy(cluster, space)


HYBRID = Path(__file__).parents[2] / "examples/hybrid"
TYPE_OF_BURST = {"cloud": "aws", "instance_type": "p5.48xlarge"}


def placed(cluster, space, name):
    """The machines of a job's pods; none where Kueue says that neither flavor has room."""

    def settled():
        where = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{space}/workloads"
        mine = [one for one in cluster.ask(where)["items"] if one["metadata"]["ownerReferences"][0]["name"] == name]
        states = {one["type"]: one for each in mine for one in each.get("status", {}).get("conditions", [])}
        if states.get("QuotaReserved", {}).get("status") == "False":
            return {"waits"} if "insufficient" in states["QuotaReserved"]["message"] else None
        pods = pods_of(cluster, space, name)
        return {one["spec"].get("nodeName") for one in pods} if len(pods) == 2 else None

    nodes = plane.until(
        lambda: (found := settled()) and None not in found and found, f"{name} is placed", 60, why(cluster, space, name)
    )
    return nodes - {"waits"}


def everything():
    """(where it comes from, manifest) of all other objects: the tests' cases, burn-ins, and what components make."""
    for name in CASES:
        of = CASES[name]()
        of = dataclasses.replace(of, run=dataclasses.replace(of.run, namespace="accepted"))
        yield from ((name, one) for one in manifests(of))
        if name in BURN_IN:
            yield from ((f"{name} burn-in", one) for one in trials(of))
    plans = [*judged_plans.forms().items(), *((plan.stack, plan) for plan in judged_plans.stacks())]
    for name, plan in plans:
        for one in plan.resources:
            if one.type.startswith("kubernetes:") and "apiVersion" in one.inputs:
                yield name, known(one.inputs)


def known(value):
    """What stands in a manifest once everything is made: a text in place of what is not known before."""
    if value is UNKNOWN:
        return "10.0.0.8"
    if hasattr(value, "items"):
        return {key: known(item) for key, item in value.items() if item is not None}
    return [known(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_everything_else_that_is_made_is_accepted(cluster, judged):
    namespace(cluster, "accepted")
    found, left_out, asked = Counter(), Counter(), 0
    spaces = {"accepted"}
    for number, (name, one) in enumerate(everything()):
        if one["kind"].startswith("PersistentVolume"):  # several stacks have one of a name, and it may not change
            one["metadata"]["name"] += f"-{number}"
        space = one["metadata"].get("namespace", "accepted")
        if space not in spaces:
            namespace(cluster, space)
            spaces.add(space)
        group = one["apiVersion"].rpartition("/")[0]
        if group in build.CHECKED_OUT and build.not_there(group):
            left_out[group] += 1
            continue
        asked += 1
        for why in refusals(cluster, [one]):
            found[f"{name}: {why}"] += 1
        if one["metadata"].get("namespace", "accepted") == "accepted" and one["kind"] in CONTROLLERS:
            cluster.delete(cluster.path(one))
    judged.append({"form": "all cases, burn-ins, components and stacks", "objects": asked, "left out": dict(left_out)})
    tidy(cluster, "accepted")
    for group in left_out:
        print(build.not_there(group))
    assert dict(found) == {}
    assert asked > 200


def holds(whole, part):
    """Whether all of `part` stands in `whole`, which may have defaults beside it."""
    if isinstance(part, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(part) <= len(whole) and all(any(holds(each, one) for each in whole) for one in part)
    return whole == part


def knative(service):
    """What Knative's own webhook would refuse of a Service; "" where nothing."""
    done = subprocess.run(
        [build.built("knative")], input=json.dumps(service), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["error"]


def test_kserve_makes_a_deployment_where_knative_would_refuse(cluster, judged):
    """KServe's own default is Knative. What we write asks for a Deployment, and nothing reaches Knative; without the line
    that asks for it, KServe makes a Service of Knative that Knative's validation refuses.
    """
    space = "knative"
    namespace(cluster, space)
    services = f"/apis/serving.knative.dev/v1/namespaces/{space}/services"
    _, of, _ = next(row for row in grid.settings("eks", "on-demand") if row[0] == "kserve")
    target = dataclasses.replace(of.target, queue="")
    of = dataclasses.replace(of, run=dataclasses.replace(of.run, namespace=space), target=target)
    made = manifests(of)
    assert refusals(cluster, made) == []
    where = f"/apis/apps/v1/namespaces/{space}/deployments/{of.name}-predictor"
    deployment = plane.until(lambda: cluster.read(where), "KServe's Deployment", 60, cluster.logs)
    (written,) = [one["spec"]["predictor"] for one in made if one["kind"] == "InferenceService"]
    template = deployment["spec"]["template"]["spec"]
    wanted = {key: value for key, value in written.items() if key in template}
    assert {"nodeSelector", "tolerations", "terminationGracePeriodSeconds", "containers", "volumes"} <= set(wanted)
    assert holds(template, wanted)
    assert cluster.ask(services)["items"] == []

    (service,) = [json.loads(json.dumps(one)) for one in made if one["kind"] == "InferenceService"]
    service["metadata"]["name"] = "other"
    del service["metadata"]["annotations"]["serving.kserve.io/deploymentMode"]
    assert cluster.apply(service) == ""
    (other,) = plane.until(lambda: cluster.ask(services)["items"], "KServe's Service of Knative", 60, cluster.logs)
    refused = knative(other)
    assert "nodeSelector" in refused
    assert "tolerations" in refused
    plain = {"containers": [{"name": "kserve-container", "image": of.run.image}]}
    other["spec"]["template"] = {"spec": plain}
    assert knative({key: other[key] for key in ("apiVersion", "kind", "metadata", "spec")}) == ""
    judged.append({"form": "what Knative would refuse", "mode": "knative", "refused": refused})
    tidy(cluster, space)


def test_the_judges_do_refuse(cluster):
    """A misspelt field, a name that is too long, a queue without one of the resources: each is refused or waits."""
    namespace(cluster, "refused")
    form, of, flavor = next(grid.settings("aks", "on-demand"))
    assert form == "training"
    of = dataclasses.replace(of, run=dataclasses.replace(of.run, namespace="refused"))
    *others, job = manifests(of)
    wrong = json.loads(json.dumps(job))
    wrong["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelectors"] = {}
    assert "field not declared in schema" in cluster.apply(wrong, dry=True)
    long = json.loads(json.dumps(job))
    long["metadata"]["name"] = "a" * 62  # JobSet's own webhook counts what it adds for pods
    assert cluster.apply(long, dry=True) != ""
    nodes = machines(cluster, of, flavor)
    lacking = {key: value for key, value in flavor.items() if key != "beside_per_machine"}
    queue(cluster, lacking, "refused")
    with pytest.raises(AssertionError, match="is admitted") as waits:
        run(cluster, of, [*others, job], nodes)
    assert "rdma/ib" in str(waits.value)
    tidy(cluster, "refused")
