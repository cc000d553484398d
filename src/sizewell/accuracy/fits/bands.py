"""80 % bands from errors that the fit has not seen, by group, for sources that nobody has seen yet.

An error of a new source is mostly that source's own (its software, its tuning, what it leaves out), so what counts is
how many sources a group was measured by. Few of them can tell that predictions are worse than elsewhere, and hardly
that they are better: the band of a group lies between its own and that of the group that holds it, which counts like
`narrower` further sources where it is the wider one and like `WIDER_COUNTS` where it is the narrower. Within a group a
source counts by the square root of its cases: a table of forty like rows is more than one row and less than forty.

No band is narrower than what cases of the same family of accelerators are off by, whatever its group has (`floors`).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from sizewell.accuracy.asked import as_asked
from sizewell.accuracy.cases import Case
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import predict

SHARE = 0.8  # of published values that a band should hold
NARROWER_CASES, NARROWER_SOURCES, WIDER_CASES = 15, 3, 5  # before a group has a band of its own at all
WIDER_COUNTS = 2  # sources
FLOOR_CASES = 3  # of a family, from which on it has an error of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """The error of one case, predicted without its source."""

    groups: tuple[str, ...]  # that the case belongs to, the narrowest first, the one that holds all last
    source: str
    log_error: float  # of predicted over published
    families: tuple[str, ...] = ()  # of accelerators, and groups of them, that have errors of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Cases that were left out of a fit, and what the fit to all others gives."""

    cases: tuple[Case, ...]
    using: Callable[[Sequence[Unseen] | None, Sequence[Unseen] | None], AbstractContextManager[None]]
    """Predict with those constants inside the block; with bands of the errors where they are given: of cases whose
    software is named, and of the same where nobody names it."""


def unseen(held: Iterable[Held], *, engines: bool = True) -> dict[str, Unseen]:
    """The error of each case under constants that its source had no part in, by the case's id; without `engines` no
    case says which software ran.
    """
    errors: dict[str, Unseen] = {}
    for part in held:
        with part.using(None, None):
            for case in part.cases:
                predicted = predict(case if engines else as_asked(case))
                if isinstance(predicted, Prediction) and predicted.value > 0 and case.value > 0:
                    errors[case.id] = Unseen(
                        groups=(predicted.group, *predicted.wider) if predicted.group else (),
                        source=case.source_family,
                        log_error=math.log(predicted.value / case.value),
                        families=predicted.families,
                    )
    return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Half of a group's band, in the logarithm, and what it rests on."""

    half: float
    cases: int
    sources: int


def widths(
    errors: Iterable[Unseen], *, least: float, narrower: int, sources: int = NARROWER_SOURCES
) -> dict[str, Width]:
    """Half-widths by group, none below `least`; only groups with a band of their own are in it, a narrower one than
    around it from so many `sources` on.

    >>> two = [Unseen(groups=("wide",), source=name, log_error=0.2) for name in ("a", "b")]
    >>> widths(two, least=0.01, narrower=2)["wide"].half
    0.2
    """
    members: dict[str, list[Unseen]] = defaultdict(list)
    around: dict[str, tuple[str, ...]] = {}
    for error in errors:
        for place, group in enumerate(error.groups):
            members[group].append(error)
            around[group] = error.groups[place + 1 :]
    made: dict[str, Width] = {}
    for group in sorted(members, key=lambda name: (len(around[name]), name)):
        own = members[group]
        width = Width(
            half=max(least, source_weighted(own)), cases=len(own), sources=len({error.source for error in own})
        )
        wider = next((made[name].half for name in around[group] if name in made), None)
        if wider is None:
            made[group] = width
        elif width.half >= wider * (1 - 1e-9) and width.cases >= WIDER_CASES:
            made[group] = _between(width, wider, WIDER_COUNTS)
        elif width.cases >= NARROWER_CASES and width.sources >= sources:
            made[group] = _between(width, wider, narrower)
    return made


def floors(*errors: Iterable[Unseen]) -> dict[str, float]:
    """Factor by family of accelerators, where `FLOOR_CASES` are known: what its own error needs at the median; of
    several errors of the same cases (unseen by the fit or not, the software named or not) the largest one.

    >>> far = [Unseen(groups=("any",), source="a", log_error=0.5, families=("turing",)) for _ in range(3)]
    >>> floors(far), floors(far[:2])
    ({'turing': 1.841}, {})
    """
    made: dict[str, float] = {}
    for each in errors:
        members: dict[str, list[float]] = defaultdict(list)
        for error in each:
            for family in error.families:
                members[family].append(error.log_error)
        for family, own in members.items():
            if len(own) >= FLOOR_CASES:
                made[family] = max(made.get(family, 1.0), math.ceil(1000 * math.exp(_own(own))) / 1000)
    return dict(sorted(made.items()))


def _own(log_errors: Sequence[float]) -> float:
    """Half of the band whose half-width in percent is the median error in percent."""
    return math.asinh(statistics.median(abs(math.expm1(error)) for error in log_errors))


def _between(own: Width, held: float, counts: int) -> Width:
    """A group's own band and that of the group that holds it, each by the sources that it counts for."""
    return replace(own, half=(own.sources * own.half + counts * held) / (own.sources + counts))


def source_weighted(errors: Sequence[Unseen]) -> float:
    """The size of error that `SHARE` of them lie within, each source by the square root of its cases."""
    cases = Counter(error.source for error in errors)
    weight = np.array([1 / math.sqrt(cases[error.source]) for error in errors])
    return weighted_quantile(np.array([abs(error.log_error) for error in errors]), weight, SHARE)


def weighted_quantile(values: np.ndarray, weight: np.ndarray, at: float) -> float:
    """The value below which `at` of the weight lies, interpolated between neighbours."""
    order = np.argsort(values, kind="stable")
    share = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    return float(np.interp(at, share, values[order]))


def rejected(inside: int, cases: int, share: float = SHARE) -> float:
    """P of the exact two-sided binomial test that a band which held `inside` of `cases` holds `share` of them.

    >>> round(rejected(8, 10), 3), rejected(4, 20) < 0.01
    (1.0, True)
    """
    ways = (math.lgamma(cases + 1) - math.lgamma(n + 1) - math.lgamma(cases - n + 1) for n in range(cases + 1))
    chances = [math.exp(some + n * math.log(share) + (cases - n) * math.log1p(-share)) for n, some in enumerate(ways)]
    return min(1.0, sum(chance for chance in chances if chance <= chances[inside] * (1 + 1e-9)))
