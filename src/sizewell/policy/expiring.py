"""Whether something takes down a stack of Sizewell's components on the day that they register as their end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sizewell.resources.expiry import Expiries
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.values import Flag, get
from sizewell.sizing.places import read_yaml
from sizewell.sizing.records.stackname import cluster_of, normal_environment

if TYPE_CHECKING:
    from sizewell.policy.config import Config

_TEARDOWN = "stacks/config/teardown.yaml"  # src/sizewell/schemas/teardown.schema.json


def expiries_of(config: Config, root: Path | None, stack: str, environment: str) -> Expiries:
    """Which expiries count in a stack of the project at `root`, None where nobody knows where that is."""
    registered = takes_down(root, stack, environment)
    return Expiries(
        days_max=config.expiry_days_max,
        reserved_days_max=config.expiry_reserved_days_max,
        tags=config.expiry_tags,
        registered=registered,
    )


def takes_down(root: Path | None, stack: str, environment: str) -> Flag:
    """Whether the stack has an expiry stack with a firm end, or `sizewell teardown` destroys stacks of its environment.

    Whether teardown runs on a schedule is not in the project; that its file says `act` is taken for it.
    """
    if root is None:
        return UNKNOWN
    path = root / _TEARDOWN
    if not path.exists():
        return False
    teardown = read_yaml(path, _TEARDOWN).data
    if (root / "stacks/config" / f"Pulumi.ttl-{cluster_of(stack)}.yaml").exists() and _firm(teardown, environment):
        return True
    return _acts(teardown, stack, environment)


def _firm(teardown: object, environment: str) -> bool:
    named = {normal_environment(str(name)): each for name, each in (get(teardown, "environments") or {}).items()}
    return bool(get(named.get(environment), "expiry") == "firm")


def _acts(teardown: object, stack: str, environment: str) -> bool:
    stated = get(teardown, "environments")
    named = {normal_environment(str(name)): each for name, each in (stated or {}).items()}
    if environment not in named and stated is not None:
        return False
    if environment == "prod" and stack not in (get(teardown, "production") or ()):
        return False
    mode = get(named.get(environment), "mode")
    mode = get(mode, "destroy") if isinstance(mode, dict) else mode
    return bool((mode or get(teardown, "mode")) == "act")
