"""A backend of states that a test writes, and the clouds that they speak of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sizewell.recording.sources.state import PendingOperation, StateResource
from sizewell.sizing.errors import ServiceError
from sizewell.teardown.backend import Backend, Listed
from sizewell.teardown.enginelocks import EngineLock

ACCOUNT = "123456789012"
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 600,
    "grace_s": 600,
    "action": "scale-to-zero",
}
MEASURED = {
    "source": "cloudwatch",
    "namespace": "Sizewell",
    "metric": "nvidia_smi_utilization_gpu",
    "per": "accelerator",
    "dimension": "AutoScalingGroupName",
    "machine": "InstanceId",
}


def urn(stack: str, kind: str, name: str) -> str:
    return f"urn:pulumi:{stack}::sizewell::{kind}::{name}"


def component(stack: str, name: str, **record: Any) -> dict[str, Any]:
    """A component as it registers itself."""
    statement = {
        "schema": "sizewell.registration/1",
        "kind": "pool",
        "name": name,
        "cloud": "aws",
        "region": "us-east-1",
        "environment": "dev",
        "owner": "ml-platform",
        "instanceType": "g6.12xlarge",
        "acceleratorsPerNode": 4,
        "market": "on-demand",
        "capacityMode": "on-demand",
        "nodesMin": 0,
        "nodesInitial": 1,
        "nodesMax": 2,
        "guard": GUARD,
        "measured": MEASURED,
        "sizedBy": "autoscaling-group",
        **record,
    }
    statement = {key: value for key, value in statement.items() if value is not None}
    kind = "sizewell-aws:index:GpuNodeGroup"
    return {"urn": urn(stack, kind, name), "custom": False, "type": kind, "inputs": {"sizewell": statement}}


def resource(stack: str, kind: str, name: str, identity: str, *, parent: str = "", **more: Any) -> dict[str, Any]:
    made = {
        "urn": urn(stack, kind, name),
        "custom": True,
        "id": identity,
        "type": kind,
        "inputs": {},
        "outputs": {},
        "created": "2026-01-01T00:00:00Z",
        "modified": "2026-01-01T00:00:00Z",
        **more,
    }
    return {**made, "parent": parent} if parent else made


def group(stack: str, name: str, physical: str) -> dict[str, Any]:
    parent = component(stack, name)["urn"]
    outputs = {"name": physical}
    return resource(stack, "aws:autoscaling/group:Group", f"{name}-nodes", physical, parent=parent, outputs=outputs)


def bucket(stack: str, name: str, physical: str) -> dict[str, Any]:
    return resource(
        stack, "aws:s3/bucket:Bucket", name, physical, outputs={"bucket": physical}, protect=True, retainOnDelete=True
    )


@dataclass(kw_only=True)
class Shelf:
    """The states of a backend; `destroyed` is what was destroyed, and with which settings."""

    states: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    configurations: dict[str, dict[str, Any]] = field(default_factory=dict)
    pending: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    updating: set[str] = field(default_factory=set)
    versions: dict[str, int] = field(default_factory=dict)
    exports: list[str] = field(default_factory=list)
    destroyed: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    writers: list[Mapping[str, str]] = field(default_factory=list)  # settings under which states were written otherwise
    locked: str = ""  # the engine's refusal of a destroy
    locks: list[EngineLock] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)  # when each state was written, as a backend of files has it

    def put(self, stack: str, *resources: dict[str, Any]) -> None:
        root = resource(stack, "pulumi:pulumi:Stack", f"sizewell-{stack}", "")
        self.states[stack] = [{**root, "custom": False}, *resources]
        self.versions[stack] = self.versions.get(stack, 0) + 1


@dataclass(frozen=True, kw_only=True)
class ShelfBackend(Backend):
    """A backend without an engine."""

    shelf: Shelf

    def stacks(self) -> list[Listed]:
        return [
            Listed(
                name=name,
                updated=f"v{self.shelf.versions[name]}",
                resources=len(resources),
                updating=name in self.shelf.updating,
            )
            for name, resources in self.shelf.states.items()
        ]

    def export(self, stack: str, path: Path) -> None:
        self.shelf.exports.append(stack)
        deployment = {
            "manifest": {"time": "2026-01-01T00:00:00Z", "version": "v3.260.0"},
            "resources": self.shelf.states[stack],
            "pending_operations": self.shelf.pending.get(stack, []),
        }
        path.write_text(json.dumps({"version": 3, "deployment": deployment}))

    def tags(self, stack: str) -> dict[str, str]:
        return dict(self.shelf.tags.get(stack, {}))

    def set_tag(self, stack: str, key: str, value: str) -> None:
        self.shelf.tags.setdefault(stack, {})[key] = value

    def remove_tag(self, stack: str, key: str) -> None:
        del self.shelf.tags[stack][key]

    def locks(self) -> tuple[EngineLock, ...]:
        return tuple(self.shelf.locks)

    def states_written(self) -> dict[str, str]:
        return dict(self.shelf.written)

    def cancel(self, stack: str) -> str:
        self.shelf.cancelled.append(stack)
        self.shelf.locks = [lock for lock in self.shelf.locks if lock.stack != stack]
        return "cancelled"

    def configuration(self, stack: str) -> dict[str, Any]:
        return self.shelf.configurations.get(stack, {"sizewell:notify": {"webhooks": ["https://hooks.example/x"]}})

    def protect(self, stack: str, urns: Any, *, environment: Mapping[str, str]) -> str:
        self.shelf.writers.append(environment)
        for each in self.shelf.states[stack]:
            each["protect"] = bool(each.get("protect")) or each["urn"] in urns
        return "protected"

    def destroy(self, stack: str, *, environment: Mapping[str, str], timeout_s: float = 7200.0) -> str:
        if self.shelf.locked:
            raise ServiceError(self.shelf.locked)
        self.shelf.destroyed.append((stack, environment))
        kept = [each for each in self.shelf.states[stack] if each.get("protect") or not each["custom"]]
        self.shelf.put(stack, *[each for each in kept if each["type"] != "pulumi:pulumi:Stack"])
        return "destroyed"


def samples(
    machine: str, physical: str, now: datetime, values: Mapping[int, Any], minutes: int = 60
) -> list[dict[str, Any]]:
    """Samples of each accelerator of a machine, a minute apart: a value, or a function of minutes before now."""
    made = []
    for number, value in values.items():
        for minute in range(1, minutes + 1):
            level = value(minute) if callable(value) else value
            if level is None:
                continue
            made.append(
                {
                    "MetricName": MEASURED["metric"],
                    "Dimensions": [
                        {"Name": "AutoScalingGroupName", "Value": physical},
                        {"Name": "InstanceId", "Value": machine},
                        {"Name": "index", "Value": str(number)},
                    ],
                    "Timestamp": now - timedelta(minutes=minute),
                    "Value": float(level),
                }
            )
    return made


def whole_minute() -> datetime:
    return datetime.now(UTC).replace(second=30, microsecond=0)


def pending(urn_: str, kind: str, name: str) -> PendingOperation:
    """A creation whose end nobody saw."""
    return PendingOperation(type="creating", resource=StateResource(urn=urn_, type=kind, name=name, inputs={"a": 1}))
