"""What the EKS components refuse, each with its sentence; all faults of one component are raised together."""

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from sizewell.components.access import PATH as ACCESS
from sizewell.components.access import read_access
from sizewell.components.aws.checks import check_driver, check_place, check_region, check_type, pool_types
from sizewell.components.aws.eks.args import (
    EksAutoscalerArgs,
    EksClusterArgs,
    EksDevicePluginsArgs,
    EksNodeGroupArgs,
    ImageMirrorArgs,
    LustreVolumeArgs,
    service_of,
)
from sizewell.components.aws.eks.charts import addons
from sizewell.components.aws.eks.scaling import PRIORITIES
from sizewell.components.aws.instances import runtime_of
from sizewell.components.faults import Faults, check_guardable, check_label, check_labels, check_machines
from sizewell.components.kubernetes_versions import check_version
from sizewell.components.machines import check_system_machine, undriven_by
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.providers.aws import WITHOUT_CONTROL_PLANE

# Families without accelerators and what stands after their generation
# (docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html).
_SYSTEM = (
    r"(a|c|d|h|hpc|i|im|is|m|r|t|u|x|z)\d+(iz|[aigq]?(b|d|e|n|p|s|tb|zn)*)(-flex|-[a-z0-9]+)?"
    r"\.(nano|micro|small|medium|\d*x?large|metal(-\d+xl)?)"
)
_IMAGE = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9._-]+)+:[\w][\w.-]{0,127}")
CNI_LEAST = (1, 18, 4)
_ADMIN = re.compile(r"arn:aws[\w-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+")


def check_eks_cluster(name: str, args: EksClusterArgs) -> None:
    faults = Faults.of(name, args, EksClusterArgs)
    check_place(faults, args)
    zones = args.get("zones") or []
    faults.must(len(zones) >= 2, "zones", f"must be at least two, got {len(zones)}: the control plane spans zones")
    check_version(faults, args, service_of(args), builds=True)
    for number, zone in enumerate(zones):
        faults.must(
            zone not in WITHOUT_CONTROL_PLANE,
            f"zones[{number}]",
            f"takes no control plane of EKS: {zone}; its subnets are for nodes alone",
            fix="name other zones of the region for the cluster",
        )
    if "system_type" in args:
        fix = "use an EksNodeGroup for accelerators"
        check_system_machine(faults, "system_type", "aws", args["system_type"], spelled=_SYSTEM, fix=fix)
    for key, mode, ranges in (
        ("public_cidrs", "public", args.get("public_cidrs")),
        ("api_cidrs", "private", args.get("api_cidrs")),
    ):
        if ranges is not None:
            read = read_access({mode: ranges})
            for fault in read if isinstance(read, list) else ():
                faults.found.append(replace(fault, path=fault.path.replace(f"{ACCESS}.{mode}", key)))
    for number, arn in enumerate(args.get("admin_arns") or []):
        faults.must(
            bool(_ADMIN.fullmatch(str(arn))),
            f"admin_arns[{number}]",
            f"must be an IAM role or user ARN (never root), got {arn!r}",
        )
    _check_addons(faults, args.get("addon_versions") or {})
    faults.done()


def _check_addons(faults: Faults, versions: Mapping[str, object]) -> None:
    known = addons(versions={}, lustre=True, disks=True)
    for addon, version in versions.items():
        if addon not in known:
            near = get_close_matches(addon.replace("_", "-"), known, n=1)
            fix = f"did you mean {near[0]}?" if near else ""
            faults.add(f"addon_versions.{addon}", f"is none of {', '.join(sorted(known))}", fix=fix)
            continue
        parts = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)-eksbuild\.\d+", str(version))
        at = f"addon_versions.{addon}"
        if parts is None:
            faults.add(at, f"must be an add-on version such as v1.21.1-eksbuild.8, got {version!r}")
        elif addon == "vpc-cni":
            faults.must(
                tuple(int(part) for part in parts.groups()) >= CNI_LEAST,
                at,
                f"must be 1.18.4 or later, got {version}: older ones cannot use EFA-only interfaces",
            )


def check_eks_pool(name: str, args: EksNodeGroupArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the instance type, None where the catalog does not know it."""
    faults = Faults.of(name, args, EksNodeGroupArgs)
    check_label(faults, name)
    check_place(faults, args)
    counted = check_machines(
        faults,
        args,
        disk_gib=(30, 16384),
        disk="the root disk has to hold the driver and the container images",
        highest=450,
    )
    if shape is None:
        faults.not_in_catalog("instance_type", args.get("instance_type"))
    else:
        check_guardable(faults, args, accelerated=bool(runtime_of(shape)))
        check_type(faults, args, shape, counted=counted)
        for at, each in pool_types(args, shape).items():
            fix = "take a GpuNodeGroup: plain machines, whose image may have that driver"
            check_driver(faults, at, each, undriven_by("eks", each), fix=fix)
    if args.get("capacity_mode") == "capacity-block":
        faults.must(
            bool((args.get("capacity_block") or {}).get("id")),
            "capacity_block.id",
            "is missing: a node group adopts a block and does not buy one",
            fix="buy the block first (GpuNodeGroup with purchase: confirmed, or the console) and name its cr-... id",
        )
    check_labels(faults, args, "namespace", "service_account")
    faults.done()


def check_plugins(name: str, args: EksDevicePluginsArgs) -> None:
    faults = Faults.of(name, args, EksDevicePluginsArgs)
    if "region" in args:
        check_region(faults, args)
    runtimes = args.get("runtimes") or []
    faults.must(bool(runtimes), "runtimes", "is empty; name cuda, neuron or both")
    for number, runtime in enumerate(runtimes):
        faults.must(runtime in ("cuda", "neuron"), f"runtimes[{number}]", f"must be cuda or neuron, got {runtime!r}")
    faults.done()


def check_autoscaler(name: str, args: EksAutoscalerArgs) -> None:
    faults = Faults.of(name, args, EksAutoscalerArgs)
    check_region(faults, args)
    faults.must(bool(args.get("cluster")), "cluster", "is empty; name the cluster")
    check_version(faults, args, "eks")
    for pool, mode in (args.get("pools") or {}).items():
        faults.must(
            mode in PRIORITIES,
            f"pools.{pool}",
            f"must be reservation, spot or on-demand, got {mode!r}",
            fix="leave out capacity blocks: they start and end by their dates" if mode == "capacity-block" else "",
        )
    faults.done()


def check_mirror(name: str, args: ImageMirrorArgs) -> None:
    faults = Faults.of(name, args, ImageMirrorArgs)
    check_region(faults, args)
    images = [str(image) for image in args.get("images") or []]
    faults.must(bool(images), "images", "is empty; name at least one public image")
    for number, image in enumerate(images):
        faults.must(
            bool(_IMAGE.fullmatch(image)) and not image.endswith(":latest"),
            f"images[{number}]",
            f"must be REGISTRY/PATH:TAG with a tag other than latest, got {image!r}",
        )
    paths = [image.partition("/")[2].rpartition(":")[0] for image in images]
    twice = sorted({path for path in paths if path and paths.count(path) > 1})
    faults.must(not twice, "images", f"name a repository twice: {', '.join(twice)}")
    faults.done()


def check_volume(name: str, args: LustreVolumeArgs) -> None:
    faults = Faults.of(name, args, LustreVolumeArgs)
    faults.whole_number(args, "capacity_gib", 1200, 2**20, fix="the size of the file system, in GiB")
    check_labels(faults, args, "namespace", "claim")
    faults.done()
