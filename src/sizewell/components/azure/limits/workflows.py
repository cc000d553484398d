"""Definitions of Logic Apps that look after machines: clocks, calls to Azure, and what they decide. Pure.

A Logic App needs no machine, no package and no token of ours: it calls Azure as a managed identity, and what it may
is that identity's roles. The language is Azure's own
(learn.microsoft.com/azure/logic-apps/logic-apps-workflow-definition-language).
"""

import urllib.parse
from collections.abc import Mapping, Sequence

from sizewell.components.azure.scale_sets import WINDOWS_ZONES, day_names
from sizewell.components.owned import ScheduleArgs
from sizewell.sizing.workload.schedule import end_days

SCHEMA = "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01/workflowdefinition.json#"
ARM, PROMETHEUS = "https://management.azure.com", "https://prometheus.monitor.azure.com"
APIS = {
    # as the provider writes pools: a version without `securityProfile.sshAccess` would give one back with SSH on
    "aks": "2025-09-01",
    "scale-sets": "2024-11-01",
    "autoscale": "2022-10-01",
    "ml": "2025-06-01",
}
EVERY_QUARTER = {"frequency": "Minute", "interval": 15}


def definition(recurrence: Mapping[str, object], actions: Mapping[str, object]) -> dict[str, object]:
    """A workflow that a clock starts."""
    return {
        "$schema": SCHEMA,
        "contentVersion": "1.0.0.0",
        "parameters": {},
        "triggers": {"clock": {"type": "Recurrence", "recurrence": dict(recurrence)}},
        "actions": dict(actions),
        "outputs": {},
    }


def call(
    method: str,
    uri: object,
    *,
    identity: object,
    audience: str = ARM,
    body: object = None,
    after: Sequence[str] = (),
) -> dict[str, object]:
    """One call to Azure as the identity; `after` are the actions that must have succeeded."""
    inputs: dict[str, object] = {
        "method": method,
        "uri": uri,
        "authentication": {"type": "ManagedServiceIdentity", "identity": identity, "audience": audience},
    }
    if body is not None:
        inputs["body"] = body
    return {"type": "Http", "inputs": inputs, "runAfter": {name: ["Succeeded"] for name in after}}


def when(
    condition: Mapping[str, object], actions: Mapping[str, object], *, after: Sequence[str] = ()
) -> dict[str, object]:
    return {
        "type": "If",
        "expression": {"and": [dict(condition)]},
        "actions": dict(actions),
        "runAfter": {name: ["Succeeded"] for name in after},
    }


def each(items: str, actions: Mapping[str, object], *, after: Sequence[str] = ()) -> dict[str, object]:
    return {
        "type": "Foreach",
        "foreach": items,
        "actions": dict(actions),
        "runAfter": {name: ["Succeeded"] for name in after},
    }


def pool_switch(*, pool: object, identity: object, code: str, after: Sequence[str] = ()) -> dict[str, object]:
    """Actions that stop or start an AKS pool (`code`: Stopped or Running), if it is not there already.

    AKS has no call for that; it takes the whole pool back with another power state.
    """
    uri = f"{ARM}{pool}?api-version={APIS['aks']}"
    state = f"setProperty(body('pool')['properties'], 'powerState', json('{{\"code\":\"{code}\"}}'))"
    switch = call("PUT", uri, identity=identity, body=f"@setProperty(body('pool'), 'properties', {state})")
    already = {"not": {"equals": ["@body('pool')?['properties']?['powerState']?['code']", code]}}
    return {
        "pool": call("GET", uri, identity=identity, after=after),
        "switch": when(already, {"set": switch}, after=["pool"]),
    }


def idle_stop(*, pool: object, identity: object, query_url: object, query: str) -> dict[str, object]:
    """Asks every quarter of an hour whether the pool was idle long enough, and stops it then.

    An empty answer is no idleness: no machines, no metrics, or somebody works.
    """
    look = call(
        "GET",
        f"{query_url}/api/v1/query?query={urllib.parse.quote(query, safe='')}",
        identity=identity,
        audience=PROMETHEUS,
    )
    idle = {"greater": ["@length(body('look')?['data']?['result'])", 0]}
    stop = pool_switch(pool=pool, identity=identity, code="Stopped")
    return definition(EVERY_QUARTER, {"look": look, "idle": when(idle, stop, after=["look"])})


def recurrences(schedule: ScheduleArgs) -> dict[str, dict[str, object]]:
    """Clocks of working hours by name: start-0, stop-0 for the first window, and so on."""
    edges: dict[str, dict[str, object]] = {}
    for number, window in enumerate(schedule["windows"]):
        for edge, clock in (("start", window["start"]), ("stop", window["end"])):
            hour, minute = (23, 59) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            days = window["days"] if edge == "start" else end_days(window["days"], window["start"], window["end"])
            edges[f"{edge}-{number}"] = {
                "frequency": "Week",
                "interval": 1,
                "timeZone": WINDOWS_ZONES[schedule["time_zone"]],
                "schedule": {"weekDays": day_names(days), "hours": [hour], "minutes": [minute]},
            }
    return edges


def end_actions(*, group: object, identity: object, project: str, stack: str) -> dict[str, object]:
    """Takes the machines of a stack to zero: everything in its resource group that has its tags.

    AKS clusters stop whole; scale sets lose their autoscaling and their machines; Azure ML's compute and endpoints,
    which have no size zero that holds, go. Data, networks and keys stay: nothing here can name them.
    """

    def listed(provider: str, api: str) -> dict[str, object]:
        return _listed(group, provider, api, identity)

    def act(method: str, loop: str, rest: str, api: str, *, body: object = None, more: str = "") -> dict[str, object]:
        uri = f"{ARM}@{{items('{loop}')['id']}}{rest}?api-version={APIS[api]}{more}"
        return call(method, uri, identity=identity, body=body)

    def for_each(loop: str, source: str, actions: Mapping[str, object]) -> dict[str, object]:
        return _of_stack(loop, source, actions, project=project, stack=stack)

    off = {"properties": {"enabled": False}}
    gone = "&underlyingResourceAction=Delete"
    return {
        "clusters": listed("Microsoft.ContainerService/managedClusters", "aks"),
        "cluster": for_each("cluster", "clusters", {"cluster-stopped": act("POST", "cluster", "/stop", "aks")}),
        "autoscales": listed("Microsoft.Insights/autoscaleSettings", "autoscale"),
        "autoscale": for_each(
            "autoscale", "autoscales", {"autoscale-off": act("PATCH", "autoscale", "", "autoscale", body=off)}
        ),
        "sets": {
            **listed("Microsoft.Compute/virtualMachineScaleSets", "scale-sets"),
            "runAfter": {
                "autoscale": ["Succeeded", "Failed", "Skipped", "TimedOut"]
            },  # machines go, whatever was before
        },
        "set": for_each(
            "set", "sets", {"set-empty": act("PATCH", "set", "", "scale-sets", body={"sku": {"capacity": 0}})}
        ),
        "workspaces": listed("Microsoft.MachineLearningServices/workspaces", "ml"),
        "workspace": for_each(
            "workspace",
            "workspaces",
            {
                "computes": act("GET", "workspace", "/computes", "ml"),
                "compute": for_each(
                    "compute", "computes", {"compute-gone": act("DELETE", "compute", "", "ml", more=gone)}
                ),
                "endpoints": act("GET", "workspace", "/onlineEndpoints", "ml"),
                "endpoint": for_each("endpoint", "endpoints", {"endpoint-gone": act("DELETE", "endpoint", "", "ml")}),
            },
        ),
        # A run is as its last actions: what went on after a failure would count as a success, and nobody would hear.
        "autoscale-still-on": {
            "type": "Terminate",
            "inputs": {
                "runStatus": "Failed",
                "runError": {"code": "autoscale", "message": "autoscaling is still on: it may bring machines back"},
            },
            "runAfter": {
                "autoscale": ["Failed", "Skipped", "TimedOut"],
                **{kind: ["Succeeded", "Failed", "Skipped", "TimedOut"] for kind in ("cluster", "set", "workspace")},
            },
        },
    }


def told_actions(*, group: object, identity: object, project: str, stack: str) -> dict[str, object]:
    """Fails while machines of a stack run, so that its receivers hear of it, and stops nothing."""

    def runs(loop: str, condition: Mapping[str, object] | None = None) -> dict[str, object]:
        value = f"@items('{loop}')['id']"
        found = {"type": "AppendToArrayVariable", "inputs": {"name": "running", "value": value}, "runAfter": {}}
        noted: dict[str, object] = {f"{loop}-runs": found}
        return noted if condition is None else {f"{loop}-whether": when(condition, noted)}

    def for_each(loop: str, source: str, actions: Mapping[str, object]) -> dict[str, object]:
        return _of_stack(loop, source, actions, project=project, stack=stack)

    def below(loop: str, kind: str) -> dict[str, object]:
        uri = f"{ARM}@{{items('workspace')['id']}}/{kind}?api-version={APIS['ml']}"
        return {kind: call("GET", uri, identity=identity), loop: for_each(loop, kind, runs(loop))}

    started: dict[str, object] = {
        "type": "InitializeVariable",
        "inputs": {"variables": [{"name": "running", "type": "array", "value": []}]},
        "runAfter": {},
    }
    on = {"equals": ["@items('cluster')?['properties']?['powerState']?['code']", "Running"]}
    some = {"greater": ["@items('set')?['sku']?['capacity']", 0]}
    message = f"{stack} is past its end and still runs, nothing was stopped: @{{variables('running')}}"
    failed = {"runStatus": "Failed", "runError": {"code": "past-its-end", "message": message}}
    tell = {"past-its-end": {"type": "Terminate", "inputs": failed, "runAfter": {}}}
    lists = {
        "clusters": ("Microsoft.ContainerService/managedClusters", "aks"),
        "sets": ("Microsoft.Compute/virtualMachineScaleSets", "scale-sets"),
        "workspaces": ("Microsoft.MachineLearningServices/workspaces", "ml"),
    }
    asked: dict[str, object] = {
        name: {**_listed(group, kind, api, identity), "runAfter": {"started": ["Succeeded"]}}
        for name, (kind, api) in lists.items()
    }
    return {
        "started": started,
        **asked,
        "cluster": for_each("cluster", "clusters", runs("cluster", on)),
        "set": for_each("set", "sets", runs("set", some)),
        "workspace": for_each(
            "workspace", "workspaces", {**below("compute", "computes"), **below("endpoint", "onlineEndpoints")}
        ),
        "told": when({"greater": ["@length(variables('running'))", 0]}, tell, after=["cluster", "set", "workspace"]),
    }


def _listed(group: object, provider: str, api: str, identity: object) -> dict[str, object]:
    return call("GET", f"{ARM}{group}/providers/{provider}?api-version={APIS[api]}", identity=identity)


def _of_stack(loop: str, source: str, actions: Mapping[str, object], *, project: str, stack: str) -> dict[str, object]:
    """Actions for each of what was listed that has the tags of the stack and its project."""
    tags = {"sizewell-project": project, "sizewell-stack": stack}
    mine = {"and": [{"equals": [f"@items('{loop}')?['tags']?['{key}']", tags[key]]} for key in tags]}
    return each(f"@body('{source}')?['value']", {f"{loop}-mine": when(mine, actions)}, after=[source])


END_ACTIONS = (  # what the identity of a hard end may do in the stack's resource group, and nothing else
    "Microsoft.ContainerService/managedClusters/read",
    "Microsoft.ContainerService/managedClusters/stop/action",
    "Microsoft.Insights/autoscaleSettings/read",
    "Microsoft.Insights/autoscaleSettings/write",
    "Microsoft.Compute/virtualMachineScaleSets/read",
    "Microsoft.Compute/virtualMachineScaleSets/write",
    "Microsoft.MachineLearningServices/workspaces/read",
    "Microsoft.MachineLearningServices/workspaces/computes/read",
    "Microsoft.MachineLearningServices/workspaces/computes/delete",
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/read",
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/delete",
)
LOOKS = tuple(action for action in END_ACTIONS if action.endswith("/read"))  # of an end that is not firm
