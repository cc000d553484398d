"""Custom objects, and our models of them, judged by the definitions (CRDs) that the pinned operators install."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Literal, get_args, get_origin

import jsonschema
import launch_cases as cases
import pytest
import yaml
from control_plane import build
from pydantic import BaseModel

from sizewell.components.kubernetes import objects
from sizewell.launch import kinds, operator_kinds
from sizewell.launch.manifests import manifests, trials


def module(path, operator):
    return f"{path}@v{objects.OPERATORS[operator]['version']}"


KUEUE = (module("sigs.k8s.io/kueue", "kueue"), "config/components/crd/bases")
MODULES = {
    "JobSet": (module("sigs.k8s.io/jobset", "jobset"), "config/components/crd/bases"),
    "LeaderWorkerSet": (module("sigs.k8s.io/lws", "lws"), "config/crd/bases"),
    "RayJob": (module("github.com/ray-project/kuberay/ray-operator", "kuberay"), "config/crd/bases"),
    "RayCluster": (module("github.com/ray-project/kuberay/ray-operator", "kuberay"), "config/crd/bases"),
    "ScaledObject": (module("github.com/kedacore/keda/v2", "keda"), "config/crd/bases"),
    "InferenceService": ("github.com/kserve/kserve@v0.16.0", "config/crd/full"),  # a cluster's own; no chart of ours
    **dict.fromkeys(
        ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology", "AdmissionCheck", "ProvisioningRequestConfig"),
        KUEUE,
    ),
}
FLAVOR = {
    "name": "pretrain",
    "node_labels": {"sizewell/pool": "pretrain"},
    "resource": "nvidia.com/gpu",
    "accelerators_per_machine": 8,
    "cpus_per_machine": 192,
    "memory_gib_per_machine": 2048,
    "machines": 4,
    "beside_per_machine": {"hugepages-2Mi": "5120Mi", "vpc.amazonaws.com/efa": "32"},
    "tolerations": [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}],
    "topology_levels": list(objects.EKS_TOPOLOGY),
}
QUEUED = {
    **FLAVOR,
    "resource": "google.com/tpu",
    "provisioning_class": "queued-provisioning.gke.io",
    "tpu_topology": "4x4",
}
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(shutil.which("go") is None, reason="without Go the projects' definitions judge nothing"),
]


@functools.cache
def definitions(module, bases):
    """The schema of each kind and version that a module defines, as its project publishes it, and whether it is stored."""
    folder = build.cache() / "definitions" / module
    if not folder.exists():
        said = subprocess.run(
            ["go", "mod", "download", "-json", module],
            check=False, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=280,
        )  # fmt: skip
        if said.returncode:  # a proxy that does not serve it says nothing of our objects
            pytest.skip(f"not judged: {module} (a checkout of that tag in {folder} does): {said.stdout or said.stderr}")
        folder = Path(json.loads(said.stdout)["Dir"])
    known = {}
    for path in (folder / bases).glob("*.yaml"):
        spec = yaml.load(path.read_text(), Loader=yaml.CSafeLoader).get("spec", {})
        for version in spec.get("versions", ()):
            if version["served"]:
                api = f"{spec['group']}/{version['name']}"
                known[spec["names"]["kind"], api] = version["schema"]["openAPIV3Schema"], version["storage"]
    return known


def strict(schema):
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {key: value if key in ("enum", "default", "required") else strict(value) for key, value in schema.items()}
    if "(?i)" in str(made.get("pattern", "")):  # Go's place for it is not Python's
        del made["pattern"]
    closed = isinstance(made.get("properties"), dict) and made.get("type") == "object"
    if closed and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def faults(manifest, known):
    """What the definition refuses, with unknown fields refused as the API server does under strict validation."""
    published, storage = known[manifest["kind"], manifest["apiVersion"]]
    schema = strict(published)
    schema["properties"]["metadata"] = {}
    errors = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    old = [] if storage else [f"{manifest['apiVersion']} is not the version that the cluster stores"]
    return old + [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


@pytest.mark.parametrize("flavor", [FLAVOR, QUEUED], ids=["standing", "queued"])
def test_the_pinned_kueue_accepts_every_object_in_the_version_that_it_stores(flavor):
    known = definitions(*KUEUE)
    made = objects.manifests({"flavors": [flavor]})
    assert {one["kind"] for one in made} >= {"Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"}
    assert {one["kind"]: faults(one, known) for one in made if faults(one, known)} == {}


def test_the_definitions_do_refuse():
    known = definitions(*KUEUE)
    queue = next(one for one in objects.manifests({"flavors": [FLAVOR]}) if one["kind"] == "ClusterQueue")
    wrong = {**queue, "spec": {**queue["spec"], "cohort": "a"}}  # v1beta1's word
    assert any(re.search("cohort", fault) for fault in faults(wrong, known))
    assert any("stores" in fault for fault in faults({**queue, "apiVersion": "kueue.x-k8s.io/v1beta1"}, known))


@functools.cache
def made(case):
    every = [*manifests(cases.CASES[case]()), *(trials(cases.CASES[case]()) if case in TRIED else ())]
    return [manifest for manifest in every if manifest["kind"] in MODULES]


TRIED = ("eks-training", "serve-shared")


@pytest.mark.parametrize("case", cases.CASES)
def test_the_pinned_operators_accept_every_object(case):
    refused = {
        manifest["kind"]: wrong
        for manifest in made(case)
        if (wrong := faults(manifest, definitions(*MODULES[manifest["kind"]])))
    }
    assert refused == {}


def test_every_kind_of_a_run_is_judged_and_refused_with_a_field_that_nobody_knows():
    objects_by_kind = {manifest["kind"]: manifest for case in cases.CASES for manifest in made(case)}
    assert set(objects_by_kind) == {"JobSet", "LeaderWorkerSet", "RayJob", "ScaledObject", "InferenceService"}
    for kind, manifest in objects_by_kind.items():
        wrong = {**manifest, "spec": {**manifest["spec"], "replicaz": 1}}
        assert any("replicaz" in fault for fault in faults(wrong, definitions(*MODULES[kind]))), kind
        assert any("replicaz" in fault for fault in kinds.faults(wrong)), kind


@pytest.mark.parametrize("kind", MODULES)
def test_a_model_of_ours_knows_no_field_and_no_word_that_the_project_does_not(kind):
    api, model = kinds.KINDS[kind]
    schema, _ = definitions(*MODULES[kind])[kind, api]
    assert list(differences(model, schema["properties"]["spec"], "spec")) == []


@pytest.mark.parametrize("group", build.CHECKED_OUT)
def test_a_model_of_an_operator_s_kind_knows_no_field_that_its_project_does_not(group):
    """Of operators whose definitions no Go module has: from a checkout, where a person has put them into the cache."""
    if told := build.not_there(group):
        pytest.skip(told)
    spec = yaml.load(build.checked_out(group).read_text(), Loader=yaml.CSafeLoader)["spec"]
    kind = spec["names"]["kind"]
    api, model = operator_kinds.KINDS[kind]
    (version,) = [version for version in spec["versions"] if f"{spec['group']}/{version['name']}" == api]
    assert version["served"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert list(differences(model, schema, "spec")) == []


def differences(model, schema, at):
    """What a model allows and the definition does not: unknown fields, other words, a required field left out."""
    published = schema.get("properties", {})
    for name, field in model.model_fields.items():
        if name not in published:
            yield f"{at}.{name} is no field"
            continue
        for inner in within(field.annotation):
            inside = published[name].get("items") or published[name].get("additionalProperties") or published[name]
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from differences(inner, inside, f"{at}.{name}")
            elif isinstance(inner, tuple) and "enum" in inside and not set(inner) <= set(inside["enum"]):
                yield f"{at}.{name} knows {inner}, the definition {inside['enum']}"
    for name in schema.get("required", ()):
        if name not in model.model_fields or not model.model_fields[name].is_required():
            yield f"{at}.{name} may be left out"


def within(annotation):
    """The models, and the words as tuples, that a field's type holds."""
    if get_origin(annotation) is Literal:
        return [get_args(annotation)]
    inner = [each for part in get_args(annotation) for each in within(part)]
    return inner or ([annotation] if isinstance(annotation, type) else [])
