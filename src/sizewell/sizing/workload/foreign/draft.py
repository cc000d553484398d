"""What a file of another tool says of one workload, in a spec's terms, and what of it has no place in a spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Work = Literal["service", "training", "batch", "notebook"]


@dataclass(slots=True, kw_only=True)
class Draft:
    """One workload; its reader fills it in. `values` are a spec's keys by their path, such as "training.epochs".

    `asked` are the names of accelerators as the file writes them, `devices` how many it runs on in all.
    """

    name: str
    work: Work | None = None
    model: str = ""
    image: str = ""
    commands: list[list[str]] = field(default_factory=list)
    environment: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    devices: int | None = None
    machines: int = 1  # over which those are spread
    places: list[str] = field(default_factory=list)
    spot: bool | None = None
    said: dict[str, str] = field(default_factory=dict)  # where the file states "accelerators", "infra" and "spot"
    figures: dict[str, Any] = field(default_factory=dict)  # of a model that is described and has no name
    tokenizer: str = ""
    hears: bool = False  # a recognizer of speech, also where its model stands nowhere
    from_nothing: bool = False  # a training whose weights no checkpoint gives
    values: dict[str, Any] = field(default_factory=dict)
    taken: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def take(self, key: str, value: Any, where: str) -> None:
        """A value of the spec, and the key of the file that says it."""
        self.values[key] = value
        self.taken = [(taken, at) for taken, at in self.taken if taken != key]
        self.taken.append((key, where))

    def leave(self, where: str, why: str) -> None:
        """What is not taken over; what is left for the same reason stands together."""
        before = next((index for index, (_, other) in enumerate(self.left) if other == why), None)
        if before is None:
            self.left.append((where, why))
        else:
            self.left[before] = (f"{self.left[before][0]}, {where}", why)

    def leave_rest(self, document: Mapping[str, Any], read: tuple[str, ...], prefix: str = "") -> None:
        """Every key of the document that no reader looks at, by name."""
        rest = [f"{prefix}{key}" for key in document if key not in read]
        if rest:
            self.leave(", ".join(rest), "does not decide what is needed")
