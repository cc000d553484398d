"""What changes a cloud: empties a pool, wakes it, destroys a stack. The only code of Sizewell that does.

Nothing here decides. Sizes are moved by the call that the pool's own guard makes, and by none other; minimum and
maximum are Pulumi's, and move only where the guard moves them too. Destroyed is by the engine, from the state.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell.clouds.aws import Aws, translated
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Reason
from sizewell.clouds.connections import FAILURES
from sizewell.clouds.gcp import Google
from sizewell.clouds.rest import Reader, document_of, message_of
from sizewell.sizing.errors import ServiceError
from sizewell.teardown.backend import Backend
from sizewell.teardown.notices import Topic
from sizewell.teardown.telemetry import azure as azure_telemetry
from sizewell.teardown.telemetry import cloudwatch, google
from sizewell.teardown.units import Unit

LOG: Final = logging.getLogger(__name__)
BUSY_TRIES: Final = 20
BUSY_WAIT_S: Final = 15.0


def empty(cloud: Aws | Google | Azure, unit: Unit) -> str:
    """Take a pool's current size to its minimum; what was called, in words. CloudError where it was refused."""
    if isinstance(cloud, Aws):
        return _empty_aws(_Boto(cloud), unit)
    if isinstance(cloud, Google):
        return _empty_gke(_Writer(cloud.reader("container")), unit)
    return _empty_azure(_Writer(cloud.reader()), unit)


def wake(cloud: Aws | Google | Azure, unit: Unit) -> str:
    """Give a pool back the sizes that it was built with: the minimum and maximum of its state, and its first size;
    what a guard, an emptying or an expiry changed is undone. CloudError where it was refused.
    """
    if isinstance(cloud, Aws):
        return _wake_aws(_Boto(cloud), unit)
    if isinstance(cloud, Google):
        return _wake_gke(_Writer(cloud.reader("container")), unit)
    return _wake_azure(_Writer(cloud.reader()), unit)


def publish(aws: Aws, topic: Topic, subject: str, message: str) -> None:
    """Send a message to a stack's topic, in a form for each protocol. CloudError where it was refused."""
    _Boto(aws).call(
        *("sns", topic.region, "publish"),
        TopicArn=topic.arn,
        Subject=subject,
        Message=message,
        MessageStructure="json",
    )


def destroy(
    backend: Backend,
    stack: str,
    *,
    kept: Path,
    environment: Mapping[str, str],
    keep: Callable[[bytes], object] = lambda _: None,
) -> str:
    """Destroy a stack from its state, protected resources left; before anything goes, the raw export is in `kept` and
    given to `keep`.

    ServiceError where its secrets cannot be read, or the engine fails: what it had not destroyed stands in its state.
    """
    # The export comes first and is checked: a destroy that fails half-way leaves a state without what it destroyed, and
    # the export is then all that says what was there. The configuration is read before the engine starts, since secrets
    # that cannot be decrypted would stop it in the middle.
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    backend.export(stack, kept)
    if not kept.exists() or kept.stat().st_size == 0:
        raise ServiceError(f"{stack}: the export of its state is empty; nothing was destroyed")
    kept.chmod(0o600)
    keep(kept.read_bytes())
    backend.configuration(stack)
    return backend.destroy(stack, environment=environment)


def protect(backend: Backend, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Protect resources of a stack, so that its destroy leaves them."""
    return backend.protect(stack, urns, environment=environment)


def forget_pending(backend: Backend, stack: str) -> str:
    """Drop from the state what a killed update had begun to create and no cloud has."""
    return backend.forget_pending(stack)


def import_resources(backend: Backend, stack: str, path: Path) -> str:
    """Import into the state what a file of the engine's names."""
    return backend.import_resources(stack, path)


def destroy_some(backend: Backend, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Destroy some resources of a stack, from its state. ServiceError where its secrets cannot be read."""
    backend.configuration(stack)
    return backend.destroy_some(stack, urns, environment=environment)


# Amazon ---------------------------------------------------------------------------------------------------------------


class _Boto:
    """Clients that may write. They are made here and nowhere else: those of `clouds/` refuse to."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._clients = aws, dict[tuple[str, str], Any]()

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> Mapping[str, Any]:
        key = (service, region)
        if key not in self._clients:
            self._clients[key] = self._aws.session.client(service, region_name=region)
        client = self._clients[key]
        answer: Mapping[str, Any] = translated(service, lambda: getattr(client, operation)(**parameters))
        return answer


def _empty_aws(boto: _Boto, unit: Unit) -> str:
    if unit.sized_by == "ec2-fleet":
        fleet = unit.resources[0].id
        boto.call(
            *("ec2", unit.region, "modify_fleet"),
            FleetId=fleet,
            ExcessCapacityTerminationPolicy="termination",
            TargetCapacitySpecification={"TotalTargetCapacity": 0},
        )
        return f"ec2 ModifyFleet {fleet}: target capacity 0"
    group = cloudwatch.group_of(unit)
    if unit.sized_by == "eks-node-group" and not unit.nodes_min:  # else pods that wait bring machines back
        boto.call(
            *("autoscaling", unit.region, "update_auto_scaling_group"),
            AutoScalingGroupName=group,
            MinSize=0,
            MaxSize=0,
            DesiredCapacity=0,
        )
        return f"autoscaling UpdateAutoScalingGroup {group}: desired and maximum 0"
    boto.call(
        *("autoscaling", unit.region, "set_desired_capacity"),
        AutoScalingGroupName=group,
        DesiredCapacity=unit.nodes_min,
        HonorCooldown=False,
    )
    return f"autoscaling SetDesiredCapacity {group}: {unit.nodes_min}"


def _wake_aws(boto: _Boto, unit: Unit) -> str:
    if unit.sized_by == "ec2-fleet":
        fleet = unit.resources[0].id
        target = {"TotalTargetCapacity": unit.nodes_initial}
        boto.call("ec2", unit.region, "modify_fleet", FleetId=fleet, TargetCapacitySpecification=target)
        return f"ec2 ModifyFleet {fleet}: target capacity {unit.nodes_initial}"
    group = cloudwatch.group_of(unit)
    if unit.sized_by == "eks-node-group":  # EKS keeps sizes of its own, which an expiry has changed
        cluster, _, name = unit.resources[0].id.partition(":")
        scaling = {"minSize": unit.nodes_min, "maxSize": unit.nodes_max, "desiredSize": unit.nodes_initial}
        boto.call(
            *("eks", unit.region, "update_nodegroup_config"),
            clusterName=cluster,
            nodegroupName=name,
            scalingConfig=scaling,
        )
    boto.call(
        *("autoscaling", unit.region, "resume_processes"),
        AutoScalingGroupName=group,
        ScalingProcesses=["Launch"],
    )
    boto.call(
        *("autoscaling", unit.region, "update_auto_scaling_group"),
        AutoScalingGroupName=group,
        MinSize=unit.nodes_min,
        MaxSize=unit.nodes_max,
        DesiredCapacity=unit.nodes_initial,
    )
    return f"autoscaling {group}: launches resumed, desired {unit.nodes_initial}, {unit.nodes_min} to {unit.nodes_max}"


# Google and Azure -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Writer:
    """Calls that change something, tried again while the service is busy with another operation."""

    reader: Reader
    sleep: Callable[[float], None] = time.sleep

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **parameters: str) -> dict[str, Any]:
        """The answer to one call; {} where it has no body. CloudError where it was refused."""
        reader = self.reader
        url = reader.url(path, parameters)
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(1, BUSY_TRIES + 1):
            reader.deadline.check(reader.service)
            try:
                answer = reader.http.request(
                    method,
                    url,
                    content=data,
                    headers={"Accept": "application/json", "Content-Type": "application/json", **reader.headers()},
                    timeout=reader.timeouts.read_s,
                )
            except FAILURES as error:  # each call sets a state, so a second one does no harm
                if attempt == BUSY_TRIES:
                    raise CloudError(reader.service, "unanswered", f"no response to {method} {path}") from error
                self._wait(attempt, f"no response to {method} {path}")
                continue
            document, code = document_of(answer.content)
            if 200 <= answer.status_code < 300:
                return document if isinstance(document, dict) else {}
            if attempt < BUSY_TRIES and _is_busy(answer.status_code, code, answer.content):
                self._wait(attempt, f"{method} {path}: status {answer.status_code}")
                continue
            reasons: dict[int, Reason] = {401: "login", 403: "denied", 404: "missing"}
            reason = reasons.get(answer.status_code, "refused" if answer.status_code < 500 else "unanswered")
            detail = f"{method} {path}: status {answer.status_code}: {message_of(document)}"
            raise CloudError(reader.service, reason, detail, code=code)
        raise AssertionError("the last attempt returns or raises")

    def _wait(self, attempt: int, why: str) -> None:
        LOG.info("%s: attempt %d of %d: %s", self.reader.service, attempt, BUSY_TRIES, why)
        self.sleep(BUSY_WAIT_S)


def _is_busy(status: int, code: str, body: bytes) -> bool:
    """Another operation of the cluster is under way (Google: 400 FAILED_PRECONDITION; Azure and Google: 409), or the
    service is.
    """
    held = status == 400 and ("FAILED_PRECONDITION" in code or b"FAILED_PRECONDITION" in body)
    return held or status in (409, 429, 500, 502, 503)


def _empty_gke(writer: _Writer, unit: Unit) -> str:
    """As the pool's workflow: off the autoscaler, which would bring machines back, then to the smallest size."""
    done = []
    zones = {resource.id: len(resource.inputs.get("nodeLocations") or ()) or 1 for resource in unit.resources}
    for resource in unit.resources:
        path = f"v1/{google.pool_path(unit, resource.id)}"
        scaling = resource.inputs.get("autoscaling") or {}
        size = -(-int(scaling.get("totalMinNodeCount") or 0) // zones[resource.id])
        if scaling:
            writer.call("POST", f"{path}:setAutoscaling", {"autoscaling": {"enabled": False}})
        writer.call("POST", f"{path}:setSize", {"nodeCount": size})
        done.append(path.rpartition("/")[2])
    return f"container setSize of {', '.join(done)}"


def _wake_gke(writer: _Writer, unit: Unit) -> str:
    done = []
    for resource in unit.resources:
        path = f"v1/{google.pool_path(unit, resource.id)}"
        inputs = resource.inputs
        size = int(inputs.get("nodeCount") or inputs.get("initialNodeCount") or 0)
        writer.call("POST", f"{path}:setSize", {"nodeCount": size})
        if scaling := inputs.get("autoscaling"):
            keys = ("totalMinNodeCount", "totalMaxNodeCount", "minNodeCount", "maxNodeCount", "locationPolicy")
            stated = {key: scaling[key] for key in keys if key in scaling}
            writer.call("POST", f"{path}:setAutoscaling", {"autoscaling": {"enabled": True, **stated}})
        done.append(f"{path.rpartition('/')[2]}: {size}")
    return f"container setSize and setAutoscaling of {', '.join(done)}"


def _empty_azure(writer: _Writer, unit: Unit) -> str:
    resource = unit.resources[0].id
    if unit.sized_by == "aks-pool":
        return _switch(writer, resource, "Stopped")
    body = {"sku": {**(unit.resources[0].inputs.get("sku") or {}), "capacity": unit.nodes_min}}
    writer.call("PATCH", resource, body, **{"api-version": azure_telemetry.COMPUTE})
    return f"compute PATCH {resource}: capacity {unit.nodes_min}"


def _wake_azure(writer: _Writer, unit: Unit) -> str:
    resource = unit.resources[0].id
    if unit.sized_by == "aks-pool":
        cluster = resource.partition("/agentPools/")[0]
        version = {"api-version": azure_telemetry.AKS}
        held = writer.reader.get(cluster, **version)
        if (held.get("properties") or {}).get("powerState", {}).get("code") == "Stopped":  # by the stack's expiry
            writer.call("POST", f"{cluster}/start", None, **version)
        return _switch(writer, resource, "Running")
    for setting in _autoscale(writer, resource):
        if not setting["properties"].get("enabled"):
            enabled = {"properties": {"enabled": True}}
            writer.call("PATCH", str(setting["id"]), enabled, **{"api-version": "2022-10-01"})
    body = {"sku": {**(unit.resources[0].inputs.get("sku") or {}), "capacity": unit.nodes_initial}}
    writer.call("PATCH", resource, body, **{"api-version": azure_telemetry.COMPUTE})
    return f"compute PATCH {resource}: capacity {unit.nodes_initial}, autoscaling on"


def _autoscale(writer: _Writer, scale_set: str) -> Sequence[Mapping[str, Any]]:
    """The autoscale settings of a scale set."""
    group = scale_set.partition("/providers/")[0]
    path = f"{group}/providers/Microsoft.Insights/autoscaleSettings"
    settings = writer.reader.pages(path, items="value", **{"api-version": "2022-10-01"})
    return [
        setting
        for setting in settings
        if str(setting["properties"].get("targetResourceUri", "")).lower() == scale_set.lower()
    ]


def _switch(writer: _Writer, pool: str, code: str) -> str:
    """AKS has no call for a pool's power state; it takes the whole pool back with another one."""
    version = {"api-version": azure_telemetry.AKS}
    held = writer.reader.get(pool, **version)
    if ((held.get("properties") or {}).get("powerState") or {}).get("code") == code:
        return f"containerservice {pool}: is {code} already"
    body = {**held, "properties": {**held["properties"], "powerState": {"code": code}}}
    writer.call("PUT", pool, body, **version)
    return f"containerservice PUT {pool}: {code}"
