"""Asking several sellers for many places, with a journal: what was answered once is not asked again after a break."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sizewell.clouds.calls import CloudError, together
from sizewell.sizing.catalog.refresh import Listed, Place
from sizewell.sizing.catalog.refresh_fees import ListedFee
from sizewell.sizing.versions import content, schema_of

Row = Listed | ListedFee
FEES: Final = "fees"  # the market of a place whose rows are fees

AT_ONCE: Final = 4  # questions; sellers of prices throttle by the client


@dataclass(slots=True)
class Readings:
    """What came of the questions: rows by place, and the places that gave no answer."""

    rows: list[tuple[Place, list[Row]]] = field(default_factory=list)
    failed: dict[str, CloudError] = field(default_factory=dict)


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
    questions: Mapping[Place, Callable[[], Iterator[Row]]],
    journal: Journal,
    *,
    told: Callable[[str], None] | None = None,
) -> Readings:
    """Every place's rows: out of the journal, or asked for and put there; a place without an answer is named."""
    readings = Readings()
    open_places: dict[str, Place] = {}
    for place in questions:
        known = journal.answer(place)
        if known is None:
            open_places[str(place)] = place
        else:
            readings.rows.append((place, known))

    def asked(place: Place) -> Callable[[], list[Row]]:
        def run() -> list[Row]:
            rows = list(questions[place]())
            journal.keep(place, rows)
            return rows

        return run

    if open_places:
        answers = together({name: asked(place) for name, place in open_places.items()}, told=told, at_once=AT_ONCE)
        for name, answer in answers.items():
            if isinstance(answer, CloudError):
                readings.failed[name] = answer
            else:
                readings.rows.append((open_places[name], answer))
    readings.rows.sort(key=lambda reading: str(reading[0]))
    return readings


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
