"""Budget, hard end, storage, keys, OpenAI on Azure: what they make, what they really do, what they refuse."""

import re

import pulumi
import pytest
from aws_recording import record
from azure_recording import (
    GUARD,
    NETWORK,
    OWNED,
    PLACE,
    PROD,
    VAULT,
    WRITER,
    ZONES,
    check_right,
    children,
    golden,
    only,
    refusals,
)
from hypothesis import given
from hypothesis import strategies as st
from logic_run import Azure

from sizewell.components.azure import parts
from sizewell.components.azure.keys.vault import CustomerKeys
from sizewell.components.azure.limits import expiry, workflows
from sizewell.components.azure.limits.guards import BudgetAlarms, EndRights, TtlGuard
from sizewell.components.azure.nodes import GpuScaleSet
from sizewell.components.azure.openai.account import OpenAiAccount, _key_parts
from sizewell.components.azure.storage import args as storage_args
from sizewell.components.azure.storage.shared import SharedStorage

RESERVATION = "/subscriptions/0000/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/mi300x"
MACHINES_OF_A_JOB = {
    **PROD,
    **PLACE,
    "region": "eastus2",
    "security_group_id": f"{NETWORK}/networkSecurityGroups/nodes",
    "zones": ["1"],
    "vm_size": "Standard_ND96isr_MI300X_v5",
    "nodes_min": 0,
    "nodes_initial": 2,
    "nodes_max": 4,
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 128,
}
BUDGET = {
    **OWNED,
    "region": "eastus",
    "stack": "dev-azure",
    "monthly_usd": 12000.0,
    "starts": "2026-09-22",
    "emails": ["ml-platform@example.com"],
}
LIVE_BUDGET = {
    **PROD,
    "region": "eastus",
    "stack": "prod-azure",
    "monthly_usd": 90000,
    "starts": "2026-11-01",
    "subscription": "00000000-0000-0000-0000-000000000003",
}
TTL = {
    "environment": "dev",
    "owner": "ml-platform",
    "region": "eastus",
    "stack": "dev-azure",
    "target": "sizewell-dev-azure-network-eastus",
    "ends": "2026-09-22",
    "emails": ["ml-platform@example.com"],
}
RIGHTS = {
    **OWNED,
    "region": "eastus",
    "resource_group": "sizewell-dev-azure-network-eastus",
    "ender": expiry.ender("dev-azure", "eastus"),
}
FILES = f"{NETWORK}/virtualNetworks/net/subnets/files"
STORAGE = {
    **OWNED,
    "region": "eastus",
    "resource_group": "network",
    "zone": "1",
    "subnet_id": FILES,
    "bytes_needed": 12 * 10**12,
}
CONTAINERS = "/subscriptions/0000/resourceGroups/data/providers/Microsoft.Storage/storageAccounts/data/blobServices/default/containers"
KEY = {
    "key_url": "https://keys.vault.azure.net/keys/disks/1",
    "vault_id": VAULT,
    "identity_id": "/subscriptions/0000/resourceGroups/keys/providers/Microsoft.ManagedIdentity/userAssignedIdentities/k",
}
LIVE_STORAGE = {
    **PROD,
    "region": "eastus",
    "resource_group": "network",
    "zone": "2",
    "subnet_id": FILES,
    "bytes_needed": 30 * 10**12,
    "throughput_mb_per_s_per_tib": 500,
    "container_id": f"{CONTAINERS}/images",
    "logging_container_id": f"{CONTAINERS}/logs",
    "import_prefix": "/train",
    "key": KEY,
}
KEYS = {**PROD, "region": "eastus", "salt": "sizewell/petsnap"}
BY_TOKEN = {
    "name": "chat",
    "model": "gpt-4.1-mini",
    "version": "2025-04-14",
    "sku": "GlobalStandard",
    "capacity": 100,
}
BOUGHT = {
    "name": "chat-fast",
    "model": "gpt-4.1",
    "version": "2025-04-14",
    "sku": "DataZoneProvisionedManaged",
    "capacity": 50,
    "purchase": "confirmed",
    "max_price_usd": 60.0,
    "ends": "2026-12-31",
}
OPENAI = {**OWNED, **PLACE, "account": "petsnap-dev", "deployments": [BY_TOKEN]}
LIVE_OPENAI = {
    **PROD,
    **PLACE,
    "account": "petsnap-prod",
    "private_dns_zone_ids": ZONES,
    "deployments": [BY_TOKEN, BOUGHT],
    "users": ["00000000-0000-0000-0000-00000000000d"],
    "key": {**KEY, "client_id": "00000000-0000-0000-0000-00000000000e"},
}
FORMS = {
    "budget-dev": (BudgetAlarms, BUDGET, "dev-azure"),
    "budget-prod": (BudgetAlarms, LIVE_BUDGET, "prod-azure"),
    "ttl-dev": (TtlGuard, TTL, "ttl-dev-azure"),
    "end-rights-dev": (EndRights, RIGHTS, "dev-azure"),
    "storage-dev": (SharedStorage, STORAGE, "dev-azure"),
    "storage-prod": (SharedStorage, LIVE_STORAGE, "prod-azure"),
    "keys-prod": (CustomerKeys, KEYS, "prod-azure"),
    "openai-dev": (OpenAiAccount, OPENAI, "dev-azure"),
    "openai-prod": (OpenAiAccount, LIVE_OPENAI, "prod-azure"),
}


def made(cls, name, args, stack="dev-azure"):
    resources = record(lambda: cls(name, args), stack=stack)
    check_right(resources)
    return resources


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    cls, args, stack = FORMS[form]
    golden(form, made(cls, form, args, stack))


def test_costs_are_counted_by_the_stack_s_tag_from_the_start_of_a_month():
    budget = only(made(BudgetAlarms, "x", BUDGET), "azure-native:consumption:Budget").inputs
    assert budget["filter"] == {"tags": {"name": "sizewell-stack", "operator": "In", "values": ["dev-azure"]}}
    assert budget["timePeriod"] == {"startDate": "2026-09-01T00:00:00Z"}
    told = {(one["thresholdType"], one["threshold"]) for one in budget["notifications"].values()}
    assert told == {("Actual", 50.0), ("Actual", 80.0), ("Actual", 100.0), ("Forecasted", 100.0)}


GROUP = "/subscriptions/0000/resourceGroups/rg"
TAGS = {"sizewell-project": "petsnap", "sizewell-stack": "dev-azure"}


def provider(kind):
    return f"{GROUP}/providers/{kind}"


def test_the_end_takes_what_carries_the_tag_to_zero_and_leaves_the_rest():
    cluster, foreign = provider("Microsoft.ContainerService/managedClusters/a"), provider("x/other")
    machines = provider("Microsoft.Compute/virtualMachineScaleSets/m")
    autoscale = provider("Microsoft.Insights/autoscaleSettings/s")
    ml = provider("Microsoft.MachineLearningServices/workspaces/ml")
    azure = Azure(
        {
            provider("Microsoft.ContainerService/managedClusters"): {
                "value": [
                    {"id": cluster, "tags": TAGS},
                    {"id": foreign, "tags": {**TAGS, "sizewell-stack": "prod-azure"}},
                ]
            },
            provider("Microsoft.Insights/autoscaleSettings"): {"value": [{"id": autoscale, "tags": TAGS}]},
            provider("Microsoft.Compute/virtualMachineScaleSets"): {"value": [{"id": machines, "tags": TAGS}]},
            provider("Microsoft.MachineLearningServices/workspaces"): {"value": [{"id": ml, "tags": TAGS}]},
            f"{ml}/computes": {"value": [{"id": f"{ml}/computes/tune", "tags": TAGS}, {"id": f"{ml}/computes/ours"}]},
            f"{ml}/onlineEndpoints": {"value": [{"id": f"{ml}/onlineEndpoints/chat", "tags": TAGS}]},
            autoscale: "fails",
        }
    )
    azure.run(workflows.end_actions(group=GROUP, identity="hand", project="petsnap", stack="dev-azure"))
    done = [(method, uri.partition("?")[0]) for method, uri, _ in azure.calls if method != "GET"]
    assert ("POST", f"{cluster}/stop") in done
    assert ("PATCH", machines) in done  # although the autoscale setting did not go off
    assert done.index(("PATCH", autoscale)) < done.index(("PATCH", machines))
    assert ("DELETE", f"{ml}/computes/tune") in done
    assert ("DELETE", f"{ml}/onlineEndpoints/chat") in done
    assert ("DELETE", f"{ml}/computes/ours") not in done  # somebody's, without the stack's tag
    assert not [uri for _, uri in done if foreign in uri]
    assert {body["sku"]["capacity"] for _, uri, body in azure.calls if body and "sku" in body} == {0}


def test_an_end_that_finds_nothing_does_nothing():
    azure = Azure({})
    azure.run(workflows.end_actions(group=GROUP, identity="hand", project="petsnap", stack="dev-azure"))
    assert {method for method, _, _ in azure.calls} == {"GET"}


POOL = provider("Microsoft.ContainerService/managedClusters/a/agentPools/p")


@pytest.mark.parametrize(
    ("samples", "state", "stopped"),
    [
        ([{"value": [0, "3"]}], "Running", True),
        ([], "Running", False),  # somebody works, or nobody looked: no answer is no idleness
        ([{"value": [0, "3"]}], "Stopped", False),  # it is there already
    ],
)
def test_a_pool_stops_when_its_gpus_were_idle_and_seen(samples, state, stopped):
    pool = {"name": "p", "properties": {"vmSize": "Standard_ND96isr_H100_v5", "powerState": {"code": state}}}
    azure = Azure({"https://q/api/v1/query": {"data": {"result": samples}}, POOL: pool})
    azure.run(workflows.idle_stop(pool=POOL, identity="hand", query_url="https://q", query="a < 5")["actions"])
    puts = [body for method, _, body in azure.calls if method == "PUT"]
    assert bool(puts) is stopped
    if stopped:
        assert puts[0]["properties"]["powerState"] == {"code": "Stopped"}
        assert puts[0]["properties"]["vmSize"] == "Standard_ND96isr_H100_v5"


def test_the_hand_may_take_machines_to_zero_and_touch_nothing_else():
    role = "azure-native:authorization:RoleDefinition"
    held = only(made(EndRights, "x", {**RIGHTS, "firm": True}), role).inputs["permissions"][0]
    assert held["actions"] == list(workflows.END_ACTIONS)
    looking = only(made(EndRights, "x", RIGHTS), role).inputs["permissions"][0]["actions"]  # an end that is not firm
    assert looking
    assert all(action.endswith("/read") for action in looking)
    for action in held["actions"]:
        assert "*" not in action
        assert not re.search(r"Storage|KeyVault|Network|Authorization|ContainerRegistry", action)
    assert held["dataActions"] == []


def test_both_stacks_find_the_same_hand():
    """The guard's stack makes it, the other stack looks it up by name: neither asks the other."""
    there = made(TtlGuard, "end-eastus", TTL, "ttl-dev-azure")
    hand = only(there, "azure-native:managedidentity:UserAssignedIdentity").inputs
    group = only(there, "azure-native:resources:ResourceGroup").inputs
    assert expiry.ender("dev-azure", "eastus") == {
        "resource_group": group["resourceGroupName"],
        "identity": hand["resourceName"],
    }


def test_a_destroy_leaves_the_keys_and_what_they_need():
    kept = {one.name: one.protect for one in children(made(CustomerKeys, "k", KEYS, "prod-azure"))}
    assert all(kept.values()), kept
    loose = children(made(CustomerKeys, "k", {**KEYS, "protected": False}, "prod-azure"))
    assert not any(one.protect for one in loose)


@given(st.integers(1, 300 * 10**12), st.sampled_from(sorted(storage_args.TIERS)))
def test_data_fits_with_a_tenth_to_spare_in_a_size_that_azure_sells(size, tier):
    tib = storage_args.capacity_tib(size, tier)
    assert tib % storage_args.TIERS[tier] == 0
    assert tib * storage_args.TIB * 0.9 >= size - storage_args.TIB * 0.01
    assert storage_args.capacity_tib(size, tier) <= storage_args.capacity_tib(size + 10**12, tier)


def test_models_are_deployed_one_after_the_other_and_only_as_named():
    found = [
        one
        for one in made(OpenAiAccount, "ai", LIVE_OPENAI, "prod-azure")
        if one.type == "azure-native:cognitiveservices:Deployment"
    ]
    assert {one.inputs["properties"]["versionUpgradeOption"] for one in found} == {"NoAutoUpgrade"}
    later = next(one for one in found if one.name == "ai-chat-fast")
    assert any("ai-chat" in urn for urn in later.dependencies)
    assert _key_parts("https://v.vault.azure.net/keys/disks/7") == ("https://v.vault.azure.net/", "disks", "7")


def openai(**changes):
    return {**OPENAI, "deployments": [{**BOUGHT, **changes}]}


NEGATIVE = [
    (BudgetAlarms, {**BUDGET, "monthly_usd": 0}, "monthly_usd", "must be over 0, got 0"),
    (BudgetAlarms, {**BUDGET, "starts": "soon"}, "starts", "must be an ISO date"),
    (BudgetAlarms, {**BUDGET, "subscription": "petsnap"}, "subscription", "must be a subscription's GUID"),
    (BudgetAlarms, {**BUDGET, "emails": ["nobody"]}, "emails[0]", "must be an e-mail address"),
    (BudgetAlarms, {**BUDGET, "stack": ""}, "stack", "is empty"),
    (TtlGuard, {**TTL, "ends": "tomorrow"}, "ends", "must be an ISO date (2026-12-31), got 'tomorrow'"),
    (TtlGuard, {**TTL, "expires": "2026-09-22"}, "expires", "the guard has to outlive its stack"),
    (TtlGuard, {**TTL, "target": ""}, "target", "name the resource group"),
    (EndRights, {**RIGHTS, "ender": {"resource_group": "", "identity": "x"}}, "ender.resource_group", "is empty"),
    (SharedStorage, {**STORAGE, "zone": "eastus-1"}, "zone", 'must be "1", "2" or "3"'),
    (SharedStorage, {**STORAGE, "bytes_needed": 0}, "bytes_needed", "a whole number"),
    (SharedStorage, {**STORAGE, "bytes_needed": 10**15}, "bytes_needed", "400 is the most in one file system"),
    (SharedStorage, {**STORAGE, "throughput_mb_per_s_per_tib": 40}, "throughput_mb_per_s_per_tib", "125, 250, 500"),
    (SharedStorage, {**STORAGE, "container_id": "images"}, "container_id", "must be the id of a blob container"),
    (SharedStorage, {**STORAGE, "import_prefix": "/a"}, "import_prefix", "there is nothing to import"),
    (CustomerKeys, {**KEYS, "salt": ""}, "salt", "is globally unique"),
    (OpenAiAccount, {**OPENAI, "account": "Pet Snap"}, "account", "must be 2 to 64 lower-case letters"),
    (OpenAiAccount, {**OPENAI, "deployments": []}, "deployments", "would have no models"),
    (OpenAiAccount, {**OPENAI, "deployments": [BY_TOKEN, BY_TOKEN]}, "deployments", "has a name twice: chat, chat"),
    *(
        (
            OpenAiAccount,
            {**openai(sku=sku), "region": "japaneast"},
            "deployments[0].sku",
            "japaneast is in no data zone",
        )
        for sku in ("DataZoneStandard", "DataZoneBatch")
    ),
    (OpenAiAccount, openai(sku="Cheap"), "deployments[0].sku", "must be one of Standard"),
    (OpenAiAccount, openai(purchase="unconfirmed"), "deployments[0].purchase", "must be confirmed, got 'unconfirmed'"),
    (OpenAiAccount, openai(capacity=17), "deployments[0].capacity", "in steps of 5 for DataZoneProvisionedManaged"),
    (OpenAiAccount, openai(capacity=0), "deployments[0].capacity", "must be a whole number"),
    (OpenAiAccount, openai(max_price_usd=0), "deployments[0].max_price_usd", "must be over 0"),
    (OpenAiAccount, openai(ends="later"), "deployments[0].ends", "must be an ISO date"),
    (OpenAiAccount, openai(version=""), "deployments[0].version", "the model would change by itself"),
    (OpenAiAccount, openai(sku="Standard"), "deployments[0].purchase", "nothing to buy"),
    (OpenAiAccount, openai(model="gpt-4", version="0613"), "deployments[0].version", "retired on 2025-06-06"),
]


@pytest.mark.parametrize(("cls", "args", "path", "sentence"), NEGATIVE)
def test_refuses(cls, args, path, sentence, monkeypatch):
    monkeypatch.setattr(pulumi, "get_stack", lambda: "ttl-dev-azure")
    found = refusals(cls, args)
    assert any(at == path and sentence in text for at, text in found), found


def test_a_guard_never_stands_in_the_stack_that_it_ends(monkeypatch):
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev-azure")
    found = refusals(TtlGuard, TTL)
    assert any(at == "stack" and "must be a stack other than the guard's own (dev-azure)" in text for at, text in found)


def test_a_scale_set_that_the_guard_emptied_stays_empty_and_the_morning_starts_it():
    """Azure takes a set without metrics up to its profile's default, and an empty set has no metrics."""
    from sizewell.components.azure.scale_sets import autoscale_profiles

    guard = {"action": "scale-to-zero", "min_utilization_percent": 5, "window_s": 2700, "grace_s": 3600}
    sizes = {"nodes_min": 0, "nodes_initial": 2, "nodes_max": 4, "scale_set_id": "set"}
    (always,) = autoscale_profiles(**sizes, guard=guard, schedule=None)
    assert always["capacity"] == {"minimum": "0", "default": "0", "maximum": "4"}
    windows = [{"days": "mon-fri", "start": "07:00", "end": "21:00"}, {"days": "sat", "start": "23:50", "end": "24:00"}]
    day = autoscale_profiles(**sizes, guard=guard, schedule={"time_zone": "Europe/London", "windows": windows})
    clocks = {
        one["name"]: (one["recurrence"]["schedule"]["hours"][0], one["recurrence"]["schedule"]["minutes"][0])
        for one in day
    }
    assert clocks["start-0"] == (7, 0)
    assert clocks["hours-0"] == (7, 15)
    assert clocks["off-0"] == (21, 0)
    assert clocks["start-1"] < clocks["hours-1"] < clocks["off-1"]
    by_name = {one["name"]: one for one in day}
    assert by_name["start-0"]["capacity"]["minimum"] == "2"
    assert by_name["hours-0"]["capacity"]["default"] == "0"
    assert [one["name"] for one in day if one["rules"]] == ["hours-0", "hours-1"]


def test_machines_of_one_job_are_never_taken_from_a_reservation():
    args = {**MACHINES_OF_A_JOB, "capacity_mode": "reservation", "reservation": RESERVATION}
    assert ("capacity_mode", True) in {
        (at, "single placement group" in text) for at, text in refusals(GpuScaleSet, args)
    }


def test_a_scale_set_tells_of_idleness_and_of_changes_of_size():
    from azure_recording import made

    args = {**MACHINES_OF_A_JOB, "guard": {**GUARD, "action": "notify"}, "notify": ["ml-platform@example.com"]}
    resources = made(GpuScaleSet, "x", args)
    group = only(resources, "azure-native:monitor:ActionGroup").inputs
    assert [one["emailAddress"] for one in group["emailReceivers"]] == ["ml-platform@example.com"]
    assert only(resources, "azure-native:monitor:MetricAlert").inputs["actions"]
    (told,) = only(resources, "azure-native:monitor:AutoscaleSetting").inputs["notifications"]
    assert told["email"]["customEmails"] == ["ml-platform@example.com"]


def test_a_writer_s_role_does_not_hang_below_the_lock_of_the_checkpoints():
    """Azure takes no role back below a lock: a destroy of the cluster would end there."""
    from sizewell.components.azure.storage.checkpoints import CheckpointStore

    store = {
        "environment": "dev",
        "owner": "ml-platform",
        "region": "eastus",
        "account": WRITER["account"],
        "resource_group": WRITER["resource_group"],
        "role": WRITER["role"],
    }

    def program():
        owner = CheckpointStore("chat", store)
        known = pulumi.Output.from_input("/subscriptions/0000/resourceGroups/network/providers/x")
        parts.checkpoint_access(owner, "chat-checkpoints", PLACE, writer=WRITER, principal="pods", told_by=known)

    made = record(program, stack="dev-azure")
    role = only(made, "azure-native:authorization:RoleAssignment", "chat-checkpoints").inputs
    lock = only(made, "azure-native:authorization:ManagementLockByScope").inputs
    assert role["scope"] == f"/subscriptions/0000/resourceGroups/{WRITER['resource_group']}"
    assert lock["level"] == "CanNotDelete"
    (account,) = [one for one in made if one.type == "azure-native:storage:StorageAccount"]
    assert account.urn in {
        dependency for one in made if one.type.endswith("ByScope") for dependency in one.dependencies
    }
