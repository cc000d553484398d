"""What an inference engine is: the record that launching, sizing and specs read. One file of `engines/` for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Meaning = Literal[
    "model",
    "host",
    "port",
    "served_name",
    "tensor_parallel",
    "pipeline_parallel",
    "executor",
    "nodes",
    "node_rank",
    "master_host",
    "master_port",
    "worker",
    "sequences_max",
    "sequence_length_max",
    "memory_share",
    "dtype",
    "quantization",
    "kv_dtype",
]
MEMORY_SHARE: Final = "0.90"  # of a device's memory that an engine takes, where it is asked for a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How an engine spells one thing that a decision says.

    `values` translates: "fp16" may be "half" there, and a value that maps to "" is left out. Releases are the
    engine's own versions ("0.11.0").
    """

    name: str  # "--tensor-parallel-size"; "" where the value stands alone
    values: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()  # runtimes of accelerators that know it; (): all
    since: str = ""  # the first release that has it; "": every release that we know
    until: str = ""  # the last one; "": the newest
    source: str = ""  # where since and until come from


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One inference engine: how it is started, what it serves on which accelerators, how its load is measured."""

    name: str  # as a run names it
    images: Mapping[str, str]  # runtime of the accelerator -> repository of the engine's own image for it
    families: frozenset[str]  # decoder | encoder | vision | diffusion: what it serves
    default_for: frozenset[str]  # families that it serves where nobody names an engine
    command: tuple[str, ...]  # first words of the command line
    fixed: tuple[str, ...]  # words that no decision changes, after the flags
    flags: Mapping[Meaning, Flag]
    env: Mapping[str, str]  # "{cache}" is a folder that may be written
    ready: str  # path that answers once it can serve
    protocol: Literal["openai", "kserve-v2"]  # what its clients speak
    in_flight: str  # PromQL: requests that run or wait; "{0}" is the selector of its pods
    hub: bool  # loads weights by their name on the Hub; else it has to be told where they lie
    nodes_max: int | None  # machines that one replica may span; None: any number
    at_load: frozenset[str]  # precisions that it makes of 16-bit weights while it loads them
    predicted_as: str  # the engine whose fitted constants predict it
    image_example: str  # an image with a version, for messages
    model_example: str
    source: str
    checked: str

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Runtimes of accelerators that it has an image for."""
        return tuple(self.images)

    def words(self, meaning: Meaning, value: object = None, *, runtime: str = "") -> list[str]:
        """The words of the command line that say one thing; [] where the engine has no flag for it.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> ENGINES["vllm"].words("dtype", "fp16"), ENGINES["triton"].words("dtype", "fp16")
        (['--dtype', 'half'], [])
        """
        flag = self.flags.get(meaning)
        if flag is None or (flag.only and runtime and runtime not in flag.only):
            return []
        name = [flag.name] if flag.name else []
        if value is None:
            return name
        spelt = flag.values.get(str(value), str(value))
        return [*name, spelt] if spelt else []
