"""The exceptions that leave Sizewell's packages; everything else is a bug.

    SizewellError                exit code
    ├── UsageError                  64      the call's own words are wrong
    ├── SpecError                   64      a workload spec is wrong; carries every fault at once
    ├── ArgsError                   64      a component's arguments are wrong; carries every fault at once
    ├── ConfigError                 64      a policy, discount or usage file is wrong
    ├── CatalogError                64      a catalog row is wrong: file, row, column, value
    ├── DecisionError                4      a decision file is missing, edited by hand or out of date
    └── ServiceError                69      something outside (engine, cloud, network) failed

"Nothing fits" is no exception: it is an answer (`Rejection` values and exit code 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with an input: where, what was found, what is allowed, the way out.

    `at` is the line and column of it in `file`, from 1; column 0 where only the line is known.

    >>> print(Fault(path="pools[0].nodes_min", found=0, allowed="1 to 64", fix="set replicas in the spec"))
    pools[0].nodes_min: must be 1 to 64, got 0
      fix: set replicas in the spec
    """

    path: str
    found: object = None
    allowed: str = ""
    fix: str = ""
    message: str = ""  # replaces the generated sentence where that would not read well
    at: tuple[int, int] | None = None
    file: str = ""

    def __str__(self) -> str:
        sentence = self.message or f"must be {self.allowed}, got {_shown(self.found)}"
        line = f"{self.path}: {sentence}" if self.path else sentence
        if self.at is not None:
            row, column = self.at
            if self.file:
                line = f"{self.file}:{row}:{column}: {line}" if column else f"{self.file}:{row}: {line}"
            else:
                line = f"line {row}, column {column}: {line}" if column else f"line {row}: {line}"
        return f"{line}\n  fix: {self.fix}" if self.fix else line


def _shown(value: object) -> str:
    text = value.isoformat() if isinstance(value, date) else repr(value)  # YAML reads 2027-01-01 as a day
    return text if len(text) <= 80 else text[:77] + "..."


class SizewellError(Exception):
    """Base of all errors meant for a user; `str()` is the whole message, `exit_code` what the CLI returns."""

    exit_code = 64
    cause: tuple[str, ...] = ()  # what led to it, line by line, for whoever reads it as data


class UsageError(SizewellError):
    """The command line or a call's arguments are wrong."""


class _FaultsError(SizewellError):
    def __init__(self, faults: Sequence[Fault], *, subject: str = "", note: str = "") -> None:
        self.faults = tuple(replace(f, file=subject) if f.at and not f.file and subject else f for f in faults)
        self.subject = subject
        count = len(self.faults)
        head = f"{subject}: {count} {'fault' if count == 1 else 'faults'}\n" if subject else ""
        self.note = note  # what the faults mean together
        super().__init__("\n".join([head + "\n".join(map(str, self.faults)), *([note] if note else [])]))

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return partial(type(self), subject=self.subject, note=self.note), (
            self.faults,
        )  # so that it gets from process to process


class SpecError(_FaultsError):
    """A workload spec is wrong; `faults` has all of them."""


class ArgsError(_FaultsError):
    """A component's arguments are wrong; `faults` has all of them."""


class ConfigError(_FaultsError):
    """A configuration file (policy, discounts, usage) is wrong; `faults` has all of them."""


class CatalogError(_FaultsError):
    """Catalog rows are wrong; `faults` has all of them."""


class DecisionError(SizewellError):
    """A decision file is missing, unreadable, edited by hand or out of date."""

    exit_code = 4


class ServiceError(SizewellError):
    """An outside service or program (engine, cloud, network) failed."""

    exit_code = 69
