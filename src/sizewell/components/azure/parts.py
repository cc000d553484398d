"""Parts that several Azure components have: identities and their rights, private endpoints, action groups."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import pulumi
from pulumi_azure_native import authorization, logic, managedidentity, monitor, network, storage

from sizewell.components.azure import scale_sets
from sizewell.components.azure.args import WriterArgs, guid
from sizewell.components.notify import hooks, receivers, with_emails
from sizewell.components.owned import Owned

SINGLE_RESOURCE = "Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria"


def subscription(owner: Owned) -> pulumi.Output[str]:
    """The subscription that the component's provider works in."""
    config = authorization.get_client_config_output(opts=pulumi.InvokeOptions(parent=owner))
    subscription_id: pulumi.Output[str] = config.subscription_id
    return subscription_id


def tenant(owner: Owned) -> pulumi.Output[str]:
    config = authorization.get_client_config_output(opts=pulumi.InvokeOptions(parent=owner))
    tenant_id: pulumi.Output[str] = config.tenant_id
    return tenant_id


def identity(
    owner: Owned, name: str, args: Mapping[str, object], **options: Any
) -> managedidentity.UserAssignedIdentity:
    """An identity of its own: it has no rights until somebody gives it one."""
    return owner.make(
        managedidentity.UserAssignedIdentity,
        name,
        resource_group_name=args["resource_group"],
        location=args["region"],
        opts=pulumi.ResourceOptions(**options),
    )


def assign(
    owner: Owned,
    name: str,
    *,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    role: str,
    principal_type: str | None = "ServicePrincipal",
    **options: Any,
) -> authorization.RoleAssignment:
    """A built-in role, by its GUID, on one resource or group; its name is the same in every run."""
    return owner.make(
        authorization.RoleAssignment,
        name,
        role_assignment_name=guid("role", pulumi.get_stack(), name),
        scope=scope,
        principal_id=principal,
        principal_type=principal_type,
        role_definition_id=pulumi.Output.from_input(scope).apply(
            lambda value: scale_sets.role_id(scale_sets.subscription_of(value), role)
        ),
        opts=pulumi.ResourceOptions(**options),
    )


def own_role(
    owner: Owned,
    name: str,
    *,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    description: str,
    actions: Sequence[str],
    **options: Any,
) -> authorization.RoleAssignment:
    """A role with exactly these actions on one scope; Azure defines roles for resource groups at the narrowest."""
    group = pulumi.Output.from_input(scope).apply(scale_sets.group_of)
    role = owner.make(
        authorization.RoleDefinition,
        name,
        role_definition_id=guid("definition", pulumi.get_stack(), name),
        role_name=f"{description} ({owner.physical(name, 100)})",
        role_type="CustomRole",
        description=description,
        scope=group,
        assignable_scopes=[group],
        permissions=[{"actions": list(actions), "not_actions": [], "data_actions": [], "not_data_actions": []}],
        opts=pulumi.ResourceOptions(**options),
    )
    return owner.make(
        authorization.RoleAssignment,
        name,
        role_assignment_name=guid("role", pulumi.get_stack(), name),
        scope=scope,
        principal_id=principal,
        principal_type="ServicePrincipal",
        role_definition_id=role.id,
        opts=pulumi.ResourceOptions(**options),
    )


def private_endpoint(
    owner: Owned,
    name: str,
    args: Mapping[str, object],
    *,
    target: pulumi.Input[str],
    group: str,
    zones: Mapping[str, pulumi.Input[str]],
) -> network.PrivateEndpoint:
    """A private address of a service in the subnet; `zones` are the private DNS zones, by name, that know it."""
    endpoint = owner.make(
        network.PrivateEndpoint,
        name,
        resource_group_name=args["resource_group"],
        location=args["region"],
        subnet={"id": args["subnet_id"]},
        private_link_service_connections=[{"name": group, "private_link_service_id": target, "group_ids": [group]}],
    )
    if zones:
        owner.make(
            network.PrivateDnsZoneGroup,
            name,
            private_dns_zone_group_name="default",
            private_endpoint_name=endpoint.name,
            resource_group_name=args["resource_group"],
            private_dns_zone_configs=[{"name": key, "private_dns_zone_id": zone} for key, zone in zones.items()],
        )
    return endpoint


def storage_account(
    owner: Owned,
    name: str,
    args: Mapping[str, object],
    *,
    services: Sequence[str],
    encryption: Mapping[str, object],
    **inputs: object,
) -> storage.StorageAccount:
    """A storage account that only identities of the tenant reach, over private endpoints: no key, no public address.

    Several of these are open where they are not given, so every store of ours is made here.
    """
    keys = {service: {"enabled": True, "key_type": "Account"} for service in services}
    return owner.make(
        storage.StorageAccount,
        name,
        kind="StorageV2",
        sku={"name": "Standard_ZRS" if args["environment"] == "prod" else "Standard_LRS"},
        enable_https_traffic_only=True,
        minimum_tls_version="TLS1_2",
        allow_blob_public_access=False,
        allow_shared_key_access=False,
        allow_cross_tenant_replication=False,
        default_to_o_auth_authentication=True,
        is_local_user_enabled=False,
        public_network_access="Disabled",
        network_rule_set={"default_action": "Deny", "bypass": "AzureServices"},
        encryption={**encryption, "require_infrastructure_encryption": True, "services": keys},
        **inputs,
    )


def zones_of(args: Mapping[str, Any], *services: str) -> dict[str, pulumi.Input[str]]:
    """The private DNS zones of `services` among those that the component was given."""
    given: Any = args.get("private_dns_zone_ids")
    if given is None:
        alone = args.get("private_dns_zone_id")
        return {"blob": alone} if alone is not None and "blob" in services else {}
    if isinstance(given, pulumi.Output):
        return {service: given.apply(itemgetter(service)) for service in services}
    return {service: given[service] for service in services if service in given}


def action_group(owner: Owned, name: str, args: Mapping[str, object], emails: Sequence[str]) -> monitor.ActionGroup:
    """Who hears of an alert: the named addresses, the stack's receivers; without any it stands in the portal alone."""
    notify = with_emails(receivers(), emails)
    addresses = [
        {"name": label, "service_uri": pulumi.Output.secret(address), "use_common_alert_schema": True}
        for label, address in hooks(notify).items()
    ]
    return owner.make(
        monitor.ActionGroup,
        name,
        group_short_name="sizewell",
        resource_group_name=args["resource_group"],
        location="global",
        enabled=True,
        email_receivers=[
            {"name": f"mail-{number}", "email_address": email, "use_common_alert_schema": True}
            for number, email in enumerate(notify["emails"])
        ],
        **({"webhook_receivers": addresses} if addresses else {}),
    )


def failed_runs(
    owner: Owned,
    name: str,
    args: Mapping[str, object],
    *,
    workflow: logic.Workflow,
    description: str,
    told: monitor.ActionGroup,
) -> monitor.MetricAlert:
    """Says that a run of a Logic App failed: what should have stopped bills on."""
    failed = {
        "criterionType": "StaticThresholdCriterion",
        "name": "failed",
        "metricNamespace": "Microsoft.Logic/workflows",
        "metricName": "RunsFailed",
        "operator": "GreaterThan",
        "threshold": 0.0,
        "timeAggregation": "Total",
    }
    return owner.make(
        monitor.MetricAlert,
        f"{name}-failed",
        resource_group_name=args["resource_group"],
        location="global",
        description=description,
        enabled=True,
        severity=1,
        scopes=[workflow.id],
        evaluation_frequency="PT1H",
        window_size="PT1H",
        # camelCase: the SDK does not know which of three kinds of criteria this is
        criteria={"odataType": SINGLE_RESOURCE, "allOf": [failed]},
        actions=[{"action_group_id": told.id}],
        auto_mitigate=True,
    )


def failed_scaling(
    owner: Owned,
    name: str,
    args: Mapping[str, Any],
    *,
    scopes: Sequence[pulumi.Input[str]],
    told: monitor.ActionGroup,
) -> monitor.ActivityLogAlert:
    """Says that a change of size failed: autoscale's own notifications tell of those that succeeded alone.

    Events lie under what is scaled, in Azure's samples also under the setting: `scopes` are both
    (learn.microsoft.com/azure/azure-monitor/autoscale/autoscale-overview, "notifications";
    .../alerts/activity-log-alerts, category Autoscale).
    """
    return owner.make(
        monitor.ActivityLogAlert,
        f"{name}-size-failed",
        resource_group_name=args["resource_group"],
        location="global",
        description=f"{name}: a change of size failed; machines are still billed",
        enabled=True,
        scopes=list(scopes),
        condition={
            "all_of": [{"field": "category", "equals": "Autoscale"}, {"field": "status", "equals": "Failed"}],
        },
        actions={"action_groups": [{"action_group_id": told.id}]},
    )


def pulls(owner: Owned, name: str, registries: Sequence[str], principal: pulumi.Input[str]) -> None:
    """AcrPull on each registry, by its id, and nothing else there."""
    for number, registry in enumerate(registries):
        assign(owner, f"{name}-pulls-{number}", scope=registry, principal=principal, role=scale_sets.ACR_PULL)


def checkpoint_access(
    owner: Owned,
    name: str,
    args: Mapping[str, object],
    *,
    writer: WriterArgs,
    principal: pulumi.Input[str],
    told_by: pulumi.Output[str],
) -> None:
    """The writer's role where the checkpoints lie, and a private endpoint to them.

    Both are named, neither asks the other stack; `told_by` is any resource id here, which says the subscription.
    The role is given on the store's resource group, which holds that one account: below the account's lock Azure
    refuses to take a role back (learn.microsoft.com/azure/azure-resource-manager/management/lock-resources), and a
    destroy of the cluster would end there.
    """
    at = told_by.apply(scale_sets.subscription_of)
    account = at.apply(
        lambda value: scale_sets.account_id(
            subscription=value, resource_group=writer["resource_group"], account=writer["account"]
        )
    )
    owner.make(
        authorization.RoleAssignment,
        name,
        role_assignment_name=guid("checkpoints", pulumi.get_stack(), name.removesuffix("-checkpoints")),
        scope=account.apply(scale_sets.group_of),
        principal_id=principal,
        principal_type="ServicePrincipal",
        role_definition_id=at.apply(lambda value: scale_sets.role_id(value, writer["role"])),
    )
    private_endpoint(owner, name, args, target=account, group="blob", zones=zones_of(args, "blob"))
