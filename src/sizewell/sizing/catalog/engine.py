"""What an inference engine is: the record that launching, sizing and specs read. One file of `engines/` for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables

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
    "model_file",
    "threads",
    "adapters",
    "adapters_resident",
    "adapters_cached",
    "adapter_rank",
    "expert_parallel",
    "speculative",
]
NGRAM: Final = "ngram"  # in the place of a draft model: what the prompt has after the same words
MEMORY_SHARE: Final = "0.90"  # of a device's memory that an engine takes, where it is asked for a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How an engine spells one thing that a decision says.

    `values` translates: "fp16" may be "half" there, and a value that maps to "" is left out. Which releases know it is
    said by the engine's `flag_table`.
    """

    name: str  # "--tensor-parallel-size"; "" where the value stands alone
    values: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()  # runtimes of accelerators that know it; (): all


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagTable:
    """Which releases of an engine's command know which flags, read from their source by tools/engine_flags.py."""

    releases: tuple[str, ...]  # those that were read, oldest first
    flags: Mapping[str, tuple[tuple[str, str], ...]]  # the first and last release of each run of releases that know it
    source: str

    def knows(self, flag: str, release: tuple[int, ...]) -> bool | None:
        """Whether a release has a flag; None where it is older or newer than all that were read.

        A release between two that were read has what one of them has: llama.cpp's are many a day.

        >>> table = FlagTable(releases=("0.9.0", "0.10.0"), flags={"--a": (("0.10.0", "0.10.0"),)}, source="")
        >>> table.knows("--a", (0, 10, 0)), table.knows("--a", (0, 9, 0)), table.knows("--a", (1, 0, 0))
        (True, False, None)
        >>> table.knows("--a", (0, 9, 1)), table.knows("--b", (0, 9, 1))
        (True, False)
        """
        read = [numbers(each) for each in self.releases]
        if not read[0] <= release <= read[-1]:
            return None
        before, after = max(each for each in read if each <= release), min(each for each in read if each >= release)
        runs = [(numbers(first), numbers(last)) for first, last in self.flags.get(flag, ())]
        return any(first <= each <= last for first, last in runs for each in (before, after))

    def releases_with(self, flag: str) -> str:
        """The releases that have a flag, in words; "" where none does.

        >>> table = FlagTable(releases=("1", "2", "3"), flags={"--a": (("1", "2"),), "--b": (("2", "3"),)}, source="")
        >>> table.releases_with("--a"), table.releases_with("--b"), table.releases_with("--c")
        ('1 to 2', '2 or later', '')
        """
        newest = self.releases[-1]
        runs = self.flags.get(flag, ())
        return " or ".join(f"{first} or later" if last == newest else f"{first} to {last}" for first, last in runs)


def numbers(release: str) -> tuple[int, ...]:
    """A release as numbers that compare; llama.cpp's builds (b6900) are older than its releases with three numbers.

    >>> numbers("0.11.0"), numbers("b6900")
    ((0, 11, 0), (0, 0, 6900))
    """
    if release.startswith("b"):
        return 0, 0, int(release[1:])
    return tuple(int(part) for part in release.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A word by which releases of an engine are told to make a format of 16-bit weights while they load them."""

    weights: str  # as `at_load` has it
    word: str  # the value of its flag `quantization`
    since: str = ""  # the first release that knows it; "" for any
    until: str = ""  # the first that does not any more; "" for none

    def known_to(self, release: tuple[int, ...]) -> bool:
        """Whether a release knows it; a tag of two numbers moves with the newest of these."""
        newest = (*release, 10**6) if len(release) == 2 else release
        return (not self.since or newest >= numbers(self.since)) and (not self.until or newest < numbers(self.until))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A row of engines/models.csv: which releases of an engine have models of some types; the first that fits counts.

    By the `model_type` of a configuration where it is known, else by words in the last part of a name.
    """

    engine: str  # name of its releases
    types: str = ""  # values of `model_type`, with spaces between
    names: str = ""  # pattern of whole words of a name
    since: str = ""  # the first release that has them; "" for none
    until: str = ""  # the first that has them no more; "" where the newest that was read has them
    source: str

    def fits(self, name: str) -> bool:
        pattern = rf"(?:^|[-_.])(?:{self.names})(?=$|[-_.])"
        return bool(self.names) and re.search(pattern, name.rstrip("/").rpartition("/")[2], re.IGNORECASE) is not None

    def in_release(self, release: tuple[int, ...]) -> bool:
        """Whether a release has them; a tag of two numbers moves with the newest of these."""
        newest = (*release, 10**6) if len(release) == 2 else release
        return bool(self.since) and newest >= numbers(self.since) and not (self.until and newest >= numbers(self.until))

    @property
    def releases(self) -> str:
        """Those that have them, in words."""
        return f"{self.since} or later" + (f" before {self.until}" if self.until else "")


@dataclass(frozen=True, slots=True)
class Build:
    """Which GPUs an image runs on: the first word of its tag, compute capabilities times ten, and its first release."""

    word: str  # "" for none
    least: int
    most: int
    since: str = ""

    def runs_on(self, capability: int, release: tuple[int, ...] = ()) -> bool:
        """Whether it is made for a compute capability; in a release, where one is given."""
        made = not (release and self.since) or numbers(self.since) <= release
        return self.least <= capability <= self.most and made


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceEngine:
    """One inference engine: how it is started, what it serves on which accelerators, how its load is measured."""

    name: str  # as a run names it
    images: Mapping[str, str]  # runtime of the accelerator -> repository of the engine's own image for it
    families: frozenset[str]  # decoder | encoder | speech | vision | diffusion: what it serves
    default_for: frozenset[str]  # families that it serves where nobody names an engine
    command: tuple[str, ...]  # first words of the command line
    fixed: tuple[str, ...]  # words that no decision changes, after the flags
    flags: Mapping[Meaning, Flag]
    env: Mapping[str, str]  # "{cache}" is a folder that may be written
    ready: str  # path that answers once it can serve
    protocol: Literal["openai", "kserve-v2"]  # what its clients speak
    in_flight: str  # PromQL: requests that run or wait; "{0}" is the selector of its pods
    hub: bool  # loads weights by the model's own name on the Hub; else it has to be told where they lie
    nodes_max: int | None  # machines that one replica may span; None: any number
    at_load: frozenset[str]  # precisions that it makes of 16-bit weights while it loads them
    predicted_as: str  # the engine whose fitted constants predict it
    image_example: str  # an image with a version, for messages
    model_example: str
    source: str
    checked: str
    alive: str = ""  # path that fails where only a new start helps; "": that of `ready`
    default_on_cpu: frozenset[str] = frozenset()  # families that it serves on machines without accelerators
    tags: Mapping[str, str] = field(default_factory=dict)  # runtime -> pattern of tags, where one repository has all
    shares_context: bool = False  # the longest sequence that it is told is that of all sequences together
    cache_env: str = ""  # variable that says the attention cache's GiB on a machine without accelerator
    reads: frozenset[str] = frozenset()  # where weights may lie beside a folder: "hub", or the scheme of a URI
    builds: tuple[Build, ...] = ()  # its images for different generations of GPUs
    adapter_ranks: tuple[int, ...] = ()  # that room for LoRA adapters can be reserved in, smallest first
    conversions: tuple[
        Conversion, ...
    ] = ()  # how releases are asked for `at_load`, oldest first; (): as its flag has it
    converts_by_layer: str = ""  # first release that holds one layer at a time in 16 bits while it does; "": not known
    drafts_from: str = ""  # first release that takes a draft model for speculative decoding
    undrafted: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # what keeps a draft model from starting (`workload.drafts.BARS`) -> releases, as they begin
    lacks: Mapping[str, str] = field(
        default_factory=dict
    )  # family -> the package for it that its own images are without
    types_read: bool = False  # whether models.csv has every type that it serves
    onnx_on: frozenset[str] = frozenset()  # runtimes whose images load a model of any type where it is exported to ONNX
    package: str = ""  # name of its releases: `<package>_flags.json` beside the record has the flags of each

    @property
    def flag_table(self) -> FlagTable | None:
        """The flags that its releases know; None where nobody has read them."""
        return _table(self.package) if self.package else None

    @property
    def runtimes(self) -> tuple[str, ...]:
        """Runtimes of accelerators that it has an image for."""
        return tuple(self.images)

    def serves(self, family: str, *, writes: bool = True) -> bool:
        """Whether it serves a family of models; one that writes nothing is embedded with, as encoders are.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> tei = ENGINES["text-embeddings-inference"]
        >>> tei.serves("decoder"), tei.serves("decoder", writes=False), tei.serves("speech")
        (False, True, False)
        """
        return family in self.families or (family == "decoder" and not writes and "encoder" in self.families)

    def served(self, *names: str | None, model_type: str | None = None) -> Served | None:
        """Which of its releases have a model, by its type where one is known; None where nothing is written down.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> vllm = ENGINES["vllm"]
        >>> vllm.served("Qwen/Qwen3-8B").since, vllm.served("me/mine", model_type="gpt_oss").since
        ('0.8.4', '0.10.1')
        >>> vllm.served("deepseek-ai/DeepSeek-R1-Distill-Llama-8B"), vllm.served("/mnt/qwen3/mine")
        (None, None)
        """
        rows = [row for row in _served() if row.engine == self.package]
        if model_type:
            return next((row for row in rows if model_type in row.types.split() or row.fits(model_type)), None)
        return next((row for name in names if name for row in rows if row.fits(name)), None)

    def without(self, *names: str | None, model_type: str | None = None) -> str:
        """The first of a model's names, or its type, whose layers no release of the engine has; "" where none is known.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> lacking = ENGINES["vllm"].without
        >>> lacking("google-t5/t5-large"), lacking("/m", model_type="deberta-v2"), lacking("x/all-mpnet-base-v2")
        ('google-t5/t5-large', 'deberta-v2', 'x/all-mpnet-base-v2')
        >>> lacking("BAAI/bge-m3"), lacking(None, model_type="xlm-roberta"), lacking("/mnt/led-x/qwen3-8b/")
        ('', '', '')
        >>> ENGINES["text-embeddings-inference"].without("/m", model_type="electra")
        'electra'
        """
        if model_type:
            row = self.served(model_type=model_type)
            return model_type if (row is None and self.types_read) or (row is not None and not row.since) else ""
        rows = {name: self.served(name) for name in names if name}
        return next((name for name, row in rows.items() if row is not None and not row.since), "")

    def converting(self, weights: str, release: tuple[int, ...]) -> str | None:
        """The word that asks a release for a format; the oldest where the release is not known, None where it cannot.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> [ENGINES["vllm"].converting("fp8", release) for release in ((), (0, 11, 0), (0, 33, 0))]
        ['fp8', 'fp8', 'fp8_per_tensor']
        >>> ENGINES["vllm"].converting("nf4", (0, 28))
        """
        ways = [way for way in self.conversions if way.weights == weights]
        if not ways:
            return weights
        known = [way.word for way in ways if not release or way.known_to(release)]
        return known[0] if known else None

    def build_for(self, capability: int) -> Build | None:
        """The image that is made for a compute capability and the fewest others; None where nothing says it.

        >>> from sizewell.sizing.catalog.engines import ENGINES
        >>> tei = ENGINES["text-embeddings-inference"]
        >>> [build.word for each in (75, 80, 86, 89, 90, 100, 120) if (build := tei.build_for(each))]
        ['turing', '', '86', '89', 'hopper', '100', '120']
        >>> tei.build_for(70), tei.build_for(120).since
        (None, '1.9')
        """
        made = [build for build in self.builds if build.runs_on(capability)]
        return min(made, key=lambda build: (build.most - build.least, -build.least), default=None)

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


@cache
def _served() -> tuple[Served, ...]:
    return tuple(csvtables.read(Served, Path(__file__).parent / "engines/models.csv"))


@cache
def _table(package: str) -> FlagTable:
    path = resources.files("sizewell.sizing.catalog.engines") / f"{package}_flags.json"
    read = json.loads(path.read_text(encoding="utf-8"))
    runs = {flag: tuple((first, last) for first, last in pairs) for flag, pairs in read["flags"].items()}
    source = f"{', '.join(read['files'])} of {package} {read['releases'][0]} to {read['releases'][-1]}"
    return FlagTable(releases=tuple(read["releases"]), flags=runs, source=source)
