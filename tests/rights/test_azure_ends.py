"""The expiry and the idle stop on Azure, played through against the operations that Azure Resource Manager asks for.

Resource Manager authorises a call by its provider, its resource types and its verb: GET asks for read, PUT and PATCH for
write, DELETE for delete, POST for action (learn.microsoft.com/azure/role-based-access-control/role-definitions,
learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers). Nothing here is read off
our own roles. A write that names another resource asks for the right to join it too: "has permission to perform action
'.../write' ...; however, it does not have permission to perform action 'Microsoft.Network/virtualNetworks/subnets/join/action'
on the linked scope(s)" (LinkedAuthorizationFailed, as in Azure/aad-pod-identity#550). Metrics of a workspace are read by a
data action (learn.microsoft.com/azure/role-based-access-control/built-in-roles/monitor, Monitoring Data Reader).
"""

import re

import pytest
from logic_run import Azure

from sizewell.components.azure.aks.pools import POOL_ACTIONS
from sizewell.components.azure.limits import workflows

JOIN = "Microsoft.Network/virtualNetworks/subnets/join/action"
METRICS = "Microsoft.Monitor/accounts/data/metrics/read"
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
        managed = uri.startswith("https://management.azure.com")
        wanted = {operation(inputs["method"], uri)} if managed else {METRICS}
        if "vnetSubnetID" in str(self.value(inputs["body"]) if isinstance(inputs.get("body"), str) else ""):
            wanted.add(JOIN)
        self.asked |= wanted
        if not wanted <= self.held or wanted & set(self.failing):
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


def outcome(states):
    """How the run ends: as its last actions, and where one was skipped, as those before it; what others went on after
    does not count (learn.microsoft.com/azure/logic-apps/error-exception-handling, "Evaluate actions and their results").
    """
    actions = workflows.end_actions(group=GROUP, identity="hand", project="petsnap", stack=STACK)
    before = {name: list(action.get("runAfter", {})) for name, action in actions.items()}
    last = [name for name in actions if not any(name in names for names in before.values())]
    while skipped := [name for name in last if states[name] == "Skipped"]:
        last = [name for name in last if name not in skipped] + [one for name in skipped for one in before[name]]
    return "Failed" if {states[name] for name in last} & {"Failed", "TimedOut"} else "Succeeded"


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
    assert states.pop("autoscale-still-on") == "Skipped"
    assert set(states.values()) == {"Succeeded"}


@pytest.mark.parametrize(
    ("kind", "running"),
    [
        (None, False),
        ("cluster", True),
        ("set", True),
        ("workspace", True),
        ("stopped", False),
    ],
)
def test_an_end_that_is_not_firm_says_what_runs_and_stops_nothing(kind, running):
    """Each kind alone, of the stack; clusters that are stopped and sets without machines do not run."""
    answers = things()
    if kind != "workspace":
        answers = {at: listed for at, listed in answers.items() if not at.endswith(("/computes", "/onlineEndpoints"))}
    for name, extra in (
        ("cluster", {"properties": {"powerState": {"code": "Running" if kind == "cluster" else "Stopped"}}}),
        ("set", {"sku": {"capacity": 2 if kind == "set" else 0}}),
    ):
        for each in answers[path(KINDS[name])]["value"]:
            each.update(extra)
    azure = Subscription(answers, workflows.LOOKS)
    states = azure.run(workflows.told_actions(group=GROUP, identity="hand", project="petsnap", stack=STACK))
    assert states["told"] == ("Failed" if running else "Succeeded")
    assert {method for method, _, _ in azure.calls} == {"GET"}
    assert all("/ours" in one and "other" not in one for one in azure.variables["running"])
    assert bool(azure.variables["running"]) is running


def test_without_any_one_operation_the_expiry_fails_loudly(capsys):
    removed, failed = [], []
    for gone in workflows.END_ACTIONS:
        _, states, _ = play([one for one in workflows.END_ACTIONS if one != gone])
        removed.append(gone)
        failed += [gone] if outcome(states) == "Failed" else []
    with capsys.disabled():
        print(f"\nAzure expiry: operations removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed
    assert play()[0].asked == set(workflows.END_ACTIONS)


@pytest.mark.parametrize("gone", workflows.END_ACTIONS)
def test_what_fails_stops_nothing_else(gone):
    """Machines go, whatever happens to what follows load; a failure of one kind leaves the others to their end."""
    _, states, changes = play(failing=(gone,))
    assert outcome(states) == "Failed"
    kind = gone.partition("/")[0]
    spared = {change for change in ENDED if f"/providers/{kind}/" not in change[1]}
    assert spared <= set(changes)


def test_an_idle_stop_has_what_it_calls_and_no_more(capsys):
    pool = path("Microsoft.ContainerService/managedClusters", "a/agentPools/p")
    subnet = path("Microsoft.Network/virtualNetworks", "net/subnets/nodes")
    properties = {"vmSize": "Standard_ND96isr_H100_v5", "powerState": {"code": "Running"}, "vnetSubnetID": subnet}
    metrics = {"data": {"result": [{"value": [0, "3"]}]}}
    answers = {"https://q/api/v1/query": metrics, pool: {"name": "p", "properties": properties}}
    actions = workflows.idle_stop(pool=pool, identity="hand", query_url="https://q", query="a < 5")["actions"]
    held = (*POOL_ACTIONS, JOIN, METRICS)  # the last two by roles of their own, whose rights test_other_roles.py and
    removed, failed = [], []  # test_predefined.py compare
    for gone in (None, *held):
        azure = Subscription(answers, set(held) - {gone})
        states = azure.run(actions)
        if gone is None:
            assert "Failed" not in states.values()
            assert azure.asked == set(held)
            continue
        removed.append(gone)
        failed += [gone] if "Failed" in states.values() else []
    with capsys.disabled():
        print(f"\nAzure idle stop: operations removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed
