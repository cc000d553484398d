"""The expiry and the idle stop on Azure, played through against the operations that Azure Resource Manager asks for.

Resource Manager authorises a call by its provider, its resource types and its verb: GET asks for read, PUT and PATCH for
write, DELETE for delete, POST for action (learn.microsoft.com/azure/role-based-access-control/role-definitions,
learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers). Nothing here is read off
our own roles. What a write asks for beside that (to join a subnet) is not judged, and counted.
"""

import re

import pytest
from logic_run import Azure

from sizewell.components.azure.aks.pools import POOL_ACTIONS
from sizewell.components.azure.limits import workflows

GROUP = "/subscriptions/0000/resourceGroups/rg"
VERBS = {"GET": "read", "PUT": "write", "PATCH": "write", "DELETE": "delete"}
STACK = "dev-azure"


def operation(method, uri):
    """The operation that Azure authorises a call by.

    >>> operation("POST", f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/a/stop")
    'Microsoft.ContainerService/managedClusters/stop/action'
    """
    provider, *path = uri.partition("?")[0].partition("/providers/")[2].split("/")
    kinds = path[::2]
    return "/".join([provider, *kinds, "action" if method == "POST" else VERBS[method]])


class Subscription(Azure):
    """Azure with rights: a call without its operation fails, and so do those that are told to."""

    def __init__(self, answers, held, failing=()):
        super().__init__(answers)
        self.held, self.failing, self.asked = set(held), failing, set()

    def http(self, name, inputs):
        uri = re.sub(r"@\{(.+?)\}", lambda found: str(self.value(f"@{found[1]}")), inputs["uri"])
        if uri.startswith("https://management.azure.com"):
            wanted = operation(inputs["method"], uri)
            self.asked.add(wanted)
            if wanted not in self.held or wanted in self.failing:
                return "Failed"
        return super().http(name, inputs)


def path(kind, name=""):
    return f"{GROUP}/providers/{kind}" + (f"/{name}" if name else "")


KINDS = {
    "cluster": "Microsoft.ContainerService/managedClusters",
    "autoscale": "Microsoft.Insights/autoscaleSettings",
    "set": "Microsoft.Compute/virtualMachineScaleSets",
    "workspace": "Microsoft.MachineLearningServices/workspaces",
}


def things():
    """One of each kind with the stack's tag, one of another stack's, of another project's stack of that name, and of nobody's."""
    project = {"sizewell-project": "petsnap"}
    tags = {
        "ours": {**project, "sizewell-stack": STACK},
        "other": {**project, "sizewell-stack": "prod-azure"},
        "namesake": {"sizewell-project": "theirs", "sizewell-stack": STACK},
        "nobody": {},
    }

    def listed(kind, *, under=None):
        place = path(kind) if under is None else under
        return {"value": [{"id": f"{place}/{name}", "tags": held} for name, held in tags.items()]}

    answers = {path(kind): listed(kind) for kind in KINDS.values()}
    for workspace in tags:
        for inner in ("computes", "onlineEndpoints"):
            below = f"{path(KINDS['workspace'], workspace)}/{inner}"
            answers[below] = listed("", under=below)
    return answers


def play(held=workflows.END_ACTIONS, failing=()):
    azure = Subscription(things(), held, failing)
    states = azure.run(workflows.end_actions(group=GROUP, identity="hand", project="petsnap", stack=STACK))
    changes = [(method, uri.partition("?")[0]) for method, uri, _ in azure.calls if method != "GET"]
    return azure, states, changes


ENDED = {
    ("POST", path(KINDS["cluster"], "ours/stop")),
    ("PATCH", path(KINDS["autoscale"], "ours")),
    ("PATCH", path(KINDS["set"], "ours")),
    ("DELETE", path(KINDS["workspace"], "ours/computes/ours")),
    ("DELETE", path(KINDS["workspace"], "ours/onlineEndpoints/ours")),
}


def test_an_expiry_ends_what_has_the_tag_and_nothing_else(capsys):
    azure, states, changes = play()
    with capsys.disabled():
        print(f"\nAzure expiry called: {', '.join(sorted(azure.asked))}")
    assert set(changes) == ENDED
    assert set(states.values()) == {"Succeeded"}


def test_without_any_one_operation_the_expiry_fails_loudly(capsys):
    removed, failed = [], []
    for gone in workflows.END_ACTIONS:
        _, states, _ = play([one for one in workflows.END_ACTIONS if one != gone])
        removed.append(gone)
        failed += [gone] if "Failed" in states.values() else []
    with capsys.disabled():
        print(f"\nAzure expiry: operations removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed
    assert play()[0].asked == set(workflows.END_ACTIONS)


@pytest.mark.parametrize("gone", workflows.END_ACTIONS)
def test_what_fails_stops_nothing_else(gone):
    """Machines go, whatever happens to what follows load; a failure of one kind leaves the others to their end."""
    _, states, changes = play(failing=(gone,))
    assert "Failed" in states.values()
    kind = gone.partition("/")[0]
    spared = {change for change in ENDED if f"/providers/{kind}/" not in change[1]}
    assert spared <= set(changes)


def test_an_idle_stop_has_what_it_calls_and_no_more(capsys):
    pool = path("Microsoft.ContainerService/managedClusters", "a/agentPools/p")
    stands = {"name": "p", "properties": {"vmSize": "Standard_ND96isr_H100_v5", "powerState": {"code": "Running"}}}
    answers = {"https://q/api/v1/query": {"data": {"result": [{"value": [0, "3"]}]}}, pool: stands}
    actions = workflows.idle_stop(pool=pool, identity="hand", query_url="https://q", query="a < 5")["actions"]
    removed, failed = [], []
    for gone in (None, *POOL_ACTIONS):
        azure = Subscription(answers, set(POOL_ACTIONS) - {gone})
        states = azure.run(actions)
        if gone is None:
            assert "Failed" not in states.values()
            assert azure.asked == set(POOL_ACTIONS)
            continue
        removed.append(gone)
        failed += [gone] if "Failed" in states.values() else []
    with capsys.disabled():
        print(f"\nAzure idle stop: operations removed {len(removed)}, runs that failed {len(failed)}; not judged 2")
        print("  not judged: joining the pool's subnet (asked for by the write), reading the metrics (a data action)")
    assert failed == removed
