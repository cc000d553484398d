"""A spot fleet's arguments, what it refuses, and the documents behind its resources. Pure."""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Any, NotRequired

from sizewell.components.aws import instances
from sizewell.components.aws import user_data as first_boot
from sizewell.components.aws.args import SubnetsArgs, WriterArgs
from sizewell.components.aws.checks import (
    OWN_IMAGE,
    check_driver,
    check_image,
    check_place,
    check_script,
    check_sold,
)
from sizewell.components.aws.limits import idle
from sizewell.components.aws.storage.mounts import LustreMountArgs, mount_script
from sizewell.components.bounds import Between
from sizewell.components.faults import Faults, check_guard
from sizewell.components.forms import PlaceArgs
from sizewell.components.lustre import check_mounts
from sizewell.components.machines import undriven_plain
from sizewell.components.owned import GuardArgs
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.money import Priced

EVENTS = ("EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation")
DIMENSION = "Fleet"


class SpotFleetArgs(PlaceArgs, SubnetsArgs):
    """Interruptible machines of several types in several zones; each works for itself and can be replaced."""

    zones: list[str]
    """Where the subnets lie, in the order of subnet_ids; at least two, since spot capacity runs out by zone."""
    instance_types: list[str]
    """EC2 instance types that the catalog knows; at least two, with drivers of one kind."""
    nodes_initial: Annotated[int, Between(0, 1000)]
    """Machines at creation; afterwards the guard changes the number."""
    nodes_max: Annotated[int, Between(1, 1000)]
    """Most machines."""
    max_usd_per_hour: NotRequired[float]
    """Maximum cost of all machines in an hour; above it none is added."""
    disk_gib: Annotated[int, Between(30, 16384, fix="the root disk has to hold the driver and the container image")]
    """Root disk of each machine."""
    image: NotRequired[str]
    """AMI id, or resolve:ssm:PARAMETER; default by the accelerator."""
    start_script: NotRequired[str]
    """Shell commands that run at first boot after the agents; holds no secrets. Above 12,000 bytes they are in a
    Systems Manager document that is read at first boot."""
    mounts: NotRequired[list[LustreMountArgs]]
    """Lustre file systems that are mounted at first boot, before the start script."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload."""
    guard: NotRequired[GuardArgs]
    """Idle guard."""


def check_fleet(name: str, args: SpotFleetArgs, shapes: Sequence[Shape | None]) -> None:
    """`shapes` are the catalog's records of the instance types, None where the catalog does not know one."""
    faults = Faults.of(name, args, SpotFleetArgs)
    check_place(faults, args)
    check_guard(faults, args)
    if faults.holds("nodes_max", "nodes_initial"):
        faults.must(
            args["nodes_initial"] <= args["nodes_max"],
            "nodes_initial",
            f"must be at most nodes_max ({args['nodes_max']}), got {args['nodes_initial']}",
        )
    zones, types = args.get("zones") or [], args.get("instance_types") or []
    faults.must(
        len(zones) >= 2,
        "zones",
        f"must be at least two, got {len(zones)}: spot capacity runs out by zone",
        fix="add a zone, or use a GpuNodeGroup for machines of one job",
    )
    faults.must(
        len(types) >= 2,
        "instance_types",
        f"must be at least two, got {len(types)}: spot capacity runs out by type",
        fix="add a fallback type of the same kind",
    )
    faults.must(len(set(types)) == len(types), "instance_types", f"names a type twice: {', '.join(map(str, types))}")
    check_mounts(faults, args.get("mounts") or [], needs=("dns_name", "mount_name"))
    _check_types(faults, types, shapes)
    if "image" not in args:
        for number, shape in enumerate(shapes):
            if shape is not None:
                check_driver(faults, f"instance_types[{number}]", shape, undriven_plain(shape), fix=OWN_IMAGE)
    for instance_type in types:
        check_sold(faults, args, str(instance_type))
    price = args.get("max_usd_per_hour")
    faults.must(
        price is None or (isinstance(price, int | float) and price > 0),
        "max_usd_per_hour",
        f"must be over 0, got {price!r}",
    )
    check_script(faults, args)
    check_image(faults, args, next((shape for shape in shapes if shape is not None), None))
    faults.done()


def _check_types(faults: Faults, types: Sequence[str], shapes: Sequence[Shape | None]) -> None:
    for number, (instance_type, shape) in enumerate(zip(types, shapes, strict=True)):
        at = f"instance_types[{number}]"
        if shape is None:
            faults.not_in_catalog(at, instance_type)
        else:
            sold = ", ".join(sorted(shape.markets)) or "nothing"
            faults.must("spot" in shape.markets, at, f"{instance_type} is not sold as spot; it is sold as {sold}")
    images = {instances.image_for(shape): shape.instance_type for shape in shapes if shape is not None}
    faults.must(
        len(images) <= 1,
        "instance_types",
        f"{' and '.join(sorted(images.values()))} need different images; all machines of a fleet start from one image",
        fix="make a fleet for each kind of driver",
    )


def overrides(*, instance_types: Sequence[str], subnet_ids: Sequence[object]) -> list[dict[str, object]]:
    """Every type in every zone: the more pools, the rarer all of them run dry at once.

    >>> overrides(instance_types=["g6.xlarge"], subnet_ids=["subnet-1"])
    [{'instance_type': 'g6.xlarge', 'subnet_id': 'subnet-1', 'weighted_capacity': 1.0}]
    """
    return [
        {"instance_type": instance_type, "subnet_id": subnet, "weighted_capacity": 1.0}
        for instance_type, subnet in product(instance_types, subnet_ids)
    ]


def short_of_market(name: str, args: SpotFleetArgs) -> str:
    """That the limit is below what one machine costs on the spot market, as far as prices are known; they move, so that
    nothing is refused. "" where it is not, or no price is known.
    """
    from sizewell.sizing import catalog

    limit, region = args.get("max_usd_per_hour"), args["region"]
    listed = [(each, catalog.load().price("aws", each, region, "spot")) for each in args["instance_types"]]
    known = [(price.amount, each, price.date) for each, price in listed if isinstance(price, Priced)]
    if limit is None or not known or limit >= min(known)[0]:
        return ""
    usd, cheapest, day = min(known)
    return (
        f"SpotFleet {name}: max_usd_per_hour is {limit:g}, and the cheapest of its types, {cheapest}, costs "
        f"{usd:g} USD in {region} (spot, {day}): no machine starts at such a price"
    )


def spot_options(max_usd_per_hour: float | None) -> dict[str, object]:
    """Cheapest pools that are unlikely to be reclaimed; a machine at risk is replaced before it is taken away."""
    options: dict[str, object] = {
        "allocation_strategy": "price-capacity-optimized",
        "instance_interruption_behavior": "terminate",
        "maintenance_strategies": {
            "capacity_rebalance": {"replacement_strategy": "launch-before-terminate", "termination_delay": 120}
        },
    }
    if max_usd_per_hour is not None:
        options["max_total_price"] = f"{max_usd_per_hour:g}"
    return options


def event_pattern() -> str:
    """Interruptions and rebalance recommendations; EC2 does not say of which fleet, the reader asks for the tags."""
    return json.dumps({"source": ["aws.ec2"], "detail-type": list(EVENTS)})


def alarm_pattern(alarm_arn: str) -> str:
    """The alarm has gone off."""
    return json.dumps(
        {
            "source": ["aws.cloudwatch"],
            "detail-type": ["CloudWatch Alarm State Change"],
            "resources": [alarm_arn],
            "detail": {"state": {"value": ["ALARM"]}},
        }
    )


SIGNAL_PATH = "/usr/local/bin/sizewell-checkpoint-signal"
REQUEST_FILE = "/run/sizewell/checkpoint-requested"
JOB_FILE = "/run/sizewell/job.pid"


def signal_script() -> list[str]:
    """Shell lines that ask the job for a checkpoint: a file that it can poll, SIGUSR1 to the process that it named."""
    return [
        "#!/bin/bash",
        "# asks the running job for a checkpoint",
        f"mkdir -p {REQUEST_FILE.rpartition('/')[0]}",
        f'echo "${{1:-requested}}" > {REQUEST_FILE}',
        f'if [ -s {JOB_FILE} ]; then kill -USR1 "$(cat {JOB_FILE})" || true; fi',
    ]


def interruption_poller() -> str:
    """First-boot lines: every five seconds ask the machine's own metadata whether it will be taken away.

    A notice comes two minutes ahead at best, and events may be late or lost, so the machine itself asks (IMDSv2).
    A token that expired is fetched anew; 404 means no notice.
    """
    address = "http://169.254.169.254/latest"
    poller = [
        "#!/bin/bash",
        "while true; do",
        f"  key=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {address}/api/token) || key=",
        "  for notice in spot/instance-action events/recommendations/rebalance; do",
        '    if [ -n "$key" ] && [ ! -e "/run/sizewell/seen-${notice##*/}" ] \\',
        f'      && curl -sf -o /dev/null -H "X-aws-ec2-metadata-token: $key" "{address}/meta-data/$notice"; then',
        '      mkdir -p /run/sizewell && touch "/run/sizewell/seen-${notice##*/}"',
        f'      {SIGNAL_PATH} "${{notice##*/}}"',
        "    fi",
        "  done",
        "  sleep 5",
        "done",
    ]
    unit = [
        "[Unit]",
        "Description=Asks for a checkpoint when the machine is about to be reclaimed",
        "[Service]",
        "ExecStart=/usr/local/bin/sizewell-interruption-poller",
        "Restart=always",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    lines = []
    for path, content in (
        (SIGNAL_PATH, signal_script()),
        ("/usr/local/bin/sizewell-interruption-poller", poller),
        ("/etc/systemd/system/sizewell-interruption-poller.service", unit),
    ):
        lines += [f"cat > {path} <<'SIZEWELL'", *content, "SIZEWELL"]
    lines += [
        f"chmod +x {SIGNAL_PATH} /usr/local/bin/sizewell-interruption-poller",
        "systemctl daemon-reload",
        "systemctl enable --now sizewell-interruption-poller",
    ]
    return "\n".join(lines)


def user_data(
    *, runtime: str, region: str, fleet: str, start_script: str, mounts: Sequence[Mapping[str, str]] = ()
) -> str:
    """First boot, base64: the metrics agent under the fleet's name, file systems, the poller, the caller's commands."""
    script = "\n".join(block for block in (mount_script(mounts), interruption_poller(), start_script) if block).rstrip()
    return first_boot.user_data(runtime=runtime, region=region, group=fleet, start_script=script, dimension=DIMENSION)


def idle_alarm(*, runtime: str, guard: GuardArgs, fleet: str, seconds: int) -> dict[str, Any]:
    """As for a node group, over all machines of the fleet."""
    alarm = instances.idle_alarm(runtime=runtime, guard=guard, group=fleet, seconds=seconds)
    return {**alarm, "dimensions": {DIMENSION: fleet}}


def stop_document(watched: idle.Watched) -> str:
    """An automation that takes a fleet's target to zero; the fleet itself stays, as Pulumi owns its existence."""
    fleet = {"type": "String", "description": "Id of the fleet", "allowedPattern": "^fleet-[0-9a-f-]+$"}
    empty = {
        "name": "ToZero",
        "action": "aws:executeAwsApi",
        "isEnd": True,
        "inputs": {
            "Service": "ec2",
            "Api": "ModifyFleet",
            "FleetId": "{{ Fleet }}",
            "ExcessCapacityTerminationPolicy": "termination",
            "TargetCapacitySpecification": {"TotalTargetCapacity": 0},
        },
    }
    what = "Sets the target capacity of a spot fleet to zero"
    return idle.automation(what, pool="Fleet", parameter=fleet, watched=watched, steps=[empty])


def signal_document() -> str:
    """A command that asks the jobs on the machines for a checkpoint, for whoever is about to stop them."""
    return json.dumps(
        {
            "schemaVersion": "2.2",
            "description": "Asks the running job for a checkpoint",
            "mainSteps": [
                {
                    "action": "aws:runShellScript",
                    "name": "signal",
                    "inputs": {"runCommand": [f"{SIGNAL_PATH} requested"], "timeoutSeconds": "60"},
                }
            ],
        },
        indent=1,
    )
