"""What is asked of Nimbus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from sizewell.clouds.nimbus import Nimbus

from sizewell.clouds.calls import CloudError, Deadline
from sizewell.teardown.reading import DEADLINE_S, Fees, Question, Reads
from sizewell.teardown.records import Counted, Series
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.things import Stored, Thing

PERIOD_S: Final = 60.0


def _client(_: Sequence[str], __: Mapping[str, str]) -> Nimbus:
    return Nimbus(Deadline(DEADLINE_S))


def _pool(nimbus: Nimbus, question: Question) -> Observation:
    """One value for every accelerator, in each minute."""
    (group,), end_s = question.unit.resources, question.at.timestamp()
    held = nimbus.groups()[group.id]
    machines = frozenset(f"{group.id}-{number}" for number in range(held["size"]))
    times = np.arange(end_s - question.seconds, end_s + 1, PERIOD_S)
    series = Series(at_s=times, values=np.full(len(times), float(held["percent"])))
    cards = range(question.unit.accelerators_per_machine)
    return Observation(
        source="Nimbus",
        counted=(Counted(start_s=end_s - 2 * question.seconds, end_s=end_s, machines=machines),),
        utilization_percent={(machine, card): series for machine in machines for card in cards},
        period_s=PERIOD_S,
    )


def _endpoint(_: Nimbus, __: Question) -> Observation:
    raise CloudError("nimbus", "missing", "Nimbus has no endpoints")


def _managed(_: Nimbus, __: Question) -> Observation | None:
    return None


def _tagged(nimbus: Nimbus, _: Sequence[str], __: Sequence[str], ___: str) -> list[Thing]:
    return [
        Thing(identity=name, kind="group", region="us-east-1")
        for name, held in nimbus.groups().items()
        if held.get("left")
    ]


def _of_cluster(_: Nimbus, __: Sequence[str], ___: Sequence[str], ____: str) -> list[Thing]:
    return []


def _stored(_: Nimbus, __: Sequence[Thing]) -> dict[str, Stored]:
    return {}


READS: Final = Reads(
    client=_client,
    place=("account", None),
    pool=_pool,
    endpoint=_endpoint,
    managed=_managed,
    tagged=_tagged,
    of_cluster=_of_cluster,
    fees=Fees(hourly={}, monthly={"group": "kms.key"}, free=frozenset()),
    stored=_stored,
)
