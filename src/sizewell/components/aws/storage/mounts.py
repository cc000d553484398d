"""File systems on machines at first boot, and the window of a capacity block. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TypedDict

import pulumi

from sizewell.components.faults import Faults
from sizewell.components.lustre import fstab
from sizewell.sizing.catalog.lifetimes import load

DRAIN = timedelta(minutes=40)  # EC2 takes machines of a block 30 minutes before its end; ten more to drain


class LustreMountArgs(TypedDict):
    """A Lustre file system that the machines mount at first boot."""

    dns_name: pulumi.Input[str]
    """Its DNS name."""
    mount_name: pulumi.Input[str]
    """Its name in the mount command."""
    path: str
    """Where it appears on the machine, as /data."""


def mount_script(mounts: Sequence[Mapping[str, str]]) -> str:
    """Shell commands that mount file systems now and at every boot; the client comes from the image's own packages.

    Packages of Amazon Linux lie in S3, so the gateway endpoint is the way to them.
    """
    if not mounts:
        return ""
    lines = ["command -v mount.lustre >/dev/null || dnf install -y lustre-client"]
    for mount in mounts:
        lines += fstab(f"{mount['dns_name']}@tcp:/{mount['mount_name']}", mount["path"])
    return "\n".join([*lines, "mount -a -t lustre"])


def check_block_window(faults: Faults, block: Mapping[str, object]) -> None:
    """`starts` and `ends` of an adopted block are times with a zone, and leave room to work in before the drain."""
    moments: dict[str, datetime] = {}
    for key in ("starts", "ends"):
        if key not in block:
            continue
        try:
            moments[key] = _moment(str(block[key]))
        except ValueError:
            at = f"capacity_block.{key}"
            faults.add(at, f"must be an ISO time with its zone (2026-12-31T11:30:00Z), got {block[key]!r}")
    start = str(block.get("start", ""))
    if start and not block.get("id"):
        try:
            begun = load().passed(_moment(start).date())
        except ValueError:
            begun = False  # which is said where the purchase is checked
        faults.must(
            not begun,
            "capacity_block.start",
            f"has passed: {start}; no block that has begun is sold",
            fix="state a start that lies ahead (sized again, the stack's decision has one)",
        )
    if "ends" in moments:
        faults.must(
            not load().passed(moments["ends"].date()),
            "capacity_block.ends",
            f"has passed: {block['ends']}; nothing starts in a block that is over",
            fix="name a block that lies ahead (sized again, the stack's decision has one), or take the pool out",
        )
    if len(moments) == 2:
        faults.must(
            moments["starts"] < moments["ends"] - DRAIN,
            "capacity_block.ends",
            f"must be over 40 minutes after starts ({block['starts']}), got {block['ends']!r}: "
            "its machines are drained 40 minutes before it",
        )


def begin_at(start: str) -> str:
    """When a block's machines are asked for: at its start, before it none could start.

    >>> begin_at("2026-12-28T12:30:00+01:00")
    '2026-12-28T11:30:00Z'
    """
    return _shown(_moment(start))


def drain_at(end: str) -> str:
    """When a block's machines are taken down in good order: 40 minutes before its end.

    >>> drain_at("2026-12-31T11:30:00Z")
    '2026-12-31T10:50:00Z'
    """
    return _shown(_moment(end) - DRAIN)


def block_window(*, start: str | None, duration_hours: int, decided_on: date) -> dict[str, str]:
    """Start and end of a block that is bought already, as far as they are known; `starts` only where it lies ahead.

    Of a date the hour is 11:30 UTC, when blocks begin and end (docs.aws.amazon.com/AWSEC2/latest/UserGuide/
    capacity-blocks-how.html, from memory). A block that had begun when it was decided on gives its machines at once.

    >>> block_window(start="2026-12-28", duration_hours=72, decided_on=date(2026, 12, 1))
    {'ends': '2026-12-31T11:30:00Z', 'starts': '2026-12-28T11:30:00Z'}
    >>> block_window(start="2026-12-01", duration_hours=72, decided_on=date(2026, 12, 1))
    {'ends': '2026-12-04T11:30:00Z'}
    """
    if start is None:
        return {}
    begin = datetime.fromisoformat(start if len(start) > len("2026-12-28") else f"{start}T11:30:00")
    begin = begin.replace(tzinfo=UTC) if begin.tzinfo is None else begin.astimezone(UTC)
    window = {"ends": _shown(begin + timedelta(hours=duration_hours))}
    return {**window, "starts": _shown(begin)} if begin.date() > decided_on else window


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return moment


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
