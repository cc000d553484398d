"""The configuration of the running stack, as the SDK was given it."""

from __future__ import annotations

from typing import Any

from pulumi.runtime import config


def stated() -> dict[str, Any]:
    """Every key that the stack states, with its namespace; the public `pulumi.Config` answers for one key at a time."""
    return {**config.get_config_env(), **config.CONFIG.get()}
