"""How the size of a group is moved."""

from __future__ import annotations

from sizewell.clouds.nimbus import Nimbus

from sizewell.teardown.units import Unit


def empty(nimbus: Nimbus, unit: Unit) -> str:
    """See `act.empty`."""
    nimbus.resize(unit.resources[0].id, unit.nodes_min)
    return f"nimbus resize {unit.resources[0].id}: {unit.nodes_min}"


def wake(nimbus: Nimbus, unit: Unit) -> str:
    """See `act.wake`."""
    nimbus.resize(unit.resources[0].id, unit.nodes_initial)
    return f"nimbus resize {unit.resources[0].id}: {unit.nodes_initial}"
