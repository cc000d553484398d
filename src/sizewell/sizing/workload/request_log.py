"""A recorded log of requests: when each came, how long its prompt was and its answer.

`read_log(path)` takes CSV or JSON lines, compressed with gzip or not, a row at a time. The columns of published logs
are recognised; others are named (`at=ts,input=prompt_tokens,output=completion_tokens`; of JSON objects in objects
`input=usage.prompt_tokens`).
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import itertools
import json
import math
import random
import statistics
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.simulation.requests import Requests, held
from sizewell.sizing.units import plural


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of a log are called."""

    at: str
    input: str
    output: str
    blocks: str = ""  # ids of the blocks of tokens that the prompt begins with
    block_tokens: int = 0
    per_second: float = 1.0  # units of a time that is a number


KNOWN: Final[Mapping[str, Columns]] = {
    "Azure's LLM inference traces": Columns("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    "BurstGPT": Columns("Timestamp", "Request tokens", "Response tokens"),
    "Mooncake": Columns("timestamp", "input_length", "output_length", "hash_ids", 512, per_second=1000.0),
}
BROKEN_MAX: Final = 0.01  # of all rows, that are left out and said; more of them, and the log is refused
NAME_THEM: Final = "name them: --columns at=NAME,input=NAME,output=NAME"
SHOWN: Final = 3  # lines that are named
GAP_S: Final = 3600.0
LATEST_S: Final = datetime(2100, 1, 1, tzinfo=UTC).timestamp()  # a later time is in a smaller unit than it is read in
UNITS: Final[Mapping[str, tuple[float, str]]] = {  # of a time that is a number: how many are a second
    "s": (1.0, "seconds"),
    "ms": (1e3, "milliseconds"),
    "us": (1e6, "microseconds"),
    "ns": (1e9, "nanoseconds"),
}
ALLOWED: Final = "at=NAME,input=NAME,output=NAME (at=NAME:ms, :us or :ns where its times are not in seconds)"
STEP_S: Final = (0.5, 3600.0)  # between times, that requests are spread over: at least, at most
ALIKE: Final = 0.99  # of all steps, that are multiples of the smallest; a merged log has a few others
SHARED: Final = 0.01  # of all requests, that come at the time of another, at least
FEW: Final = 20  # requests, of which times are alike by chance
SEED: Final = 0
SEPARATORS: Final = ",;\t"  # of columns: spreadsheets of some countries write semicolons
_FORMS: Final = {b"PAR1": "Parquet", b"PK\x03\x04": "a spreadsheet or a zip archive", b"SQLite": "a database"}
_WORDS: Final = (("hour", 3600.0), ("minute", 60.0), ("second", 1.0))
TOKENS_MAX: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Log:
    """The requests of a log, and what a reader has to know of it."""

    requests: Requests
    remarks: tuple[str, ...]
    lines: Sequence[int] = ()  # of each request
    recorded_at_s: Sequence[float] = ()  # times as they stand in the log, where they were spread; (): those of requests

    @property
    def sha256(self) -> str:
        """Of what was read: the same for a log that is compressed or named otherwise."""
        digest = hashlib.sha256()
        at_s = self.recorded_at_s or self.requests.at_s
        for values in (at_s, self.requests.prompt_tokens, self.requests.output_tokens):
            digest.update(array("d", values).tobytes())
        digest.update(repr([list(blocks) for blocks in self.requests.blocks]).encode())
        return digest.hexdigest()

    def served(self, limit: int | None) -> Requests:
        """As if the requests were not in it that the server refuses, as longer than the model reads; from the first of
        those that it takes. None where it refuses all.
        """
        longer = self.requests.longer_than(limit) if limit else []
        if not longer:
            return self.requests
        kept = self.requests.without(longer)
        return replace(kept, at_s=array("d", (at - kept.at_s[0] for at in kept.at_s)))

    def refused(self, limit: int | None) -> tuple[int, str]:
        """How many the server refuses as longer than the model reads, and these in words."""
        longer = self.requests.longer_than(limit) if limit else []
        if not longer:
            return 0, ""
        shown = ", ".join(f"line {self.lines[index]}" for index in longer[:SHOWN])
        more = f" and {len(longer) - SHOWN:,} more" if len(longer) > SHOWN else ""
        most = max(self.requests.prompt_tokens[index] + self.requests.output_tokens[index] for index in longer)
        says = f"{plural(len(longer), 'request')} left out, which the server refuses: the longest has {most:,} tokens, "
        says += f"the model reads {limit:,} ({shown}{more})"
        return len(longer), says

    def means(self, limit: int | None) -> dict[str, float | str]:
        """Rate, lengths and what a prefix cache without limits would hold of the requests that are served, which are
        what is paid for: the keys of `traffic` that say so.
        """
        requests = self.served(limit)
        prompts = sum(requests.prompt_tokens)
        kept = requests.block_tokens * sum(held(requests.blocks))
        means: dict[str, float | str] = {
            "rps": float(f"{len(requests) / requests.seconds:.6g}"),
            "input_tokens": max(1, round(prompts / len(requests))),
            "output_tokens": max(1, round(sum(requests.output_tokens) / len(requests))),
        }
        return means | ({"prefix": f"{min(99.0, 100 * kept / prompts):.4g}%"} if kept else {})


def columns_of(text: str) -> Columns:
    """`at=NAME,input=NAME,output=NAME`, with one of `UNITS` behind the first where times are not in seconds.

    >>> columns_of("at=ts:ms,input=p,output=c").per_second
    1000.0
    """
    given = dict(part.partition("=")[::2] for part in text.split(","))
    if set(given) != {"at", "input", "output"} or not all(given.values()):
        raise SpecError([Fault(path="--columns", found=text, allowed=ALLOWED)])
    name, _, unit = given["at"].rpartition(":")
    if not name:
        name, unit = unit, "s"
    if unit not in UNITS:
        allowed = f"{', '.join(UNITS)} behind the colon of at=NAME:"
        raise SpecError([Fault(path="--columns", found=unit, allowed=allowed)])
    return Columns(name, given["input"], given["output"], per_second=UNITS[unit][0])


def read_log(path: Path, columns: Columns | None = None) -> Log:
    """The log at `path`; SpecError with line and figure for what cannot be read as one."""
    times, prompts, outputs, at_lines = array("d"), array("q"), array("q"), array("q")
    blocks: list[Sequence[int]] = []
    broken: list[str] = []
    untimed: list[str] = []  # times of those that are broken by them alone
    silent = rows = lines = 0
    first: Mapping[str, Any] = {}
    try:
        with _opened(path) as file:
            for line, row in _rows(file):
                rows, lines, first = rows + 1, line, first or row
                if columns is None:
                    columns = _recognised(row, path)
                try:
                    at, prompt, output = _read(row, columns)
                except ValueError as error:
                    broken.append(f"line {line}: {error}")
                    untimed += [error.text] if isinstance(error, _NoTimeError) else []
                    continue
                times.append(at)
                at_lines.append(line)
                prompts.append(prompt)
                silent += not output
                outputs.append(max(1, output))
                if columns.blocks:
                    blocks.append(tuple(row.get(columns.blocks) or ()))
    except OSError as error:
        raise SpecError(
            [Fault(path=str(path), message=error.strerror or str(error), fix="name a file of requests")]
        ) from None
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError, csv.Error) as error:
        message = f"cannot be read after line {lines}: {error}"
        raise SpecError([Fault(path=str(path), message=message, fix=_readable(path))]) from None
    if not rows:
        raise SpecError([Fault(path=str(path), message="has no requests")])
    if len(broken) > BROKEN_MAX * rows:
        shown = "; ".join(broken[:SHOWN])
        more = f"; {len(broken) - SHOWN:,} more" if len(broken) > SHOWN else ""
        message = f"{len(broken):,} of {rows:,} rows are no requests: {shown}{more}"
        assert columns is not None  # noqa: S101 - there are rows
        called = list(_called(first))
        absent = [name for name in (columns.at, columns.input, columns.output) if name not in called]
        if absent and first:
            message = f"has no column {' and '.join(absent)}; its columns are {', '.join(called)}"
            raise SpecError([Fault(path=str(path), message=message, fix=NAME_THEM)])
        fix = f"correct or remove these rows; up to {BROKEN_MAX:.0%} of them are left out"
        if 2 * len(untimed) > len(broken):
            fix = _timed(untimed[0], columns)
        raise SpecError([Fault(path=str(path), message=message, fix=fix)])
    remarks = []
    if broken:
        more = f"; {len(broken) - SHOWN:,} more" if len(broken) > SHOWN else ""
        remarks.append(f"{plural(len(broken), 'row')} left out: {'; '.join(broken[:SHOWN])}{more}")
    if silent:
        remarks.append(f"{plural(silent, 'answer')} of 0 tokens: each is counted as one token")
    order: Sequence[int] = range(len(times))
    back = max((a - b for a, b in itertools.pairwise(times)), default=0.0)
    if back > 0:
        remarks.append(f"times run backwards by up to {back:.1f} s: the requests are sorted by time")
        order = sorted(order, key=times.__getitem__)
    start = times[order[0]]
    at_s = array("d", (times[index] - start for index in order))
    gap = max(((b - a, a) for a, b in itertools.pairwise(at_s)), default=(0.0, 0.0))
    if gap[0] >= GAP_S:
        remarks.append(f"no request for {gap[0] / 3600:.1f} h, {gap[1] / 3600:.1f} h after the first")
    assert columns is not None  # noqa: S101 - there are rows
    recorded: Sequence[float] = ()
    if step_s := _step_s(at_s):
        if step_s > STEP_S[1]:
            message = f"has times in steps of {step_s / 3600:g} h, which say nothing of how many requests come together"
            raise SpecError([Fault(path=str(path), message=message, fix="write times to the second or finer")])
        recorded, at_s = at_s, _within(at_s, step_s)
        remarks.append(_spread_said(step_s))
    return Log(
        Requests(
            at_s,
            array("q", (prompts[index] for index in order)),
            array("q", (outputs[index] for index in order)),
            array("q", bytes(8 * len(order))),
            blocks=[blocks[index] for index in order] if blocks else (),
            block_tokens=columns.block_tokens if blocks else 0,
        ),
        tuple(remarks),
        array("q", (at_lines[index] for index in order)),
        recorded,
    )


def _step_s(at_s: Sequence[float]) -> float:
    """The seconds that sorted times are apart, or a multiple of that, where requests share them: the log has no finer
    times. 0 where it has, or each request has a time of its own.

    >>> _step_s([60.0 * (row // 7) for row in range(70)]), _step_s([row // 3 for row in range(60)])
    (60.0, 1.0)
    >>> _step_s([row / 3 for row in range(60)]), _step_s([float(row) for row in range(60)])
    (0.0, 0.0)
    """
    steps = array("d", (b - a for a, b in itertools.pairwise(at_s) if b > a))
    if len(at_s) < FEW or len(steps) < 2 or len(at_s) - 1 - len(steps) < SHARED * len(at_s):
        return 0.0
    some = sorted(steps[:: 1 + len(steps) // 10_000])
    least = some[len(some) // 20]
    step = statistics.median(each for each in some if least <= each < 1.5 * least)
    alike = sum(abs(each / step - round(each / step)) < 1 - ALIKE for each in some)
    return round(step, 2) if step >= STEP_S[0] and alike >= ALIKE * len(some) else 0.0


def _within(at_s: Sequence[float], step_s: float) -> array[float]:
    """Times that were cut to steps, each anywhere within its own: as arrivals at random lie where it is known how many
    come. Those of one time keep their order.
    """
    draw = random.Random(SEED)  # noqa: S311 - arrivals, not secrets
    spread = array("d")
    for at, same in itertools.groupby(at_s):
        spread.extend(at + step_s * part for part in sorted(draw.random() for _ in same))
    for index in range(1, len(spread)):  # steps may be a little shorter than they mostly are
        spread[index] = max(spread[index], spread[index - 1])
    return array("d", (at - spread[0] for at in spread))


def _spread_said(step_s: float) -> str:
    unit, size = next(((word, size) for word, size in _WORDS if step_s % size == 0), ("second", 1.0))
    whole = f"whole {unit}s" if step_s == size else f"steps of {step_s / size:g} {unit}s"
    each = f"that {unit}" if step_s == size else "that step"
    says = f"times are in {whole}: requests of one time are taken to come at random within {each}"
    return says if step_s < 60 else f"{says}; bursts within are not known, so state times to the second or finer"


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _readable(path: Path) -> str:
    """What to do with a file that is no text, or breaks off, by how it begins."""
    with path.open("rb") as file:
        head = file.read(6)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16: save it as UTF-8, as iconv -f UTF-16 -t UTF-8 does"
    kind = next((kind for magic, kind in _FORMS.items() if head.startswith(magic)), "")
    if kind:
        return f"it is {kind}: export it as CSV or JSON lines in UTF-8"
    if head.startswith(b"\x1f\x8b"):
        return "compress it again with gzip, or name the file without compression"
    return "write CSV or JSON lines in UTF-8"


def _rows(file: IO[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each row with its line; JSON where the first line is an object."""
    head = file.readline()
    if not head.lstrip().startswith("{"):
        if head.lstrip().startswith("["):
            raise csv.Error("it is a JSON array; write each request on a line of its own, as jq -c '.[]' does")
        separator = max(SEPARATORS, key=head.count)
        reader = csv.reader(file, delimiter=separator)
        names = next(csv.reader([head], delimiter=separator), [])
        for values in reader:
            if values:
                # Where lists are separated by semicolons, decimals have commas.
                read = (value.replace(",", ".") if separator == ";" else value for value in values)
                yield reader.line_num + 1, dict(zip(names, read, strict=False))
        return
    line, text = 1, head
    while text:
        if text.strip():
            try:
                row = json.loads(text)
            except ValueError:
                row = {}
            yield line, row if isinstance(row, dict) else {}
        line, text = line + 1, file.readline()


def _recognised(row: Mapping[str, Any], path: Path) -> Columns:
    for columns in KNOWN.values():
        if {columns.at, columns.input, columns.output} <= set(row):
            return columns
    found = ", ".join(_called(row)) or "none"
    fault = Fault(
        path=str(path),
        message=f"its columns are not those of a log that is known ({', '.join(KNOWN)}): {found}",
        fix=NAME_THEM,
    )
    raise SpecError([fault])


def _read(row: Mapping[str, Any], columns: Columns) -> tuple[float, int, int]:
    """Seconds, prompt and output tokens; ValueError with what is wrong."""
    if not row:
        raise ValueError("is not a whole JSON object")
    names = columns.at, columns.input, columns.output
    values = [_value(row, name) for name in names]
    missing = [name for name, value in zip(names, values, strict=True) if value in (None, "")]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing")
    prompt, output = (_tokens(value, name) for name, value in zip(names[1:], values[1:], strict=True))
    if prompt < 1:
        raise ValueError(f"{columns.input} is {prompt}")
    return _seconds(values[0], columns), prompt, output


def _value(row: Mapping[str, Any], name: str) -> Any:
    """What a column has; `usage.prompt_tokens` is in the object `usage`, where no column is called so."""
    if name in row or "." not in name:
        return row.get(name)
    outer, _, inner = name.partition(".")
    within = row.get(outer)
    return _value(within, inner) if isinstance(within, dict) else None


def _called(row: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The names of all columns, those inside objects as `usage.prompt_tokens`."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _called(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def _tokens(value: object, name: str) -> int:
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(f"{name} is {str(value)[:40]!r}") from None
    if not (0 <= number <= TOKENS_MAX and number == int(number)):
        raise ValueError(f"{name} is {str(value)[:40]}")
    return int(number)


class _NoTimeError(ValueError):
    """A time that cannot be read as one."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(message)
        self.text = text


def _seconds(value: object, columns: Columns) -> float:
    text = str(value)
    try:
        number = float(text) / columns.per_second
    except ValueError:
        pass
    else:
        if LATEST_S <= number < math.inf:
            unit = next(word for per_second, word in UNITS.values() if per_second == columns.per_second)
            raise _NoTimeError(text, f"{columns.at} is {text[:40]}, after the year 2100 in {unit}")
        if math.isfinite(number):
            return number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _NoTimeError(text, f"{columns.at} is {text[:40]!r}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _timed(text: str, columns: Columns) -> str:
    """What to do where times are not read: the unit to name for a number, else the forms that are."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    unit = next((unit for unit, (per_second, _) in UNITS.items() if number / per_second < LATEST_S), "")
    if unit:
        named = f"at={columns.at}:{unit},input={columns.input},output={columns.output}"
        return f"if these are {UNITS[unit][1]}, name the unit: --columns {named}"
    return "write times as 2026-11-01T03:00:00Z (ISO 8601) or as a number of seconds (or ms, us, ns: at=NAME:ms)"
