"""Scale sets on Azure: first-boot script, autoscale profiles, time zones, roles. Pure."""

import base64
import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizewell import csvtables
from sizewell.components.lustre import fstab
from sizewell.components.owned import GuardArgs, ScheduleArgs
from sizewell.components.tags import short_hash
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.workload.schedule import end_days, next_day

CONTAINER = "checkpoints"
METRIC_NAMESPACE, METRIC, REPORTING = "Sizewell", "GpuUtilization", "Reporting"
MACHINE = "machine"  # dimension of both metrics: what a scale set says as a whole hides machines that report nothing
SEEN = 0.95  # of the samples of every machine have to be there, else nobody knows whether it idles
IMAGE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
IMAGE_ROCM = {**IMAGE, "sku": "2204-rocm"}
ACR_PULL = "7f951dda-4ed3-4680-a7ca-43fe172d538d"  # AcrPull
METRICS_PUBLISHER = "3913510d-42f4-4e42-8a64-420c390055eb"  # Monitoring Metrics Publisher
# Private DNS zones of services whose private endpoints the network knows.
PRIVATE_ZONES = {
    "blob": "privatelink.blob.core.windows.net",
    "file": "privatelink.file.core.windows.net",
    "vault": "privatelink.vaultcore.azure.net",
    "registry": "privatelink.azurecr.io",
    "workspace": "privatelink.api.azureml.ms",
    "notebooks": "privatelink.notebooks.azure.net",
    "openai": "privatelink.openai.azure.com",
}
POD_CIDR, SERVICE_CIDR = "10.244.0.0/16", "10.245.0.0/16"  # of AKS clusters: overlay addresses, never in the network


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsZone:
    """A row of windows_zones.csv: a time zone as IANA and as Windows names it, of places where people work."""

    zone: str
    windows: str
    source: str


WINDOWS_ZONES = {
    row.zone: row.windows for row in csvtables.read(WindowsZone, Path(__file__).parents[1] / "data/windows_zones.csv")
}
DAY_MINUTES = 24 * 60
START_MINUTES = 15  # how long the number of machines at the start of a working day holds before the guard may act
_DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}


def subnet_ranges(cidr: str) -> dict[str, str]:
    """The subnets of a network: a quarter for machines, a quarter for AKS, the rest for files and the API server.

    >>> subnet_ranges("10.120.0.0/16")["nodes"], subnet_ranges("10.120.0.0/16")["kubernetes-api"]
    ('10.120.0.0/18', '10.120.144.0/28')
    """
    whole = ipaddress.IPv4Network(cidr)
    machines, kubernetes, rest, _ = whole.subnets(prefixlen_diff=2)
    files, other = list(rest.subnets(prefixlen_diff=2))[:2]
    return {
        "nodes": str(machines),
        "kubernetes": str(kubernetes),
        "files": str(files),
        "kubernetes-api": str(next(iter(other.subnets(new_prefix=28)))),
    }


def image_for(shape: Shape) -> dict[str, str]:
    """Microsoft's HPC image has the driver, OFED and NCCL in it: the driver is there exactly once."""
    return IMAGE_ROCM if shape.runtime == "rocm" else IMAGE


def is_virtual(shape: Shape) -> bool:
    """Whether the machine has its GPU, or a part of one, from a hypervisor: A10 sizes, which want NVIDIA's GRID driver.

    AKS installs that one; the GPU operator's driver finds no device there (github.com/Azure/AgentBaker/pull/7986,
    github.com/Azure/azhpc-extensions, NvidiaGPU/Nvidia-GPU-Linux-Resources.json).

    >>> from sizewell.sizing.catalog import load
    >>> [is_virtual(load().shape("azure", f"Standard_{size}")) for size in ("NV36ads_A10_v5", "NC24ads_A100_v4")]
    [True, False]
    """
    return "virtual-gpu" in shape.traits


def host_prefix(name: str) -> str:
    """What the machines' host names begin with, beside Azure's six characters: nine, and a letter first.

    >>> host_prefix("sizewell-dev-azure-chat")
    'n95ed8640'
    """
    return f"n{short_hash(name)}"


def nobody_key() -> str:
    """A well-formed SSH key whose private half nobody has: its point is a hash of a sentence, not of a secret.

    Azure refuses a machine with neither password nor key; nobody logs in by SSH.
    """
    kind = b"ssh-ed25519"
    point = hashlib.sha256(b"sizewell: nobody holds the private half of this key").digest()
    wire = b"".join(len(part).to_bytes(4, "big") + part for part in (kind, point))
    return f"ssh-ed25519 {base64.b64encode(wire).decode()} nobody"


def day_names(days: str) -> list[str]:
    """Azure's names of days.

    >>> day_names("mon-wed"), day_names("sat,sun"), day_names("sun-mon")
    (['Monday', 'Tuesday', 'Wednesday'], ['Saturday', 'Sunday'], ['Sunday', 'Monday'])
    """
    order = list(_DAYS)
    if "-" not in days:
        return [_DAYS[day.strip().lower()] for day in days.split(",")]
    first, last = (order.index(part.strip().lower()) for part in days.split("-"))
    return [_DAYS[order[(first + step) % 7]] for step in range((last - first) % 7 + 1)]


def autoscale_profiles(
    *,
    nodes_min: int,
    nodes_initial: int,
    nodes_max: int,
    guard: GuardArgs | None,
    schedule: ScheduleArgs | None,
    scale_set_id: object,
) -> list[dict[str, Any]]:
    """Profiles of the autoscale setting: working hours with the idle rule, and nothing outside of them.

    Azure takes a scale set without metrics up to its profile's default, never down to it, and an empty one has none
    (learn.microsoft.com/dotnet/api/azure.resourcemanager.monitor.models.monitorscalecapacity.default). The default is
    therefore the minimum, else a set that the guard emptied would come back at once; what starts the machines of a
    working day is a profile of its own, whose minimum is their number.
    """
    sizes = {"nodes_min": nodes_min, "nodes_max": nodes_max}
    rules = idle_rules(guard, scale_set_id=scale_set_id, **sizes) if guard else []
    low, now, high = str(nodes_min), str(nodes_initial), str(nodes_max)
    working = {"capacity": {"minimum": low, "default": low, "maximum": high}, "rules": rules}
    if schedule is None:
        return [{"name": "always", **working}]
    started = {"capacity": {"minimum": now, "default": now, "maximum": high}, "rules": []}
    nothing = {"capacity": {"minimum": "0", "default": "0", "maximum": "0"}, "rules": []}
    zone = WINDOWS_ZONES[schedule["time_zone"]]
    profiles = []
    for number, window in enumerate(schedule["windows"]):
        start, end = _minute(window["start"]), min(_minute(window["end"]), 23 * 60 + 59)
        begun = start + min(START_MINUTES, max(1, (end - start) % DAY_MINUTES // 2))
        working_days = window["days"] if begun < DAY_MINUTES else next_day(window["days"])
        for edge, minute, days, content in (
            ("start", start, window["days"], started),
            ("hours", begun % DAY_MINUTES, working_days, working),
            ("off", end, end_days(window["days"], window["start"], window["end"]), nothing),
        ):
            recurrence = {
                "frequency": "Week",
                "schedule": {
                    "time_zone": zone,
                    "days": day_names(days),
                    "hours": [minute // 60],
                    "minutes": [minute % 60],
                },
            }
            profiles.append({"name": f"{edge}-{number}", **content, "recurrence": recurrence})
    return profiles


def _minute(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def idle_rules(guard: GuardArgs, *, scale_set_id: object, nodes_min: int, nodes_max: int) -> list[dict[str, object]]:
    """Down to the minimum when the busiest accelerator stays under the limit and every machine was seen.

    Weaker than on AWS, on Google Cloud and in teardown, which want `SEEN` of the samples of each accelerator: an
    autoscale rule compares dimensions with values that are named beforehand and has no "for each"
    (learn.microsoft.com/javascript/api/@azure/arm-monitor/scalerulemetricdimension), so the share is of the set's
    samples. One of n machines may lack n times 5 % of its own, at most half. A threshold of 1 - 0.05/n would be as
    strict, but a large set that loses single samples would never be stopped.
    """
    if guard["action"] != "scale-to-zero":
        return []
    minutes = min(-(-(guard["window_s"] + guard["grace_s"]) // 60), 720)
    trigger = {
        "metric_namespace": METRIC_NAMESPACE,
        "metric_name": METRIC,
        "metric_resource_uri": scale_set_id,
        "operator": "LessThan",
        "statistic": "Max",
        "threshold": float(guard["min_utilization_percent"]),
        "time_aggregation": "Maximum",
        "time_grain": "PT1M",
        "time_window": f"PT{minutes}M",
        "divide_per_instance": False,
    }
    action = {"direction": "Decrease", "type": "ExactCount", "value": str(nodes_min), "cooldown": "PT5M"}
    # Azure scales in where every such rule holds: a machine that reports nothing, or that just came, is no idle one.
    # Divided by the instances, a sum is what each has on average (learn.microsoft.com/azure/azure-monitor/autoscale/
    # autoscale-custom-metric, "Enable metric divide by instance count").
    seen = {
        **trigger,
        "metric_name": REPORTING,
        "operator": "GreaterThanOrEqual",
        "statistic": "Sum",
        # one silent machine of many is a small share too: half of it may be missing
        "threshold": max(SEEN, round(1 - 1 / (2 * nodes_max), 4)),
        "time_aggregation": "Average",
        "divide_per_instance": True,
    }
    return [{"metric_trigger": rule, "scale_action": action} for rule in (trigger, seen)]


def idle_alert(guard: GuardArgs) -> dict[str, object]:
    """When somebody hears that every accelerator idles: as long as the guard's window, in steps that Azure has."""
    steps = {300: "PT5M", 900: "PT15M", 1800: "PT30M", 3600: "PT1H", 21600: "PT6H", 43200: "PT12H", 86400: "P1D"}
    window = next((text for seconds, text in steps.items() if seconds >= guard["window_s"]), "P1D")
    idle = {
        "criterionType": "StaticThresholdCriterion",
        "name": "idle",
        "metricNamespace": METRIC_NAMESPACE,
        "metricName": METRIC,
        "operator": "LessThan",
        "threshold": float(guard["min_utilization_percent"]),
        "timeAggregation": "Maximum",
        "skipMetricValidation": True,  # the first machine publishes it, after the alert is made
    }
    criteria = {"odataType": "Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria", "allOf": [idle]}
    return {"window_size": window, "evaluation_frequency": "PT5M", "criteria": criteria}


def mount_script(mounts: Sequence[Mapping[str, str]]) -> str:
    """Shell commands that mount file systems of Azure Managed Lustre now and at every boot.

    Microsoft's HPC image has the client for its own kernel (github.com/Azure/azhpc-images, install_lustre_client.sh);
    an image without one ends first boot with the reason, before anything runs without its data.
    """
    if not mounts:
        return ""
    reason = (
        "sizewell: this image has no Lustre client for its kernel, so the file system cannot be mounted: name one that "
        "has it in sizewell:images (learn.microsoft.com/azure/azure-managed-lustre/client-install)"
    )
    lines = [
        "if ! command -v mount.lustre >/dev/null; then",
        f"  echo '{reason}' >&2",
        "  exit 1",
        "fi",
    ]
    for mount in mounts:
        lines += fstab(f"{mount['address']}@tcp:/{FILE_SYSTEM}", mount["path"])
    return "\n".join([*lines, "mount -a -t lustre"])


FILE_SYSTEM = "lustrefs"  # the name inside every Azure Managed Lustre


def custom_data(*, start_script: str, rocm: bool, mounts: Sequence[Mapping[str, str]] = ()) -> str:
    """First boot, base64: a timer that publishes the busiest GPU's utilization, file systems, the caller's commands."""
    query = (
        "rocm-smi --showuse --csv | awk -F, 'NR>1&&$2!=\"\"{if($2>m)m=$2}END{print m+0}'"
        if rocm
        else "nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits | sort -n | tail -1"
    )
    group = '"/subscriptions/\\(.subscriptionId)/resourceGroups/\\(.resourceGroupName)'
    set_id = f'{group}/providers/Microsoft.Compute/virtualMachineScaleSets/\\(.vmScaleSetName)"'
    audience = "api-version=2018-02-01&resource=https://monitoring.azure.com/"
    imds = "curl -sf -H Metadata:true --noproxy '*' 'http://169.254.169.254/metadata"
    lines = [
        "#!/bin/bash",
        "set -euo pipefail",
        "cat > /usr/local/bin/sizewell-metrics <<'METRICS'",
        "#!/bin/bash",
        "set -euo pipefail",
        f"value=$({query})",
        f"compute=$({imds}/instance/compute?api-version=2021-02-01')",
        'region=$(jq -r .location <<<"$compute")',
        f"set_id=$(jq -r '{set_id}' <<<\"$compute\")",
        f"token=$({imds}/identity/oauth2/token?{audience}' | jq -r .access_token)",
        f'dim="\\"dimNames\\":[\\"{MACHINE}\\"]" own="\\"dimValues\\":[$(jq .name <<<"$compute")]"',
        f'for pair in "{METRIC} $value" "{REPORTING} 1"; do',
        '  read -r metric number <<<"$pair"',
        '  series="{$own,\\"min\\":$number,\\"max\\":$number,\\"sum\\":$number,\\"count\\":1}"',
        f'  body="{{\\"metric\\":\\"$metric\\",\\"namespace\\":\\"{METRIC_NAMESPACE}\\",$dim,\\"series\\":[$series]}}"',
        '  curl -sf -X POST "https://$region.monitoring.azure.com$set_id/metrics" \\',
        '    -H "Authorization: Bearer $token" -H "Content-Type: application/json" \\',
        '    -d "{\\"time\\":\\"$(date -u +%FT%TZ)\\",\\"data\\":{\\"baseData\\":$body}}"',
        "done",
        "METRICS",
        "chmod +x /usr/local/bin/sizewell-metrics",
        "echo '* * * * * root /usr/local/bin/sizewell-metrics' > /etc/cron.d/sizewell-metrics",
    ]
    for script in (mount_script(mounts), start_script):
        lines += ["", script.rstrip()] if script else []
    return base64.b64encode(("\n".join(lines) + "\n").encode()).decode()


def writer_permissions() -> list[dict[str, object]]:
    """Read, list and write blobs of the container; no delete, no keys
    (learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory).
    """
    blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
    return [
        {
            "actions": [],
            "data_actions": [f"{blobs}/read", f"{blobs}/write"],
            "not_actions": [],
            "not_data_actions": [],
        }
    ]


def account_id(*, subscription: str, resource_group: str, account: str) -> str:
    """The id of a storage account, without asking for it: the store stands in another stack."""
    return (
        f"/subscriptions/{subscription}/resourceGroups/{resource_group}"
        f"/providers/Microsoft.Storage/storageAccounts/{account}"
    )


def subscription_of(resource_id: str) -> str:
    """The subscription in a resource id.

    >>> subscription_of("/subscriptions/0000/resourceGroups/rg")
    '0000'
    """
    parts = resource_id.split("/")
    return parts[2] if len(parts) > 2 and parts[1] == "subscriptions" else resource_id


def group_of(resource_id: str) -> str:
    """The id of the resource group that a resource is in.

    >>> group_of("/subscriptions/0000/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net")
    '/subscriptions/0000/resourceGroups/rg'
    """
    parts = resource_id.split("/")
    return "/".join(parts[:5]) if len(parts) > 4 and parts[3].lower() == "resourcegroups" else resource_id


def role_id(subscription: str, role: str) -> str:
    """The id of a role definition in a subscription.

    >>> role_id("0000", "acdd72a7-3385-48ef-bd42-f606fba81ae7")
    '/subscriptions/0000/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7'
    """
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
