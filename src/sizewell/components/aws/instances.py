"""EC2 instances of a pool: images, network interfaces, metrics and their alarms, hours as cron lines. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.components.owned import GuardArgs, ScheduleArgs
from sizewell.sizing.billing import standing
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.workload.schedule import end_days, next_day

DEFAULT_ENDPOINTS = standing.MACHINE_ENDPOINTS
METRIC_NAMESPACE = "Sizewell"
is_local_zone = standing.is_local_zone
IMAGES = {
    "cuda": "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id",
    "cuda-arm64": "resolve:ssm:/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id",
    "neuron": "resolve:ssm:/aws/service/neuron/dlami/base/amazon-linux-2023/latest/image_id",
    "": "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
}
METRIC = {"cuda": "nvidia_smi_utilization_gpu", "neuron": "neuroncore_utilization"}
MACHINE = "InstanceId"


def runtime_of(shape: Shape) -> str:
    """cuda, neuron, another that no component brings up, or "" (no accelerator): whose driver the machine wants."""
    return shape.runtime


def image_for(shape: Shape) -> str:
    """The vendor's image with the driver in it: the driver is there exactly once."""
    runtime = runtime_of(shape)
    return IMAGES["cuda-arm64" if shape.architecture == "arm64" else runtime]


def network_interfaces(shape: Shape, *, gang: bool, security_groups: Sequence[object]) -> list[dict[str, object]]:
    """One interface, or for the machines of one job one EFA per network card.

    Card 0 has device index 0 and carries IP and EFA; all other cards have device index 1 and EFA alone. Where card 0
    knows no EFA it carries IP alone, and the others, whose index is then 0, all EFA
    (docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html,
    github.com/aws/aws-parallelcluster/issues/7143).
    """
    fabric = gang and shape.fabric == "efa" and shape.rdma_interfaces > 0
    apart = fabric and shape.network_cards > shape.rdma_interfaces
    cards = shape.network_cards if fabric else 1
    interfaces = []
    for card in range(cards):
        interface: dict[str, object] = {
            "device_index": 0 if card == 0 or apart else 1,
            "network_card_index": card,
            "associate_public_ip_address": "false",
            "delete_on_termination": "true",
            "security_groups": list(security_groups),
        }
        if fabric:
            interface["interface_type"] = ("interface" if apart else "efa") if card == 0 else "efa-only"
        interfaces.append(interface)
    return interfaces


def timer(name: str, command: str, *, every: str) -> list[str]:
    """Shell lines that run a command from now on, again and again: Amazon Linux 2023 has systemd, and no cron.

    >>> timer("look", "/usr/bin/look", every="5min")[-1]
    'systemctl enable --now look.timer'
    """
    service = ["[Service]", "Type=oneshot", f"ExecStart={command}"]
    clock = ["[Timer]", "OnActiveSec=30s", f"OnUnitActiveSec={every}", "AccuracySec=1s"]
    lines = []
    for suffix, content in (("service", service), ("timer", [*clock, "[Install]", "WantedBy=timers.target"])):
        unit = ["[Unit]", f"Description={name}", *content]
        lines += [f"cat > /etc/systemd/system/{name}.{suffix} <<'UNIT'", *unit, "UNIT"]
    return [*lines, "systemctl daemon-reload", f"systemctl enable --now {name}.timer"]


def measured(shape: Shape, *, dimension: str, value: str = "") -> dict[str, Mapping[str, str]]:
    """What a component registers about where the use of its machines is published; nothing where nobody does."""
    runtime = runtime_of(shape)
    if runtime not in METRIC:
        return {}
    stated = {
        "source": "cloudwatch",
        "namespace": METRIC_NAMESPACE,
        "metric": METRIC[runtime],
        "per": "accelerator" if runtime == "cuda" else "machine",
        "dimension": dimension,
        "machine": MACHINE,
        "value": value,
    }
    return {"measured": {key: text for key, text in stated.items() if text}}


def idle_alarm(*, runtime: str, guard: GuardArgs, group: str, seconds: int) -> dict[str, Any]:
    """An alarm that fires after `seconds` under the limit on the busiest accelerator; no data is not idleness."""
    period = 300
    periods = max(1, -(-seconds // period))
    return {
        "namespace": METRIC_NAMESPACE,
        "metric_name": METRIC[runtime],
        "dimensions": {"AutoScalingGroupName": group},
        "statistic": "Maximum",
        "comparison_operator": "LessThanThreshold",
        "threshold": float(guard["min_utilization_percent"]),
        "period": period,
        "evaluation_periods": periods,
        "datapoints_to_alarm": periods,
        "treat_missing_data": "notBreaching",
    }


def schedule_actions(
    schedule: ScheduleArgs, *, nodes_min: int, nodes_initial: int, nodes_max: int, closed: bool = False
) -> dict[str, dict[str, object]]:
    """Two scheduled actions per window: up to the initial size, down to zero; only the current size moves.

    `closed`: outside of the windows the most is zero too, so that an autoscaler brings no machine for pods that wait.
    """
    actions = {}
    for number, window in enumerate(schedule["windows"]):
        for edge, size in (("start", nodes_initial), ("end", 0)):
            clock = window["start"] if edge == "start" else window["end"]
            hour, minute = (0, 0) if clock == "24:00" else (int(clock[:2]), int(clock[3:]))
            days = window["days"] if edge == "start" else end_days(window["days"], window["start"], window["end"])
            days = next_day(days) if clock == "24:00" else days
            actions[f"{edge}-{number}"] = {
                "recurrence": f"{minute} {hour} * * {days.upper()}",
                "time_zone": schedule["time_zone"],
                "min_size": nodes_min,
                "max_size": 0 if closed and edge == "end" else nodes_max,
                "desired_capacity": size,
            }
    return actions
