"""A text without what names its owner: `sizewell doctor --report` is pasted into an issue that all can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizewell.sizing.records.stackname import cluster_of

_PUBLIC = r"(www\.)?(pulumi\.com|docs\.|learn\.microsoft\.com|cloud\.google\.com)"
_BESIDE = "checkpoints|images|ttl"  # stacks beside a stack, with its name
_PATTERNS = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "GUID"),
    (r"\barn:[\w-]+:\S+", "ARN"),
    (rf"\b(s3|gs|az|azblob|file|https?|git|ssh)://(?!{_PUBLIC})\S+", r"\1://ADDRESS"),
    (r"[\w.+-]+@[\w-]+(\.[\w-]+)+", "MAIL"),
    (r"(?<![\w.])\d{12}(?![\w.])", "ACCOUNT"),
    (r"(?<![\w.])(\d{1,3}\.){3}\d{1,3}(?![\w.])", "IP"),
    (r"(?<![\w~.:/])/(?!(usr|bin|opt/homebrew|proc|dev)/)[\w.+-]+(/[\w.+@-]+)+", "PATH"),
)  # fmt: skip


def redacted(text: str, names: Mapping[str, str]) -> str:
    """A text in which `names`, addresses, accounts and paths are replaced; what is public in it stays.

    >>> redacted("stack shop-dev reads s3://shop/x as 123456789012", {"shop-dev": "stack-1"})
    'stack stack-1 reads s3://ADDRESS as ACCOUNT'
    >>> redacted("/home/ana/shop/.venv, python 3.12.4; https://www.pulumi.com/docs/install/", {})
    'PATH, python 3.12.4; https://www.pulumi.com/docs/install/'
    """
    for pattern, word in _PATTERNS:
        text = re.sub(pattern, word, text)
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-])(({_BESIDE})-)?{re.escape(name)}(?![\w-])", rf"\1{names[name]}", text)
    return text


def numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Each name as `kind-1`, `kind-2`, …, the same wherever it stands.

    >>> numbered("stack", ["prod", "dev", "prod"])
    {'dev': 'stack-1', 'prod': 'stack-2'}
    """
    return {name: f"{kind}-{number}" for number, name in enumerate(sorted(set(names)), 1)}


def names_in(root: Path) -> dict[str, str]:
    """What a project calls itself, its stacks and its workloads, and what stands for them."""
    config, decisions = root / "stacks/config", root / "stacks/decisions"
    stacks = {path.stem.removeprefix("Pulumi.") for path in config.glob("Pulumi.*.yaml")}
    stacks |= {path.stem for path in decisions.glob("*.json")} | {path.name for path in root.glob("stacks/specs/*/")}
    workloads = {path.stem for path in root.glob("stacks/specs/*/*.yaml")}
    return {root.name: "project", **numbered("workload", workloads), **numbered("stack", map(cluster_of, stacks))}
