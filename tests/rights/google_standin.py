"""A Google Cloud project for workflows: it has state, and asks google_calls.yaml what each call needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from workflow_run import Failed

from sizewell.components.gcp.limits.expiry import endpoint_mark

ROWS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "google_calls.yaml").read_text(encoding="utf-8"))
PLACE = "projects/petsnap/locations/us-central1"
OWNER = "sizewell"  # the Pulumi project
LONGER = "-next"


def needed(method: str, url: str) -> list[str]:
    """The permissions that a call needs; AssertionError for one that nothing here judges."""
    rows = [row for row in ROWS if row["method"] == method and re.fullmatch(row["url"], url)]
    assert len(rows) == 1, f"not judged: {method} {url}"
    return list(rows[0]["permissions"])


class Project:
    """Clusters, services, jobs and endpoints of several stacks; `held` are the caller's permissions."""

    def __init__(self, held: Sequence[str], *, failing: Sequence[str] = ()) -> None:
        self.held, self.failing = set(held), list(failing)
        self.calls: list[str] = []
        self.clusters: dict[str, dict[str, Any]] = {}
        self.services: dict[str, dict[str, str]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.endpoints: dict[str, list[str]] = {}

    def add(self, stack: str, label: str | None = None, *, owner: str = OWNER) -> None:
        """One of everything that is billed, as a stack's; with `label` "" as nobody's."""
        label = stack if label is None else label
        labels = {"sizewell-project": owner, "sizewell-stack": label} if label else {}
        self.clusters[f"{stack}-cluster"] = {
            "labels": labels,
            "pools": {
                "system": {"size": 1, "scaled": False},
                "gpu": {"size": 2, "scaled": True},
                "flex": {"size": 1, "scaled": True, "fixed": True},  # its autoscaling cannot be switched off
            },
        }
        self.services[f"{PLACE}/services/{stack}-chat"] = labels
        self.jobs[f"{PLACE}/customJobs/{stack}-1"] = {"labels": labels, "state": "JOB_STATE_RUNNING"}
        self.endpoints[f"sizewell-{stack}-chat-{endpoint_mark(owner, label)}"] = ["model-1"]

    def bills(self, stack: str) -> list[str]:
        """What of a stack is still billed; a stack whose name begins with this one's is another."""
        return [name for name in self._bills(stack) if stack.endswith(LONGER) or f"{stack}{LONGER}" not in name]

    def _bills(self, stack: str) -> list[str]:
        found = [f"{stack} {name}" for name, pool in self.clusters[f"{stack}-cluster"]["pools"].items() if pool["size"]]
        found += [name for name in self.services if stack in name]
        found += [name for name, job in self.jobs.items() if stack in name and job["state"] == "JOB_STATE_RUNNING"]
        return found + [name for name, models in self.endpoints.items() if stack in name and models]

    def answer(self, method: str, url: str, query: Any, body: Any) -> Any:
        missing = [permission for permission in needed(method, url) if permission not in self.held]
        if missing:
            raise Failed(403, {"error": {"status": "PERMISSION_DENIED", "message": ", ".join(missing)}})
        verb = url.rpartition(":")[2] if url.rpartition(":")[2].isalpha() else ""
        if verb in self.failing or (not verb and url.rpartition("/")[2] in self.failing):
            raise Failed(503, {"error": {"status": "UNAVAILABLE"}})
        self.calls.append(f"{method} {url}")
        if "/nodePools/" in url:
            return self._pool(url, verb, body)
        if url.endswith("/clusters"):
            return {
                "clusters": [
                    {
                        "name": name,
                        "resourceLabels": cluster["labels"],
                        "nodePools": [
                            {"name": pool, "autoscaling": {"enabled": state["scaled"]}}
                            for pool, state in cluster["pools"].items()
                        ],
                    }
                    for name, cluster in self.clusters.items()
                ]
            }
        if url.endswith("/services"):
            return {"services": [{"name": name, "labels": labels} for name, labels in self.services.items()]}
        if "/services/" in url:
            del self.services["projects/" + url.partition("projects/")[2]]
            return {}
        if url.endswith("/customJobs"):
            wanted = dict(re.findall(r'labels\.([a-z-]+)="([^"]+)"', query["filter"]))
            assert wanted
            return {
                "customJobs": [
                    {"name": name}
                    for name, job in self.jobs.items()
                    if wanted.items() <= job["labels"].items() and job["state"] == "JOB_STATE_RUNNING"
                ]
            }
        if verb == "cancel":
            self.jobs["projects/" + url.partition("projects/")[2].removesuffix(":cancel")]["state"] = "CANCELLED"
            return {}
        if url.endswith("/endpoints"):
            return {
                "endpoints": [
                    {
                        "name": f"{PLACE}/endpoints/{name}",
                        "displayName": name,
                        "deployedModels": [{"id": m} for m in models],
                    }
                    for name, models in self.endpoints.items()
                ]
            }
        assert verb == "undeployModel", url
        self.endpoints[url.rpartition("/")[2].removesuffix(":undeployModel")].remove(body["deployedModelId"])
        return {}

    def _pool(self, url: str, verb: str, body: Any) -> Any:
        cluster, _, rest = url.partition("/clusters/")[2].partition("/nodePools/")
        pool = self.clusters[cluster]["pools"][rest.rpartition(":")[0]]
        if verb == "setSize":
            pool["size"] = body["nodeCount"]
        elif pool.get("fixed"):
            raise Failed(400, {"error": {"status": "INVALID_ARGUMENT", "message": "autoscaling cannot be disabled"}})
        else:
            pool["scaled"] = body["autoscaling"]["enabled"]
        return {}
