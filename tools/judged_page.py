"""docs/reference/judged.md: what runs on clusters and which program judged it, from the records of `make soak`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "tests/launch/control_plane"
HEAD = """# Judged by controllers and daemons

What `SIZEWELL_REFRESH=1 make soak` last recorded: every form of what runs, on every kind of cluster, with every way to
get machines, taken by the programs that a cluster really has. This page is generated from those records. A row is
recorded only where nothing was refused, all that waited was admitted, and every pod was bound to a machine of its pool;
a judge that did not run has no row.

The judges are Kubernetes' API server, controllers and scheduler, Kueue, JobSet, LeaderWorkerSet, KubeRay and KServe
with their own webhooks, built from their modules. The machines are objects that offer what the catalog says, less what
each cloud publishes that its system keeps; nothing runs on them. Definitions that no Go module has are read from
`~/.cache/sizewell-judges/definitions`; where one is absent, the run prints what to put there.
"""


def page() -> str:
    """The whole page."""
    text = HEAD
    if plane := _read("judged.json"):
        text += _plane(plane)
    if metrics := _read("metrics.json"):
        text += _metrics(metrics)
    if slurm := _read("slurm.json"):
        text += _slurm(slurm)
    if contract := _read("contract.json"):
        text += _contract(contract)
    return text


def _plane(record: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [f"\n## Forms and clusters\n\nWith {versions}.\n"]
    lines.append("| form | cluster | machines by | objects | refused | controller | admitted by Kueue | pods placed |")
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = [row for row in record["rows"] if "cluster" in row]
    for form, cluster in dict.fromkeys((row["form"], row["cluster"]) for row in rows):
        mine = [row for row in rows if (row["form"], row["cluster"]) == (form, cluster)]
        pods = sum(row["pods"] for row in mine)
        placed = [f"{len(mine)} of {len(mine)}", str(pods)]
        cells = [form, cluster, ", ".join(row["mode"] for row in mine), str(sum(row["objects"] for row in mine)), "0"]
        lines.append(f"| {' | '.join([*cells, mine[0]['kind'], *placed])} |")
    for row in record["rows"]:
        if "refused" in row:
            refused = row["refused"].replace("\n", "; ")
            lines.append(
                "\nKServe's manager made Deployments of these InferenceServices, and nothing for Knative, though "
                "Knative is the default of the configuration that it ships. Without the annotation that asks for that, "
                f"it makes a Service which Knative's validation refuses: {refused}."
            )
        elif "cluster" not in row:
            left = ", ".join(f"{count} of {group}" for group, count in row["left out"].items())
            left = f"Not judged, for want of their definitions: {left}. " if left else ""
            what = f"{row['form'][0].upper()}{row['form'][1:]}"
            lines.append(
                f"\n{what}: {row['objects']} objects, 0 refused. {left}Left out: Helm releases, whose charts lie in "
                "registries of images."
            )
    return "\n".join(lines) + "\n"


def _metrics(record: dict[str, Any]) -> str:
    lines = ["\n## Metrics of autoscaled services\n"]
    lines.append(f"Debian's Prometheus {record['prometheus']} and the Prometheus scaler of KEDA {record['keda']}.\n")
    lines.append("| case | requests that the exporters had | what the scaler read | without exporters |")
    lines.append("| --- | --- | --- | --- |")
    lines += [f"| {row['case']} | {row['load']:g} | {row['read']:.1f} | {row['silence']} |" for row in record["rows"]]
    return "\n".join(lines) + "\n"


def _slurm(record: dict[str, Any]) -> str:
    lines = ["\n## Slurm\n"]
    lines.append(
        f"Debian's Slurm {record['slurm']}: a controller and its machines, each in namespaces of its own, boot with "
        "the generated first boot and run the generated script; devices are stand-ins.\n"
    )
    lines += ["| case | seen |", "| --- | --- |"]
    lines += [f"| {row['case']} | {row['seen']} |" for row in record["rows"]]
    return "\n".join(lines) + "\n"


def _contract(record: dict[str, Any]) -> str:
    lines = ["\n## The checkpoint contract\n", "On S3 with conditional writes (moto), by boto3.\n"]
    lines += ["| fault | times | complete checkpoints lost | beside it |", "| --- | --- | --- | --- |"]
    for fault, counts in record.items():
        known = (fault, "complete checkpoints lost")
        others = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()) if what not in known)
        lines.append(f"| {fault} | {counts[fault]:,} | {counts['complete checkpoints lost']} | {others} |")
    return "\n".join(lines) + "\n"


def _read(name: str) -> dict[str, Any]:
    path = RECORDS / name
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found
