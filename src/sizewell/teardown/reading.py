"""What is read of a cloud: the record that `teardown/<cloud>/reads.py` fills, and what its functions are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sizewell.clouds.clients import Client
from sizewell.teardown.config import Prometheus
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.things import Stored, Thing
from sizewell.teardown.units import Unit

DEADLINE_S: Final = 300.0
Tagged = Callable[[Any, Sequence[str], Sequence[str], str], list[Thing]]  # client, accounts, regions, name


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of one pool: the `seconds` before `at`; `prometheus`: the one that teardown.yaml names, if any."""

    unit: Unit
    stack: str
    at: datetime
    seconds: float
    prometheus: Prometheus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """What it costs that something stands, by the kind that lists of the cloud name, in lower case."""

    hourly: Mapping[str, str]  # the catalog's fee of an hour
    monthly: Mapping[str, str]
    free: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Who answers on one cloud. All but `client` take a client of that cloud; each raises CloudError where it cannot
    say, and takes no silence for idleness or for nothing.
    """

    # of the stack's accounts, under the settings of an identity; CloudError where another account is logged in
    client: Callable[[Sequence[str], Mapping[str, str]], Client]
    # what it calls an account, and how a unit says in which it lies; None: a login is in one account, compared before
    place: tuple[str, Callable[[Unit], str] | None]
    pool: Callable[[Any, Question], Observation]
    endpoint: Callable[[Any, Question], Observation]
    managed: Callable[[Any, Question], Observation | None]  # None: nothing there counts a unit of this kind
    tagged: Tagged  # everything with the tag of a stack
    of_cluster: Tagged  # what a cluster's controllers made, which know no tag of the stack
    fees: Fees
    stored: Callable[[Any, Sequence[Thing]], dict[str, Stored]]  # what the price of each follows from, by identity
