"""Azure Machine Learning: durations, names, autoscale of an endpoint. Pure."""

import re
from typing import Any

from sizewell.components.azure.scale_sets import WINDOWS_ZONES, day_names
from sizewell.components.owned import ScheduleArgs
from sizewell.components.tags import short_hash
from sizewell.sizing.workload.schedule import end_days

BLOB_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"  # Storage Blob Data Contributor
# Azure AI Enterprise Network Connection Approver: a managed network's private endpoints to what the workspace stands on
# (learn.microsoft.com/azure/machine-learning/how-to-managed-network, "Approval of private endpoints")
APPROVER = "b556d68e-0be0-4f35-a333-ad7ee1ce17ea"
DEPLOYMENTS = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments"
ENDPOINTS = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
_DAYS = {
    "Monday": "1",
    "Tuesday": "2",
    "Wednesday": "3",
    "Thursday": "4",
    "Friday": "5",
    "Saturday": "6",
    "Sunday": "0",
}


def duration(seconds: int) -> str:
    """ISO 8601, as Azure ML wants it.

    >>> duration(900), duration(1800), duration(5430)
    ('PT15M', 'PT30M', 'PT5430S')
    """
    return f"PT{seconds // 60}M" if seconds % 60 == 0 else f"PT{seconds}S"


def compute_name(name: str, *, stack: str) -> str:
    """Azure ML takes 2 to 16 letters, digits and hyphens, beginning with a letter and not ending in a hyphen and digits
    (github.com/Azure/bicep-types-az, workspaces/computes of 2025-06-01); instances' are unique in a region.

    >>> compute_name("tune", stack="dev-azure"), compute_name("a-long-workload-name", stack="dev-azure")
    ('tune-069d11', 'a-long-wo-e03b2f')
    >>> compute_name("gpu", stack="dev-azure")
    'gpu-n75272'
    """
    plain = re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"m{plain}"
    tail = short_hash(stack, name, length=6)
    return f"{plain[:9].rstrip('-')}-{f'n{tail[1:]}' if tail.isdigit() else tail}"


def stops(schedule: ScheduleArgs) -> list[dict[str, Any]]:
    """Starts and stops of a compute instance by cron, in the schedule's own time zone."""
    edges = []
    for window in schedule["windows"]:
        for action, clock, on in (
            ("Start", window["start"], window["days"]),
            ("Stop", window["end"], end_days(window["days"], window["start"], window["end"])),
        ):
            days = ",".join(_DAYS[day] for day in day_names(on))
            hour, minute = (23, 59) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            edges.append(
                {
                    "action": action,
                    "status": "Enabled",
                    "trigger_type": "Cron",
                    "cron": {
                        "expression": f"{minute} {hour} * * {days}",
                        "time_zone": WINDOWS_ZONES[schedule["time_zone"]],
                    },
                }
            )
    return edges


def autoscale_profiles(
    *, deployment_id: object, nodes_min: int, nodes_initial: int, nodes_max: int, schedule: ScheduleArgs | None
) -> list[dict[str, Any]]:
    """One machine more above 70 % on the GPUs for five minutes, one less below 30 % for half an hour.

    Outside of working hours the fewest machines stay. The metrics are those of managed deployments
    (learn.microsoft.com/azure/machine-learning/how-to-autoscale-endpoints).
    """
    rules = [
        _rule(deployment_id, operator="GreaterThan", percent=70, minutes=5, direction="Increase"),
        _rule(deployment_id, operator="LessThan", percent=30, minutes=30, direction="Decrease"),
    ]
    low, now, high = str(nodes_min), str(nodes_initial), str(nodes_max)
    working = {"capacity": {"minimum": low, "default": now, "maximum": high}, "rules": rules}
    if schedule is None:
        return [{"name": "always", **working}]
    quiet = {"capacity": {"minimum": low, "default": low, "maximum": low}, "rules": []}
    profiles = []
    for number, window in enumerate(schedule["windows"]):
        for edge, clock, content in (("hours", window["start"], working), ("off", window["end"], quiet)):
            hour, minute = (23, 59) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            days = window["days"] if edge == "hours" else end_days(window["days"], window["start"], window["end"])
            hours = {
                "time_zone": WINDOWS_ZONES[schedule["time_zone"]],
                "days": day_names(days),
                "hours": [hour],
                "minutes": [minute],
            }
            recurrence = {"frequency": "Week", "schedule": hours}
            profiles.append({"name": f"{edge}-{number}", **content, "recurrence": recurrence})
    return profiles


def _rule(deployment_id: object, *, operator: str, percent: int, minutes: int, direction: str) -> dict[str, object]:
    return {
        "metric_trigger": {
            "metric_name": "GpuUtilizationPercentage",
            "metric_namespace": DEPLOYMENTS,
            "metric_resource_uri": deployment_id,
            "operator": operator,
            "statistic": "Average",
            "threshold": float(percent),
            "time_aggregation": "Average",
            "time_grain": "PT1M",
            "time_window": f"PT{minutes}M",
        },
        "scale_action": {"direction": direction, "type": "ChangeCount", "value": "1", "cooldown": f"PT{minutes}M"},
    }


def idle_criteria() -> dict[str, object]:
    """Nobody asked the endpoint anything."""
    asked = {
        "criterionType": "StaticThresholdCriterion",
        "name": "requests",
        "metricNamespace": ENDPOINTS,
        "metricName": "RequestsPerMinute",
        "operator": "LessThan",
        "threshold": 1.0,
        "timeAggregation": "Maximum",
    }
    # camelCase: the SDK does not know which of three kinds of criteria this is, and passes the keys on as they are
    return {"odataType": "Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria", "allOf": [asked]}


def alert_window(seconds: int) -> str:
    """The shortest window of Azure's alerts that holds `seconds`; they look back a day at the most.

    >>> alert_window(2700), alert_window(7200), alert_window(90000)
    ('PT1H', 'PT6H', 'P1D')
    """
    sold = ((900, "PT15M"), (1800, "PT30M"), (3600, "PT1H"), (21600, "PT6H"), (43200, "PT12H"))
    return next((text for bound, text in sold if seconds <= bound), "P1D")
