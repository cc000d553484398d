"""The stacks that stand beside a cluster's: their configuration, and the commands that build them before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sizewell.cli import project

if TYPE_CHECKING:
    from sizewell.sizing.records.decision import Decision

_SHARED: Final = ("accounts", "organization", "environment")  # that each takes from the cluster's stack
_KEYS: Final = {"ttl": (*_SHARED, "notify"), "images": _SHARED, "checkpoints": _SHARED}


def kinds(root: Path, decision: Decision) -> list[str]:
    """Which of them a decision needs, in the order in which they are built."""
    from sizewell.sizing.billing.standing import pulls_from_a_mirror

    own = project.config(root, decision.stack) or {}
    adopted = any(own.get(f"sizewell:{key}") for key in ("network", "registry"))  # which has its own way to images
    needed = {
        "ttl": decision.expires_at is not None,
        "checkpoints": any(workload.checkpoint for workload in decision.workloads),
        "images": pulls_from_a_mirror(decision) and not adopted,
    }
    return [kind for kind, is_needed in needed.items() if is_needed]


def write(root: Path, decision: Decision) -> list[Path]:
    """Write the configuration of those that have none, as the cluster's stack has it; nothing where that has none.

    What is encrypted is left out: its key is the stack's own.
    """
    import yaml

    own = project.config(root, decision.stack)
    written = []
    for kind in kinds(root, decision) if own else []:
        path = root / f"stacks/config/Pulumi.{kind}-{decision.stack}.yaml"
        keys = [f"sizewell:{key}" for key in _KEYS[kind]]
        stated = {key: own[key] for key in keys if own and key in own and not _encrypted(own[key])}
        text = f"# As in Pulumi.{decision.stack}.yaml: the same accounts and names.\n"
        secret = [key for key in keys if own and key in own and key not in stated]
        text += "".join(f"# {key} is encrypted there: set it here as well.\n" for key in secret)
        text += yaml.safe_dump({"config": stated}, sort_keys=False, default_flow_style=None, width=1000)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        written.append(path)
    return written


def commands(root: Path, decision: Decision) -> list[str]:
    """What to run before the cluster's stack is built, a line each."""
    lines = []
    for kind in kinds(root, decision):
        stack = f"{kind}-{decision.stack}"
        lines.append(f"pulumi stack init {stack} --no-select && pulumi up -s {stack}")
        if kind == "images":
            lines += _copies(root, decision, stack)
    return lines


def _copies(root: Path, decision: Decision, stack: str) -> list[str]:
    """Copy every image into the registry, from a machine with internet access."""
    accounts = (project.config(root, decision.stack) or {}).get("sizewell:accounts")
    account = accounts[0] if isinstance(accounts, list) and len(accounts) == 1 else "ACCOUNT"
    regions = sorted({pool.region for workload in decision.workloads for pool in workload.pools})
    logins = [
        f"aws ecr get-login-password --region {region} | crane auth login --username AWS --password-stdin "
        f"{account}.dkr.ecr.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
        for region in regions
    ]
    return [*logins, f"pulumi stack output -s {stack} --json | jq -r '.[].copies[]' | xargs -n 2 crane copy"]


def _encrypted(value: Any) -> bool:
    if isinstance(value, dict):
        return "secure" in value or any(map(_encrypted, value.values()))
    return isinstance(value, list) and any(map(_encrypted, value))
