"""File systems on machines at first boot, and the end of a capacity block. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import pulumi

from components.faults import Faults

DRAIN = timedelta(minutes=40)  # EC2 takes machines of a block 30 minutes before its end; ten more to drain


class LustreMountArgs(TypedDict):
    """A Lustre file system that the machines mount at first boot."""

    dns_name: pulumi.Input[str]
    """Its DNS name."""
    mount_name: pulumi.Input[str]
    """Its name in the mount command."""
    path: str
    """Where it appears on the machine, as /data."""


def check_mounts(faults: Faults, args: Mapping[str, Any]) -> None:
    """Every mount has a place of its own below the root, and the VPC's range that its ports are opened to."""
    paths = [str(mount.get("path", "")) for mount in args.get("mounts") or []]
    for number, path in enumerate(paths):
        faults.must(
            bool(re.fullmatch(r"(/[\w-]+)+", path)) and path.split("/")[1] not in ("etc", "usr", "var", "opt", "dev"),
            f"mounts[{number}].path",
            f"must be a folder of its own such as /data, got {path!r}",
        )
    faults.must(len(set(paths)) == len(paths), "mounts", f"name a path twice: {', '.join(paths)}")
    for number, mount in enumerate(args.get("mounts") or []):
        for key in ("dns_name", "mount_name"):
            faults.must(bool(key in mount), f"mounts[{number}].{key}", "is missing", fix="an output of SharedStorage")


def mount_script(mounts: Sequence[Mapping[str, str]]) -> str:
    """Shell commands that mount file systems now and at every boot; the client comes from the image's own packages.

    Packages of Amazon Linux lie in S3, so the gateway endpoint is the way to them.
    """
    if not mounts:
        return ""
    lines = ["command -v mount.lustre >/dev/null || dnf install -y lustre-client"]
    options = "defaults,noatime,flock,_netdev,x-systemd.automount,x-systemd.requires=network-online.target"
    for mount in mounts:
        lines += [
            f"mkdir -p {mount['path']}",
            f"echo '{mount['dns_name']}@tcp:/{mount['mount_name']} {mount['path']} lustre {options} 0 0' >> /etc/fstab",
        ]
    return "\n".join([*lines, "mount -a -t lustre"])


def check_block_end(faults: Faults, block: Mapping[str, Any]) -> None:
    end = block.get("ends")
    if end is None:
        return
    try:
        drain_at(str(end))
    except ValueError:
        faults.add("capacity_block.ends", f"must be an ISO time with its zone (2026-12-31T11:30:00Z), got {end!r}")


def drain_at(end: str) -> str:
    """When a block's machines are taken down in good order: 40 minutes before its end.

    >>> drain_at("2026-12-31T11:30:00Z")
    '2026-12-31T10:50:00Z'
    """
    moment = datetime.fromisoformat(end)
    if moment.tzinfo is None:
        raise ValueError(f"{end} has no time zone")
    return (moment - DRAIN).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
