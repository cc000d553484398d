"""Asking several sellers for many places, with a journal: what was answered once is not asked again after a break."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sizewell.clouds.calls import CloudError, ProxyError, together
from sizewell.clouds.prices.price_list import FEES, Question, Row
from sizewell.clouds.prices.price_lists import PRICE_LISTS
from sizewell.sizing.catalog.refresh import Listed, Place
from sizewell.sizing.catalog.refresh_fees import ListedFee
from sizewell.sizing.versions import content, schema_of

LOG: Final = logging.getLogger(__name__)

AT_ONCE: Final = 4  # questions; sellers of prices throttle by the client
UNREACHABLE_AFTER: Final = 2  # names of a cloud that are not known: one may be wrong, two are a network that is down


@dataclass(slots=True)
class Readings:
    """What came of the questions: rows by place, the places that gave no answer, and those of regions that are not
    enabled in the account, which no second attempt would answer.
    """

    rows: list[tuple[Place, list[Row]]] = field(default_factory=list)
    failed: dict[str, CloudError] = field(default_factory=dict)
    not_enabled: list[Place] = field(default_factory=list)


class _Barred:
    """What need not be asked any more because the cause lies on this machine (`CloudError.local`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unknown: dict[str, int] = {}
        self._clouds: dict[str, CloudError] = {}
        self._proxy: ProxyError | None = None
        self._kinds: dict[tuple[str, str], CloudError] = {}

    def check(self, place: Place) -> None:
        """The CloudError in which the question would end."""
        with self._lock:
            error = self._proxy or self._clouds.get(place.cloud) or self._kinds.get((place.cloud, place.market))
        if error is not None:
            raise error

    def note(self, place: Place, error: CloudError) -> None:
        if not error.local:
            return
        with self._lock:
            if isinstance(error, ProxyError) and not error.refusal:
                self._proxy = error
                return
            if error.reason == "login":
                self._kinds.setdefault((place.cloud, place.market), error)
                return
            self._unknown[place.cloud] = self._unknown.get(place.cloud, 0) + 1
            if self._unknown[place.cloud] >= UNREACHABLE_AFTER:
                self._clouds.setdefault(place.cloud, error)


class Journal:
    """A folder with one file for each answered question, written whole; it counts for one day of prices."""

    def __init__(self, folder: Path, day: str) -> None:
        self._folder = folder
        self._day = day
        mark = folder / "day"
        if not mark.exists() or mark.read_text(encoding="utf-8") != day:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _write(mark, day)

    @property
    def folder(self) -> Path:
        """Where downloads may lie as well."""
        return self._folder

    def answer(self, place: Place) -> list[Row] | None:
        """What was answered before; None where nothing was."""
        path = self._path(place)
        if not path.exists():
            return None
        kind = ListedFee if place.market == FEES else Listed
        first, *more = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] or [{}]
        headed = not first or "schema" in first  # the first files had rows alone
        if headed:
            content("refresh-answers", first, path.name)
        return [kind(**cells) for cells in (more if headed else [first, *more])]

    def keep(self, place: Place, rows: list[Row]) -> None:
        lines = [{"schema": schema_of("refresh-answers")}, *(dataclasses.asdict(row) for row in rows)]
        _write(self._path(place), "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))

    def close(self) -> None:
        """All questions are answered and their rows written: nothing is left to resume."""
        gone = self._folder.with_name(f"{self._folder.name}-done")
        shutil.rmtree(gone, ignore_errors=True)
        self._folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _path(self, place: Place) -> Path:
        return self._folder / f"{place.cloud}-{place.market}-{place.region}.jsonl"


def ask(
    questions: Mapping[Place, Question],
    journal: Journal,
    *,
    begun: Callable[[str], None] | None = None,
) -> Readings:
    """Every place's rows: out of the journal, or asked for and put there; a place without an answer is named.

    A cloud that cannot be reached is not asked again, nor is a kind of its prices where the login for it is missing.
    """
    readings = Readings()
    barred = _Barred()
    open_places: dict[str, Place] = {}
    for place in questions:
        known = journal.answer(place)
        if known is None:
            open_places[str(place)] = place
        else:
            LOG.info("%s: %d rows of an earlier run", place, len(known))
            readings.rows.append((place, known))

    def asked(place: Place) -> Callable[[], list[Row]]:
        def run() -> list[Row]:
            barred.check(place)
            try:
                rows = list(questions[place]())
            except CloudError as error:
                barred.note(place, error)
                raise
            journal.keep(place, rows)
            return rows

        return run

    if open_places:
        answers = together({name: asked(place) for name, place in open_places.items()}, begun=begun, at_once=AT_ONCE)
        for name, answer in answers.items():
            if isinstance(answer, CloudError):
                readings.failed[name] = answer
            else:
                readings.rows.append((open_places[name], answer))
        _set_apart_not_enabled(readings, open_places)
    readings.rows.sort(key=lambda reading: str(reading[0]))
    return readings


def _set_apart_not_enabled(readings: Readings, places: Mapping[str, Place]) -> None:
    """Failures in regions that are not enabled: the same credentials read this kind of price in another region."""
    answered = {(place.cloud, place.market) for place, _ in readings.rows}
    for name, error in list(readings.failed.items()):
        place = places[name]
        codes = PRICE_LISTS[place.cloud].not_enabled if place.cloud in PRICE_LISTS else ()
        if error.code in codes and (place.cloud, place.market) in answered:
            readings.not_enabled.append(place)
            del readings.failed[name]


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
