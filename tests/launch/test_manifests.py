"""What runs on a cluster: goldens that a person reads, the published schemas, the security of every pod."""

import difflib
import functools
import os
import re
from pathlib import Path

import judging
import pytest
import yaml
from launch_cases import BURN_IN, CASES, eks_spot, planned

from sizewell.launch import files, kinds, training
from sizewell.launch.manifests import as_yaml, manifests, trials

GOLDENS = Path(__file__).parent / "goldens"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/launch"
MADE = [(name, "run") for name in CASES] + [(name, "burn-in") for name in BURN_IN]


@functools.cache
def made(name, what):
    return (manifests if what == "run" else trials)(CASES[name]())


def shown(found):
    """As YAML, without the text of the scripts and the hash of it."""
    found = yaml.safe_load_all(as_yaml(found))
    text = []
    for one in found:
        if one["kind"] == "ConfigMap":
            shared = files.training().keys() & one["data"].keys()
            one["data"] = sorted(set(one["data"]) - shared) + ["the scripts of training"] * (len(shared) > 2)
        text.append(one)
    return re.sub(r"-scripts-[0-9a-f]{8}", "-scripts-HASH", as_yaml(text))


@pytest.mark.parametrize(("name", "what"), MADE)
def test_golden(name, what):
    path, text = GOLDENS / f"{name}{'' if what == 'run' else '-burn-in'}.yaml", shown(made(name, what))
    if os.environ.get("SIZEWELL_REFRESH"):
        path.write_text(text, encoding="utf-8")
    stands = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != stands:
        lines = difflib.unified_diff(stands.splitlines(), text.splitlines(), "golden", "now", lineterm="", n=2)
        pytest.fail("\n".join([*list(lines)[:80], f"refresh: {REFRESH}"]), pytrace=False)


@pytest.mark.parametrize(("name", "what"), MADE)
def test_core_objects_are_what_the_published_schemas_allow(name, what):
    core = [core for one in made(name, what) for core in judging.as_core(one)]
    assert core
    assert {f"{one['kind']} {fault}" for one in core for fault in judging.core_faults(one)} == set()


@pytest.mark.parametrize(("name", "what"), MADE)
def test_custom_objects_are_what_their_definitions_allow(name, what):
    assert [fault for one in made(name, what) for fault in kinds.faults(one)] == []


MAIN = ["main: adds IPC_LOCK", "main: may be root"]
DAEMON = ["daemon: allowPrivilegeEscalation", "daemon: keeps capabilities", "daemon: adds NET_ADMIN"]
DIRECT = {
    "gke-tcpx": [
        *(f"volume {one}" for one in ("libraries", "sys", "proc-sys")),
        *MAIN,
        *(f"tcpx-{one}" for one in [*DAEMON, "daemon: may be root"]),
    ],
    "gke-tcpxo": [
        *(f"volume {one}" for one in ("libraries", "sys", "proc-sys", "aperture-devices")),
        *MAIN,
        *(f"tcpxo-{one}" for one in [*DAEMON, "daemon: adds NET_BIND_SERVICE", "daemon: may be root"]),
    ],
    "gke-rdma": ["volume libraries", "volume gib", *MAIN],
    "gke-rdma-ray": ["volume libraries", "volume gib", *MAIN],
}


@pytest.mark.parametrize(("name", "what"), MADE)
def test_pods_keep_to_the_restricted_standard(name, what):
    """All but two: InfiniBand registers more memory than a pod may lock, which takes root with IPC_LOCK; GPUDirect more."""
    pods = [pod for one in made(name, what) for pod in judging.pods(one)]
    assert pods
    infiniband = name in ("aks-training", "coreweave")
    for pod in pods:
        direct = "networking.gke.io/interfaces" in pod["metadata"].get("annotations", {})
        if direct:
            assert judging.unrestricted(pod) == DIRECT[name]
        else:
            assert judging.unrestricted(pod) == (MAIN if infiniband else [])
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["resources"]["requests"] == container["resources"]["limits"]
            assert {"cpu", "memory"} <= container["resources"]["limits"].keys()


@pytest.mark.parametrize(("name", "what"), MADE)
def test_only_a_notebook_sees_a_token_of_the_cluster(name, what):
    for one in made(name, what):
        for pod in judging.pods(one):
            assert pod["spec"]["automountServiceAccountToken"] is (name == "notebook")
        if one["kind"] == "ServiceAccount":
            assert one["automountServiceAccountToken"] is False


@pytest.mark.parametrize(("name", "what"), MADE)
def test_names_leave_room_for_what_a_cluster_adds(name, what):
    for one in made(name, what):
        most = 63 if one["kind"] in ("ConfigMap", "ServiceAccount") else 40
        assert len(one["metadata"]["name"]) <= most
        assert one["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "sizewell"


def test_a_judge_sees_what_is_wrong():
    """The schemas are asked with all fields known: a misspelt one is found, also inside of a template."""
    job = next(one for one in made("eks-training", "run") if one["kind"] == "JobSet")
    wrong = yaml.safe_load(yaml.safe_dump(job))
    spec = wrong["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec["nodeSelectors"] = spec.pop("nodeSelector")
    assert any("nodeSelectors" in fault for one in judging.as_core(wrong) for fault in judging.core_faults(one))
    spec["containers"][0]["securityContext"]["privileged"] = True
    assert "main: privileged" in judging.unrestricted(judging.pods(wrong)[0])


def test_yaml_is_read_back_as_it_was_written():
    found = made("eks-training", "run")
    assert list(yaml.safe_load_all(as_yaml(found))) == found
    assert "&id" not in as_yaml(found)


def test_the_entry_script_hears_how_gradients_are_reduced():
    of = eks_spot()
    assert "SIZEWELL_NO_SYNC" not in training.variables(of)
    task = of.plan.task.model_copy(update={"no_sync": True})
    assert training.variables(planned(of, task=task))["SIZEWELL_NO_SYNC"] == "1"
