"""What docs/reference/command-line.md is made of: exit codes and environment variables. Tests hold both to the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizewell import csvtables

EXITS: Final[Mapping[int, str]] = {
    0: "fine",
    1: "a policy failed",
    2: "over a budget or a guardrail",
    3: "a resource has no price",
    4: "a decision, or the newest price, is out of date",
    5: "nothing fits",
    6: "something was held back or is in no state: a person has to check",
    64: "the command line, a spec or a configuration file is wrong",
    69: "an external dependency failed: the engine, a cloud, the backend or a stack's program; run it again",
    70: "an internal error of Sizewell",
    74: "the output could not be written: the disk is full",
    130: "interrupted (Ctrl-C); 129 and 143 by SIGHUP and SIGTERM, where an engine was interrupted first",
    141: "the reader of the pipe closed it, such as `head`",
}
EVERYWHERE: Final = (0, 64, 70, 74, 130, 141)  # exit codes of every command


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A row of variables.csv: an environment variable, under a heading of the page."""

    group: str
    name: str
    meaning: str


def _variables() -> Mapping[str, Mapping[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for row in csvtables.read(Variable, Path(__file__).parent / "data/variables.csv"):
        groups.setdefault(row.group, {})[row.name] = row.meaning
    return groups


VARIABLES: Final = _variables()  # heading -> name -> meaning
