"""Objects of queues, judged by the definitions (CRDs) that the pinned version of Kueue installs."""

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from sizewell.components.kubernetes import objects

VERSION = objects.OPERATORS["kueue"]["version"]
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
    pytest.mark.skipif(shutil.which("go") is None, reason="without Go Kueue's definitions judge nothing"),
]


@functools.cache
def definitions(folder):
    """The schema of each kind and version, with unknown fields refused as the API server does under strict validation."""
    said = subprocess.run(
        ["go", "mod", "download", "-json", f"sigs.k8s.io/kueue@v{VERSION}"],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=280,
    )
    bases = Path(json.loads(said.stdout)["Dir"], "config/components/crd/bases")
    found = {}
    for path in bases.glob("*.yaml"):
        spec = yaml.safe_load(path.read_text())["spec"]
        for version in spec["versions"]:
            if version["served"]:
                schema = strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {}
                found[spec["names"]["kind"], version["name"]] = schema, version["storage"]
    return found


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
    schema, storage = known[manifest["kind"], manifest["apiVersion"].partition("/")[2]]
    errors = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    old = [] if storage else [f"{manifest['apiVersion']} is not the version that Kueue {VERSION} stores"]
    return old + [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


@pytest.mark.parametrize("flavor", [FLAVOR, QUEUED], ids=["standing", "queued"])
def test_the_pinned_kueue_accepts_every_object_in_the_version_that_it_stores(tmp_path, flavor):
    known = definitions(tmp_path)
    made = objects.manifests({"flavors": [flavor]})
    assert {one["kind"] for one in made} >= {"Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue"}
    assert {one["kind"]: faults(one, known) for one in made if faults(one, known)} == {}


def test_the_definitions_do_refuse(tmp_path):
    known = definitions(tmp_path)
    queue = next(one for one in objects.manifests({"flavors": [FLAVOR]}) if one["kind"] == "ClusterQueue")
    wrong = {**queue, "spec": {**queue["spec"], "cohort": "a"}}  # v1beta1's word
    assert any(re.search("cohort", fault) for fault in faults(wrong, known))
    assert any("stores" in fault for fault in faults({**queue, "apiVersion": "kueue.x-k8s.io/v1beta1"}, known))
