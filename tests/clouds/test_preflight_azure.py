"""Pre-flight on Azure: each planted fault is the one that is told, and its healthy twin tells nothing.

The answers have the form of the examples in Azure's REST reference (Resource SKUs - List, Usage - List, Features - Get,
Providers - List, Capacity Reservations, Permissions - List For Resource Group), shortened to what is read.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from sizewell.clouds.calls import Timeouts
from sizewell.clouds.preflight import azure as preflight_azure
from sizewell.clouds.preflight.run import preflight
from tests.clouds.preflight_needs import Declared, by_state, machines, needs
from tests.clouds.rest_server import Reply, Server

SUBSCRIPTION, REGION, SIZE = "00000000-0000-0000-0000-000000000001", "eastus", "Standard_ND96isr_H100_v5"
AT = f"GET /subscriptions/{SUBSCRIPTION}"
FAST = Timeouts(attempts=1)
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/h100"
IMAGE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/providers/Microsoft.Compute/images/grid"
RESOURCES = (
    Declared("azure-native:resources:ResourceGroup", "group", {"resourceGroupName": "sizewell-dev"}),
    Declared("azure-native:network:VirtualNetwork", "net", {}),
    Declared("azure-native:containerservice:AgentPool", "train", {"enableEncryptionAtHost": True}),
    Declared(
        "azure-native:monitor:ActionGroup",
        "notices",
        {
            "actionGroupName": "notices",
            "emailReceivers": [{"name": "mail-0", "emailAddress": "ml@petsnap.example"}],
            "webhookReceivers": [{"name": "hook-1"}],
        },
    ),
    Declared("sizewell-azure:index:AksOperators", "operators", {"infiniband": True}),
)
PROVIDERS = (
    "Microsoft.ContainerService",
    "Microsoft.Insights",
    "Microsoft.Monitor",
    "Microsoft.Network",
    "Microsoft.Resources",
)


def stack(**changes: Any) -> Any:
    base = {"region": REGION, "zones": ("1",), "instance_type": SIZE, "vcpus": 96, "quota": "standardNDSH100v5Family"}
    images = {"images": {"chat": IMAGE}, "registry": "petsnap.azurecr.io/nvcr"}
    return needs("azure", SUBSCRIPTION, (machines(**{**base, **changes}),), *RESOURCES, **images)


def providers(*names: str) -> Reply:
    return Reply({"value": [{"namespace": name, "registrationState": "Registered"} for name in names]})


def size(**changes: Any) -> Reply:
    row = {
        "resourceType": "virtualMachines",
        "name": SIZE,
        "family": "standardNDSH100v5Family",
        "locationInfo": [{"location": REGION, "zones": ["1", "2"]}],
        "capabilities": [{"name": "vCPUs", "value": "96"}],
        "restrictions": [],
        **changes,
    }
    return Reply({"value": [{"resourceType": "disks", "name": "P10"}, row]})


def usage(**limits: tuple[int, int]) -> Reply:
    rows = {"standardNDSH100v5Family": (0, 192), "cores": (8, 200), "lowPriorityCores": (0, 192), **limits}
    return Reply(
        {
            "value": [
                {"name": {"value": name}, "currentValue": used, "limit": limit} for name, (used, limit) in rows.items()
            ]
        }
    )


def restricted(kind: str, **info: Any) -> Reply:
    return size(restrictions=[{"type": kind, "reasonCode": "NotAvailableForSubscription", "restrictionInfo": info}])


def feature(state: str) -> Reply:
    return Reply({"properties": {"state": state}})


def reservations(
    name: str = SIZE, capacity: int = 2, zones: tuple[str, ...] = ("1",), state: str = "Succeeded"
) -> Reply:
    row = {"name": "r", "sku": {"name": name, "capacity": capacity}, "zones": list(zones)}
    return Reply({"value": [{**row, "properties": {"provisioningState": state}}]})


def action_groups(status: str = "Enabled", *, hook: str = "hook-1", enabled: bool = True) -> Reply:
    """As in Azure's published example listActionGroups.json (Microsoft.Insights, stable/2023-01-01)."""
    receiver = {"name": "mail-0", "emailAddress": "ml@petsnap.example", "status": status, "useCommonAlertSchema": True}
    own = {"enabled": enabled, "emailReceivers": [receiver], "webhookReceivers": [{"name": hook, "serviceUri": "x"}]}
    other = {
        "enabled": False,
        "emailReceivers": [{"name": "e0", "emailAddress": "else@petsnap.example", "status": "Disabled"}],
    }
    rows = [("notices", own), ("of-another-stack", other)]
    return Reply({"value": [{"name": name, "properties": properties} for name, properties in rows]})


def alert_rules(scope: str = "", *, enabled: bool = True, action: str = "RemoveAllActionGroups") -> Reply:
    """As in the sample response of Alert Processing Rules - List By Subscription (2021-08-08)."""
    at = f"/subscriptions/{SUBSCRIPTION}"
    rows = [(f"{at}/resourceGroups/of-another-stack", True, "RemoveAllActionGroups")]
    rows += [(f"{at}{scope}", enabled, action)]
    return Reply(
        {
            "value": [
                {"name": f"rule-{n}", "properties": {"scopes": [s], "enabled": e, "actions": [{"actionType": a}]}}
                for n, (s, e, a) in enumerate(rows)
            ]
        }
    )


FEATURES = f"{AT}/providers/Microsoft.Features/providers"
ENCRYPTION = f"{FEATURES}/Microsoft.Compute/features/EncryptionAtHost"
INFINIBAND = f"{FEATURES}/Microsoft.ContainerService/features/AKSInfinibandSupport"
SKUS = f"{AT}/providers/Microsoft.Compute/skus"
USAGES = f"{AT}/providers/Microsoft.Compute/locations/{REGION}/usages"
PERMISSIONS = f"{AT}/providers/Microsoft.Authorization/permissions"
ACTION_GROUPS = f"{AT}/providers/Microsoft.Insights/actionGroups"
ALERT_RULES = f"{AT}/providers/Microsoft.AlertsManagement/actionRules"
REGISTRIES = f"{AT}/providers/Microsoft.ContainerRegistry/registries"
HEALTHY: dict[str, Reply] = {
    AT: Reply({"displayName": "petsnap", "state": "Enabled"}),
    f"{AT}/providers": providers(*PROVIDERS),
    ENCRYPTION: feature("Registered"),
    INFINIBAND: feature("Registered"),
    SKUS: size(),
    USAGES: usage(),
    f"GET {GROUP}": Reply({"name": "h100", "location": REGION}),
    f"GET {GROUP}/capacityReservations": reservations(),
    f"GET {IMAGE}": Reply({"name": "grid"}),
    REGISTRIES: Reply({"value": [{"name": "petsnap"}]}),
    ACTION_GROUPS: action_groups(),
    ALERT_RULES: alert_rules(action="AddActionGroups"),
    PERMISSIONS: Reply(
        {"value": [{"actions": ["*"], "notActions": ["Microsoft.Blueprint/blueprintAssignments/write"]}]}
    ),
}


@pytest.fixture(autouse=True)
def _replayed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AZURE_ACCESS_TOKEN", "token")
    for key, reply in HEALTHY.items():
        server.reply(key, reply)


def test_nothing_is_found_in_a_healthy_subscription(server):
    found = by_state(preflight(stack(), timeouts=FAST) + preflight(stack(reservation=GROUP), timeouts=FAST))
    assert found["wrong"] == []
    assert found["note"] == []
    assert {request.partition("?")[0] for request in server.asked} == set(HEALTHY)
    assert all("api-version=" in request for request in server.asked)


def missing(code: int = 404) -> Reply:
    return Reply({"error": {"code": "NotFound", "message": "not found"}}, code)


HELD = {"reservation": GROUP}
PLANTED = [
    ({AT: missing()}, {}, "account", "does not exist, or you may not see it", "az login --tenant"),
    ({AT: missing(401)}, {}, "account", "not logged in", "log in"),
    ({AT: Reply({"displayName": "petsnap", "state": "Disabled"})}, {}, "account", "petsnap is Disabled", "billing"),
    *[
        (
            {f"{AT}/providers": providers(*(name for name in PROVIDERS if name != absent))},
            {},
            "providers",
            f"not registered: {absent}",
            f"az provider register --namespace {absent}",
        )
        for absent in PROVIDERS
    ],
    ({ENCRYPTION: feature("NotRegistered")}, {}, "feature EncryptionAtHost", "is NotRegistered", ("az feature register " "--namespace " "Microsoft.Compute " "--name EncryptionAtHost")),
    ({INFINIBAND: feature("Pending")}, {}, ("feature " "AKSInfinibandSupport"), "is Pending", ("az feature register " "--namespace " "Microsoft.ContainerService --name AKSInfinibandSupport")),
    ({SKUS: Reply({"value": []})}, {}, f"size {SIZE}", "is not sold in eastus", "size again"),
    ({SKUS: restricted("Location", locations=[REGION])}, {}, f"size {SIZE}", "NotAvailableForSubscription", "support"),
    ({SKUS: restricted("Zone", zones=["1"])}, {}, f"size {SIZE}", "is not sold in zone 1 of eastus", "one of 2"),
    ({}, {"zones": ("3",)}, f"size {SIZE}", "is not sold in zone 3 of eastus", "one of 1, 2"),
    ({USAGES: usage(standardNDSH100v5Family=(1, 192))}, {}, ("quota " "standardNDSH100v5Family " "in eastus"), ("192 vCPU, 1 in use; " "the stack may grow to 192"), "raise it to 193"),
    ({USAGES: usage(cores=(9, 200))}, {}, "quota cores in eastus", "200 vCPU, 9 in use", "raise it to 201"),
    ({USAGES: usage(lowPriorityCores=(0, 191))}, {"market": "spot"}, ("quota lowPriorityCores " "in eastus"), "191 vCPU", "raise it to 192"),
    ({f"GET {GROUP}": missing()}, HELD, "reservation h100", "does not exist", "another capacity reservation group"),
    ({f"GET {GROUP}": Reply({"location": "westus2"})}, HELD, "reservation h100", "is in westus2", ("another capacity " "reservation group")),
    ({("GET " f"{GROUP}/capacityReservations"): reservations(name="Standard_NC6s_v3")}, HELD, "reservation h100", "has Standard_NC6s_v3", ("another capacity " "reservation group")),
    ({("GET " f"{GROUP}/capacityReservations"): reservations(zones=("2",))}, HELD, "reservation h100", "is in zone 2, the pool in 1", ("another capacity " "reservation group")),
    ({("GET " f"{GROUP}/capacityReservations"): reservations(capacity=1)}, HELD, "reservation h100", "has 1 machines", ("another capacity " "reservation group")),
    ({("GET " f"{GROUP}/capacityReservations"): reservations(state="Failed")}, HELD, "reservation h100", "is not provisioned", ("another capacity " "reservation group")),
    ({f"GET {IMAGE}": missing()}, {}, "image grid", "does not exist", "sizewell:images"),
    ({REGISTRIES: Reply({"value": []})}, {}, "registries", ("petsnap.azurecr.io is not " "in this " "subscription"), ("az acr create --name " "petsnap")),
    ({ACTION_GROUPS: action_groups("Disabled")}, {}, "receivers", ("unsubscribed themselves: " "ml@petsnap.example " "(notices)"), "Enable-AzActionGroupReceiver"),
    ({ACTION_GROUPS: action_groups(enabled=False)}, {}, "receivers", "switched off: notices", "pulumi refresh -s"),
    ({ACTION_GROUPS: action_groups(hook="hook-2")}, {}, "receivers", ("no longer among the " "receivers: " "hook-1 " "(notices)"), "pulumi refresh -s"),
    ({ALERT_RULES: alert_rules()}, {}, "receivers", ("suppress every action " "group: rule-1"), ("az monitor " "alert-processing-rule update --enabled False")),
    ({ALERT_RULES: alert_rules("/resourcegroups/Sizewell-dev")}, {}, "receivers", ("suppress every action " "group: rule-1"), ("az monitor " "alert-processing-rule update --enabled False")),
    *[
        (
            {PERMISSIONS: Reply({"value": [{"actions": ["*"], "notActions": [denied]}]})},
            {},
            "rights",
            f"missing {action}",
            "has to assign a role",
        )
        for denied, action in (
            ("Microsoft.Network/*", "Microsoft.Network/virtualNetworks/write"),
            ("Microsoft.Resources/*/write", "Microsoft.Resources/subscriptions/resourceGroups/write"),
            ("Microsoft.Insights/actionGroups/*", "Microsoft.Insights/actionGroups/write"),
            ("*/agentPools/write", "Microsoft.ContainerService/managedClusters/agentPools/write"),
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("answers", "asked", "about", "says", "mends"), PLANTED)
def test_a_planted_fault_is_the_one_that_is_told(server, answers, asked, about, says, mends):  # noqa: PLR0917
    for key, reply in answers.items():
        server.reply(key, reply)
    (told,) = by_state(preflight(stack(**asked), timeouts=FAST))["wrong"]
    assert (told.about, told.code) == (about, 64)
    assert says in told.detail
    assert mends in told.fix


def test_each_thing_that_is_asked_has_a_planted_fault_and_a_healthy_twin(capsys):
    stacks = (stack(), stack(reservation=GROUP), stack(market="spot"))
    found = [finding for each in stacks for finding in preflight(each, timeouts=FAST)]
    healthy = {finding.about for finding in found if finding.state == "ok"}
    planted = {about for _, _, about, _, _ in PLANTED}
    with capsys.disabled():
        counts = f"providers {len(PROVIDERS)}, features {len(preflight_azure.features_of(stack()))}"
        print(f"\nAzure: asked {len(healthy)}, planted {len(planted)}; {counts}; faults {len(PLANTED)}")
    assert planted == healthy
    assert set(preflight_azure.providers_of(stack())) == set(PROVIDERS)  # each is planted as missing above
    assert {f"feature {name}" for _, name in preflight_azure.features_of(stack())} <= planted


@pytest.mark.parametrize("key", list(HEALTHY))
def test_silence_is_no_answer_and_a_denied_question_is_said(server, key):
    asked = stack(reservation=GROUP if GROUP in key else "")
    server.reply(key, Reply({}, 503))
    told = by_state(preflight(asked, timeouts=FAST))["wrong"]
    assert {finding.code for finding in told} == {69}
    if key != AT:
        server.reply(key, Reply({"error": {"code": "AuthorizationFailed", "message": "no"}}, 403))
        found = by_state(preflight(asked, timeouts=FAST))
        assert found["wrong"] == []
        assert "not known" in found["note"][0].detail


def test_a_stack_is_asked_about_in_under_15_seconds_at_100_ms_a_call(server):
    for key, reply in HEALTHY.items():
        server.reply(key, replace(reply, delay_s=0.1))
    began = time.monotonic()
    preflight(stack(reservation=GROUP))
    assert 0.2 < time.monotonic() - began < 15


def test_one_role_may_give_what_another_does_not(server):
    rows = [{"actions": ["*/read"], "notActions": []}, {"actions": ["*"], "notActions": ["*/read"]}]
    server.reply(PERMISSIONS, Reply({"value": rows}))
    assert by_state(preflight(stack(), timeouts=FAST))["wrong"] == []


def test_a_rule_that_is_off_or_an_action_group_that_is_not_there_yet_is_no_fault(server):
    server.reply(ALERT_RULES, alert_rules(enabled=False))
    server.reply(ACTION_GROUPS, Reply({"value": []}))
    assert by_state(preflight(stack(), timeouts=FAST))["wrong"] == []


def test_action_groups_without_receivers_reach_nobody(server):
    silent = Declared("azure-native:monitor:ActionGroup", "quiet", {"emailReceivers": [], "webhookReceivers": []})
    (told,) = by_state(preflight(needs("azure", SUBSCRIPTION, (), silent), timeouts=FAST))["wrong"]
    assert told.detail == "have no receiver: quiet"


def test_features_follow_from_what_is_declared():
    plain = Declared(
        "azure-native:compute:VirtualMachineScaleSet", "s", {"securityProfile": {"encryptionAtHost": False}}
    )
    assert preflight_azure.features_of(needs("azure", SUBSCRIPTION, (), plain)) == ()
    nested = {"virtualMachineProfile": {"securityProfile": {"encryptionAtHost": True}}}
    scale_set = Declared("azure-native:compute:VirtualMachineScaleSet", "s", nested)
    assert preflight_azure.features_of(needs("azure", SUBSCRIPTION, (), scale_set)) == (preflight_azure.ENCRYPTION,)
