"""From a workload to all that a cluster is given of it: manifests as plain dicts, and as YAML. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sizewell import logs
from sizewell.launch import batch, burn_in, files, kinds, notebook, ray, serving, training
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.sizing.errors import ConfigError, Fault


def manifests(launch: Launch) -> list[Manifest]:
    """Everything that runs one workload, in the order in which each object finds what it refers to.

    ConfigError where what was decided and what shall run do not go together, with all faults.
    """
    kind = launch.plan.kind
    logs.log(__name__, "%s: manifests of %s for %d machines", launch.name, kind, launch.nodes)
    if kind in ("training", "fine-tuning"):
        return checked(ray.manifests(launch) if launch.plan.scheduler == "ray" else training.manifests(launch))
    if kind == "inference":
        return checked(serving.manifests(launch))
    if kind == "batch-inference":
        return checked(batch.manifests(launch))
    return checked(notebook.manifests(launch, {notebook.SCRIPT: files.script(notebook.SCRIPT)}))


def trials(launch: Launch) -> list[Manifest]:
    """The burn-in of a workload: a load for what is served; for everything else an all-reduce, and reads of volumes."""
    if launch.plan.kind == "inference":
        return checked(burn_in.load_test(launch))
    return checked([*burn_in.all_reduce(launch), *burn_in.reads(launch)])


def checked(objects: Sequence[Manifest]) -> list[Manifest]:
    """The manifests, if the definitions of their kinds allow them; ConfigError has what they do not."""
    wrong = [
        Fault(path=f"{manifest['kind']} {manifest['metadata']['name']}", message=fault)
        for manifest in objects
        for fault in kinds.faults(manifest)
    ]
    if wrong:
        raise ConfigError(wrong, subject="manifests")
    for each in objects:
        logs.detail(__name__, "%s %s", each.get("kind"), each.get("metadata", {}).get("name"))
    return list(objects)


def as_yaml(objects: Sequence[Manifest]) -> str:
    """One document an object, ready for `kubectl apply -f -`."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """No anchors: an object that stands twice is written twice. Long texts as blocks."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return "---\n".join(
        yaml.dump(manifest, Dumper=Dumper, sort_keys=False, width=120, allow_unicode=True) for manifest in objects
    )
