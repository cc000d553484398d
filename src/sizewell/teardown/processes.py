"""Whether a process that wrote a record still runs: known alone on the same boot and in the same PID namespace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def this() -> dict[str, str]:
    """What tells this process from every other one; {} where the system does not say (it is no Linux)."""
    return of(os.getpid())


def of(pid: int) -> dict[str, str]:
    """What tells a process of this machine from every other one; {} where it has ended, or the system does not say."""
    try:
        return {**_place(), "pid": str(pid), "started": _started(pid)}
    except OSError:
        return {}


def gone(process: Mapping[str, Any] | None) -> bool:
    """Whether a process certainly runs no more: it was started here, and is not here."""
    if not process:
        return False
    try:
        here = all(process.get(key) == value for key, value in _place().items())
        return here and _started(int(process["pid"])) != process["started"]
    except FileNotFoundError:
        return True
    except (OSError, KeyError, ValueError):
        return False


def runs(pid: int) -> bool:
    """Whether a process of this number is here."""
    return Path(f"/proc/{pid}").exists()


def _place() -> dict[str, str]:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"boot": boot, "namespace": str(Path("/proc/self/ns/pid").readlink())}


def _started(pid: int) -> str:
    """The 22nd field of /proc/PID/stat: ticks since the boot (proc_pid_stat(5)). A zombie runs no more."""
    state, *fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    if state == "Z":
        raise FileNotFoundError(f"process {pid} has ended")
    return fields[18]
