"""What is asked of Azure before a stack is built there."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError
from sizewell.clouds.preflight import rights, service_quotas, versions
from sizewell.clouds.preflight.findings import Finding, Question, wrong
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.sizing.units import plural

API: Final = {
    "subscription": "2022-12-01",
    "providers": "2021-04-01",
    "features": "2021-07-01",
    "compute": "2024-07-01",
    "skus": "2021-07-01",
    "permissions": "2022-04-01",
    "keys": "2023-07-01",
    "registries": "2023-07-01",
    "action groups": "2023-01-01",
    "alert processing rules": "2021-08-08",
}
RESTRICTED: Final = "ask Azure support for access to the size in this region, or size again elsewhere"
PROVIDERS: Final = rights.services("azure")
ENCRYPTION: Final = ("Microsoft.Compute", "EncryptionAtHost")
INFINIBAND: Final = ("Microsoft.ContainerService", "AKSInfinibandSupport")
_REGISTRY: Final = re.compile(r"(?P<name>[a-z0-9]+)\.azurecr\.io(/.*)?")


def subscription_of(needs: Needs) -> str:
    """The subscription that the stack works in; CloudError (refused) where the configuration names none."""
    if len(needs.accounts) != 1:
        fix = "pulumi config set --path 'sizewell:accounts[0]' SUBSCRIPTION"
        raise CloudError("configuration", "refused", "sizewell:accounts has to name exactly one subscription", fix=fix)
    return needs.accounts[0]


def providers_of(needs: Needs) -> tuple[str, ...]:
    """The resource providers of the stack's resources."""
    modules = {kind.split(":")[1] for kind in needs.types if kind.startswith("azure-native:")}
    insights = {"Microsoft.Insights"} if "monitor" in modules else set()
    return tuple(sorted({PROVIDERS[module] for module in modules if module in PROVIDERS} | insights))


def features_of(needs: Needs) -> tuple[tuple[str, str], ...]:
    """The features of the subscription that the stack's resources switch on: host encryption, InfiniBand under AKS."""
    features = set()
    for resource in needs.resources:
        if any(_encrypts(value) for value in _mappings(resource.inputs)):
            features.add(ENCRYPTION)
        if resource.type == "sizewell-azure:index:AksOperators" and resource.inputs.get("infiniband") is True:
            features.add(INFINIBAND)
    return tuple(sorted(features))


def _encrypts(value: Mapping[str, object]) -> bool:
    return value.get("enableEncryptionAtHost") is True or value.get("encryptionAtHost") is True


def _mappings(value: Any) -> Iterator[Mapping[str, object]]:
    if hasattr(value, "values"):
        yield value
        for each in value.values():
            yield from _mappings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _mappings(each)


def questions(needs: Needs, azure: Azure) -> dict[str, Question]:
    """What is asked, by name, after `account` has said that the subscription is there."""
    at = f"subscriptions/{subscription_of(needs)}"
    asked: dict[str, Question] = {
        "providers": lambda: _providers(needs, azure, at),
        "rights": lambda: _rights(needs, azure, at),
    }
    for namespace, name in features_of(needs):
        asked[f"feature {name}"] = lambda n=namespace, f=name: _feature(azure, at, n, f)  # type: ignore[misc]
    for region in needs.regions:
        local = [machines for machines in needs.machines if machines.region == region]
        asked[f"sizes and quotas of {region}"] = lambda r=region, h=local: _sizes(azure, at, r, h)  # type: ignore[misc]
    for machines in needs.machines:
        if machines.reservation:
            name = f"reservation {machines.reservation.rpartition('/')[2]}"
            asked[name] = lambda m=machines: reservation(azure, m)  # type: ignore[misc]
    for image in dict.fromkeys(str(image) for image in (needs.config.get("sizewell:images") or {}).values()):
        asked[f"image {image.rpartition('/')[2]}"] = lambda i=image: _image(azure, i)  # type: ignore[misc]
    if needs.of(versions.AKS):
        asked["kubernetes"] = lambda: versions.of_aks(needs, azure, at)
    if named := registries_of(needs):
        asked["registries"] = lambda: _registries(azure, at, named)
    if needs.of("azure-native:monitor:ActionGroup"):
        asked["receivers"] = lambda: _receivers(needs, azure, at)
    return asked


def account(needs: Needs, azure: Azure) -> Iterator[Finding]:
    """Whether the subscription is there and enabled; CloudError without a login."""
    subscription = subscription_of(needs)
    try:
        answer = azure.reader().get(f"subscriptions/{subscription}", **{"api-version": API["subscription"]})
    except CloudError as error:
        if error.reason not in ("missing", "denied"):
            raise
        detail = f"subscription {subscription} does not exist, or you may not see it"
        yield wrong("account", detail, "correct sizewell:accounts, or: az login --tenant TENANT")
        return
    if answer.get("state") != "Enabled":
        yield wrong(
            "account", f"{answer.get('displayName')} is {answer.get('state')}", "see the subscription's billing"
        )
    else:
        yield Finding("account", "ok", f"{answer.get('displayName')} ({subscription})")


def _providers(needs: Needs, azure: Azure, at: str) -> Iterator[Finding]:
    rows = azure.reader().pages(f"{at}/providers", items="value", **{"api-version": API["providers"]})
    registered = {row["namespace"].lower() for row in rows if row.get("registrationState") == "Registered"}
    wanted = providers_of(needs)
    if missing := [name for name in wanted if name.lower() not in registered]:
        fix = " && ".join(f"az provider register --namespace {name}" for name in missing)
        yield wrong("providers", f"{len(missing)} of {len(wanted)} are not registered: {', '.join(missing)}", fix)
    else:
        yield Finding("providers", "ok", f"{len(wanted)} are registered")


def _feature(azure: Azure, at: str, namespace: str, name: str) -> Iterator[Finding]:
    path = f"{at}/providers/Microsoft.Features/providers/{namespace}/features/{name}"
    state = azure.reader().get(path, **{"api-version": API["features"]}).get("properties", {}).get("state")
    if state == "Registered":
        yield Finding(f"feature {name}", "ok", "registered")
    else:
        command = f"az feature register --namespace {namespace} --name {name}"
        fix = f"{command} && az provider register --namespace {namespace} (once it says Registered)"
        yield wrong(f"feature {name}", f"{namespace}/{name} is {state}", fix)


def sizes_of(azure: Azure, at: str, region: str) -> dict[str, dict[str, Any]]:
    """The sizes that a region sells to the subscription, by name."""
    rows = azure.reader().pages(
        f"{at}/providers/Microsoft.Compute/skus",
        items="value",
        **{"api-version": API["skus"], "$filter": f"location eq '{region}'"},
    )
    return {row["name"]: row for row in rows if row.get("resourceType") == "virtualMachines"}


def usage_of(azure: Azure, at: str, region: str) -> dict[str, dict[str, Any]]:
    """What is used of the region's quotas, by their names in lower case."""
    path = f"{at}/providers/Microsoft.Compute/locations/{region}/usages"
    rows = azure.reader().pages(path, items="value", **{"api-version": API["compute"]})
    return {row["name"]["value"].lower(): row for row in rows}


def quotas(
    region: str, local: Iterable[Machines], sizes: Mapping[str, Mapping[str, Any]], usage: Mapping[str, Any]
) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """What is said of each quota of plain machines, and the pools that take of it."""
    wanted: dict[str, float] = {}
    pools: dict[str, tuple[str, ...]] = {}
    for machines in local:
        size = sizes.get(machines.instance_type)
        if size is None or machines.reservation or machines.managed == "azureml":
            continue
        for family in ("lowPriorityCores",) if machines.market == "spot" else (str(size.get("family")), "cores"):
            wanted[family] = wanted.get(family, 0) + _cores(size, machines)
            pools[family] = (*pools.get(family, ()), machines.pool)
    for family, cores in wanted.items():
        yield _quota(region, family, cores, usage.get(family.lower())), pools[family]


def _cores(size: Mapping[str, Any], machines: Machines) -> float:
    return float(_capability(size, "vCPUs") or machines.vcpus or 0) * machines.count


def _sizes(azure: Azure, at: str, region: str, local: list[Machines]) -> Iterator[Finding]:
    sizes = sizes_of(azure, at, region)
    managed: dict[tuple[str, bool], float] = {}
    for machines in local:
        size = sizes.get(machines.instance_type)
        if size is None:
            fix = "size again with another region in infra"
            yield wrong(f"size {machines.instance_type}", f"({machines.pool}) is not sold in {region}", fix)
            continue
        yield from _size(region, machines, size)
        if not machines.reservation and machines.managed == "azureml":
            key = (str(size.get("family")), machines.market == "spot")
            managed[key] = managed.get(key, 0) + _cores(size, machines)
    yield from (row for row, _ in quotas(region, local, sizes, usage_of(azure, at, region)))
    if managed:
        yield from service_quotas.of_azure_ml(azure, at, region, managed)


def _size(region: str, machines: Machines, size: Mapping[str, Any]) -> Iterator[Finding]:
    about = f"size {machines.instance_type}"
    zones, closed = open_zones(size)
    if "" in closed:
        yield wrong(about, f"({machines.pool}) is restricted in {region}: {closed['']}", RESTRICTED)
        return
    missing = [zone for zone in machines.zones if zone not in zones]
    if missing:
        there = ", ".join(sorted(zones)) or "none"
        fix = f"pulumi config set --path 'sizewell:zones[0]' with one of {there}"
        yield wrong(about, f"({machines.pool}) is not sold in zone {', '.join(missing)} of {region}", fix)
        return
    yield Finding(about, "ok", f"({machines.pool}) is sold in {region}")


def open_zones(size: Mapping[str, Any]) -> tuple[set[str], dict[str, str]]:
    """The zones in which the subscription may have a size; those that are restricted, "" for the region, with why."""
    places = size.get("locationInfo") or [{}]
    closed: dict[str, str] = {}
    for restriction in size.get("restrictions") or ():
        whole = restriction.get("type") == "Location"
        named = [""] if whole else (restriction.get("restrictionInfo") or {}).get("zones") or ()
        closed |= dict.fromkeys(named, str(restriction.get("reasonCode")))
    return set(places[0].get("zones") or ()) - closed.keys(), closed


def _capability(size: Mapping[str, Any], name: str) -> str | None:
    return next((row["value"] for row in size.get("capabilities") or () if row["name"] == name), None)


def _quota(region: str, family: str, cores: float, row: Mapping[str, Any] | None) -> Finding:
    about = f"quota {family} in {region}"
    if row is None:
        return Finding(about, "note", "is not in the region's usages")
    sentence = f"{row['limit']:,} vCPU, {row['currentValue']:,} in use; the stack may grow to {cores:,.0f}"
    if cores > row["limit"] - row["currentValue"]:
        needed = row["currentValue"] + cores
        return wrong(about, sentence, f"raise it to {needed:,.0f} in the portal: Quotas, Compute, {region}")
    return Finding(about, "ok", sentence)


def reservation(azure: Azure, machines: Machines) -> Iterator[Finding]:
    """Whether the group of reservations that a pool names is there, for its machines, where these are."""
    group, rows = reservations_in(azure, machines.reservation)
    yield from reserved(machines, group, rows)


def reservations_in(azure: Azure, name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A group of reservations and its members; {} where there is none."""
    version, path = {"api-version": API["compute"]}, name.strip("/")
    try:
        group = azure.reader().get(path, **version)
        rows = list(azure.reader().pages(f"{path}/capacityReservations", items="value", **version))
    except CloudError as error:
        if error.reason != "missing":
            raise
        return {}, []
    if not isinstance(group.get("location"), str):
        raise CloudError("azure", "unanswered", f"its answer is not the capacity reservation group {path}")
    return group, rows


def reserved(machines: Machines, group: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[Finding]:
    """Whether a group of reservations is for a pool's machines, in each of its zones."""
    about = f"reservation {machines.reservation.rpartition('/')[2]}"
    fix = "name another capacity reservation group in the spec, and size again"
    if not group:
        yield wrong(about, f"({machines.pool}) does not exist", fix)
        return
    faults = []
    region = str(group["location"]).replace(" ", "").lower()
    if region != machines.region:
        faults.append(wrong(about, f"is in {region}, the pool in {machines.region}", fix))
    fitting = [row for row in rows if row["sku"]["name"] == machines.instance_type]
    if not fitting:
        kinds = ", ".join(sorted({row["sku"]["name"] for row in rows})) or "nothing"
        faults.append(wrong(about, f"has {kinds}, the pool needs {machines.instance_type}", fix))
    else:
        zones = {zone for row in fitting for zone in row.get("zones") or ()}
        if zones and machines.zones and not zones & set(machines.zones):
            there = ", ".join(sorted(zones))
            faults.append(wrong(about, f"is in zone {there}, the pool in {', '.join(machines.zones)}", fix))
        elif zones and machines.zones:  # a reservation of another zone holds none of the pool's machines
            fitting = [row for row in fitting if set(row.get("zones") or ()) & set(machines.zones)]
        total = sum(int(row["sku"]["capacity"]) for row in fitting)
        if total < machines.count:
            faults.append(wrong(about, f"has {total} machines, the pool may grow to {machines.count}", fix))
        if failed := [row["name"] for row in fitting if row["properties"].get("provisioningState") != "Succeeded"]:
            faults.append(wrong(about, f"is not provisioned: {', '.join(failed)}", fix))
    yield from faults or [Finding(about, "ok", f"{machines.instance_type}, enough for {machines.count}")]


def _image(azure: Azure, image: str) -> Iterator[Finding]:
    about = f"image {image.rpartition('/')[2]}"
    if not image.startswith("/subscriptions/"):
        yield Finding(about, "note", f"{image}: a community or marketplace image, which is not checked")
        return
    try:
        answer = azure.reader().get(image, **{"api-version": API["compute"]})
    except CloudError as error:
        if error.reason != "missing":
            raise
        yield wrong(about, f"{image} does not exist", "correct sizewell:images")
        return
    yield Finding(about, "ok", f"{answer.get('name')} is there")


def registries_of(needs: Needs) -> tuple[str, ...]:
    """The registries of Azure that what runs is pulled from."""
    runs = needs.config.get("sizewell:run") or {}
    named = [str(needs.config.get(key) or "") for key in ("sizewell:registry", "sizewell:amdDriverImage")]
    named += [str(run.get("image", "")) for run in runs.values() if isinstance(run, dict)]
    return tuple(sorted({match["name"] for text in named if (match := _REGISTRY.fullmatch(text))}))


def _registries(azure: Azure, at: str, named: tuple[str, ...]) -> Iterator[Finding]:
    rows = azure.reader().pages(
        f"{at}/providers/Microsoft.ContainerRegistry/registries", items="value", **{"api-version": API["registries"]}
    )
    there = {row["name"].lower() for row in rows}
    for name in named:
        if name in there:
            yield Finding("registries", "ok", f"{name}.azurecr.io exists")
        else:
            fix = f"az acr create --name {name} --sku Premium --resource-group GROUP, or name another"
            yield wrong(
                "registries", f"{name}.azurecr.io is not in this subscription: nothing can be pulled from it", fix
            )


def _rights(needs: Needs, azure: Azure, at: str) -> Iterator[Finding]:
    wanted, unjudged = rights.needed(kind for kind in needs.types if kind.startswith("azure-native:"))
    rows = list(
        azure.reader().pages(
            f"{at}/providers/Microsoft.Authorization/permissions",
            items="value",
            **{"api-version": API["permissions"]},
        )
    )
    denied = [action for action in wanted if not any(_allows(row, action) for row in rows)]
    counted = f"{plural(len(wanted), 'action')} compared, {plural(unjudged, 'resource type')} not checked"
    if denied:
        fix = f"an administrator has to assign a role at /{at} with: {', '.join(denied)}"
        yield wrong("rights", f"{len(denied)} of {counted}: missing {', '.join(denied)}", fix)
    else:
        yield Finding("rights", "ok", f"{counted}; deny assignments apply only during the update")


def _allows(row: Mapping[str, object], action: str) -> bool:
    def matches(patterns: Any) -> bool:
        return any(fnmatch.fnmatchcase(action.lower(), str(pattern).lower()) for pattern in patterns or ())

    return matches(row.get("actions")) and not matches(row.get("notActions"))


def _receivers(needs: Needs, azure: Azure, at: str) -> Iterator[Finding]:
    groups = needs.of("azure-native:monitor:ActionGroup")
    silent = [
        group.name
        for group in groups
        if not any(value for key, value in group.inputs.items() if key.endswith("Receivers"))
    ]
    if silent:
        yield wrong("receivers", f"have no receiver: {', '.join(silent)}", "set sizewell:notify")
        return
    rows = azure.reader().pages(
        f"{at}/providers/Microsoft.Insights/actionGroups", items="value", **{"api-version": API["action groups"]}
    )
    declared = {str(group.inputs.get("actionGroupName")).lower(): group.inputs for group in groups}
    own = [row for row in rows if row["name"].lower() in declared]
    # Whoever unsubscribes by the link in a message is Disabled from then on.
    left = [
        f"{receiver['emailAddress']} ({row['name']})"
        for row in own
        for receiver in row["properties"].get("emailReceivers") or ()
        if receiver.get("status") == "Disabled"
    ]
    gone = [
        f"{name} ({row['name']})"
        for row in own
        for name in sorted(_receiving(declared[row["name"].lower()]) - _receiving(row["properties"]))
    ]
    again = f"pulumi refresh -s {needs.stack}, then pulumi up"
    faults = [
        (
            left,
            "unsubscribed themselves",
            "Enable-AzActionGroupReceiver -ActionGroupName GROUP -ResourceGroupName GROUP -ReceiverName NAME",
        ),
        ([row["name"] for row in own if row["properties"].get("enabled") is False], "switched off", again),
        (gone, "no longer among the receivers", again),
        (
            _suppressing(needs, azure, at),
            "alert processing rules suppress every action group",
            "az monitor alert-processing-rule update --enabled False --name RULE --resource-group GROUP",
        ),
    ]
    for who, what, fix in faults:
        if who:
            yield wrong("receivers", f"{what}: {', '.join(sorted(who))}", fix)
    if not any(who for who, _, _ in faults):
        yield Finding("receivers", "ok", f"{len(groups)} action groups, each with a receiver")


def _receiving(group: Mapping[str, Any]) -> set[str]:
    """The names of a group's receivers, of e-mail and of webhooks."""
    kinds = ("emailReceivers", "webhookReceivers")
    return {receiver["name"] for kind in kinds for receiver in group.get(kind) or () if "name" in receiver}


def _suppressing(needs: Needs, azure: Azure, at: str) -> list[str]:
    """Rules that remove action groups from alerts of the subscription or of one of the stack's groups.

    A rule has scopes and an action RemoveAllActionGroups (learn.microsoft.com/rest/api/alerts-management/
    processing-rules); conditions and schedules, which narrow it down, are not read.
    """
    rows = azure.reader().pages(
        f"{at}/providers/Microsoft.AlertsManagement/actionRules",
        items="value",
        **{"api-version": API["alert processing rules"]},
    )
    groups = {
        str(group.inputs.get("resourceGroupName")).lower() for group in needs.of("azure-native:resources:ResourceGroup")
    }

    def reaches(scope: str) -> bool:
        parts = scope.strip("/").lower().split("/")
        return len(parts) == 2 or (len(parts) > 3 and parts[3] in groups)

    return [
        row["name"]
        for row in rows
        if row["properties"].get("enabled", True)
        and any(action.get("actionType") == "RemoveAllActionGroups" for action in row["properties"]["actions"])
        and any(reaches(scope) for scope in row["properties"]["scopes"])
    ]
