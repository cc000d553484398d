"""The record of a run: typed fields with an allowed form each, and none for free text.

Nothing is taken out of it: what has no field here, such as a name, an address, an account or a message of a cloud,
never gets in. Regions and machine types are those of the catalog.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.versions import refusal, schema_of

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

Name = Literal[
    "rights",
    "up",
    "reachable",
    "guard",
    "checkpoint",
    "measured",
    "collective",
    "billed",
    "destroyed",
    "inventory",
]
STAGES: Final[tuple[Name, ...]] = get_args(Name)
WHAT: Final[dict[Name, str]] = {
    "rights": "account, rights, quotas and stock, as `doctor --cloud` asks for them",
    "up": "the stack is built, its expiry stack first",
    "reachable": "the cloud lists what was built, and its endpoints accept connections",
    "guard": "left idle, each pool is scaled to zero by its own guard",
    "checkpoint": "a checkpoint is written, the machine killed, the run resumed",
    "measured": "measured throughput, memory and latency beside the prediction",
    "collective": "bandwidth of collectives between two nodes, measured",
    "billed": "what was billed beside what was previewed",
    "destroyed": "the stack is destroyed, with what a lost answer of a cloud left",
    "inventory": "the cloud lists nothing with the stack's tags any more",
}
Outcome = Literal["passed", "failed", "not tried"]
Cause = Literal[
    "",
    "denied",  # a right is missing
    "login",  # none, or expired
    "quota",
    "capacity",  # the cloud has no such machine now
    "throttled",
    "unanswered",  # by the cloud or the backend
    "missing",  # something that was asked for by name
    "engine",  # `pulumi` failed otherwise
    "killed",  # before its outcome was known
    "interrupted",  # by whoever ran it
    "clock",  # the machine's clock went back
    "limit",  # of money or time: it would have passed one
    "left",  # something is still there
    "unreached",
    "still running",  # the guard did not fire in its time
    "not asked for",
    "no data",  # no file with it was given
    "not automated",  # this release has no such stage
    "earlier stage",  # that it needs failed
    "nothing built",
    "checks",  # of the account failed
]
Figure = Literal[
    "checks",
    "checks_failed",
    "checks_not_known",
    "pools",
    "pools_in_stock",
    "resources",
    "resources_listed",
    "endpoints",
    "endpoints_reached",
    "machines_at_first",
    "machines_at_last",
    "rounds",
    "resources_left",
    "resources_left_billed",
    "resources_not_known",
    "usd_billed",
    "usd_previewed",
    "usd_credits",
    "usd_taxes",
    "rows_counted_once",
    "step_time_s_measured",
    "step_time_s_predicted",
    "memory_bytes_measured",
    "memory_bytes_predicted",
    "rps_measured",
    "utilization_measured",
    "ttft_s_measured",  # to the first token
    "ttft_s_predicted",
    "tpot_s_measured",  # for each further one
    "tpot_s_predicted",
    "output_tokens_per_s_measured",
]
CLOCKS_DIFFER: Final = timedelta(hours=1)
_VERSION: Final = r"v?\d{1,4}\.\d{1,4}(\.\d{1,6})?((a|b|rc|-alpha\.|-beta\.|-rc\.|\.dev|\.post)\d{1,10})?"
Cloud = Annotated[str, Field(json_schema_extra={"enum": list(CLOUDS)})]
Version = Annotated[str, Field(pattern=f"^{_VERSION}$")]
Region = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{2,29}$")]
MachineType = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9._-]{1,49}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Package = Literal["sizewell", "python", "pulumi", "pulumi-aws", "pulumi-gcp", "pulumi-azure-native"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Machine(_Part):
    """One sort of machine of the stack: how many at most, and how they are paid."""

    cloud: Cloud
    region: Region
    instance_type: MachineType
    market: Literal["on-demand", "spot", "reserved-1y", "reserved-3y", "capacity-block", "flex-start"]
    nodes_max: Annotated[int, Field(ge=0)]


class Stage(_Part):
    """What came of one stage; `usd_max` is the price that was said before it."""

    stage: Name
    outcome: Outcome
    cause: Cause = ""
    seconds: Amount | None = None
    usd_max: Amount | None = None
    figures: dict[Figure, Amount] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _reasoned(self) -> Stage:
        if (self.outcome == "passed") == bool(self.cause):
            raise ValueError(f"{self.stage}: {self.outcome} {'has a' if self.cause else 'without a'} cause")
        return self


class Attempt(_Part):
    """A stage that was tried before, and failed or was cut off; what came of the last time stands in `stages`."""

    stage: Name
    cause: Cause
    seconds: Amount | None = None


class Limits(_Part):
    """What the run was allowed to spend and take, and an upper bound of both as it ended."""

    usd: Amount
    seconds: Amount
    usd_per_hour_max: Amount
    usd_spent_max: Amount
    seconds_spent: Amount
    kept: bool


NEEDS: Final[dict[Name, Name]] = {  # a stage passes only after another
    "reachable": "up",
    "guard": "up",
    "measured": "up",
    "inventory": "destroyed",
}
BILLED_TIME: Final[tuple[Name, ...]] = ("up", "reachable", "guard", "destroyed", "inventory")
PROVED: Final[dict[Name, Callable[[dict[Figure, float]], bool]]] = {  # what figures say where a stage passed
    "rights": lambda said: said.get("checks_failed") == 0,
    "reachable": lambda said: said.get("endpoints", -1) == said.get("endpoints_reached"),
    "guard": lambda said: said.get("machines_at_first", 0) > 0 == said.get("machines_at_last"),
    "billed": lambda said: said.get("usd_billed", math.inf) <= said.get("usd_previewed", -1),
    "inventory": lambda said: said.get("resources_left") == 0,
}


def _said(outcome: Outcome) -> str:
    return "failed" if outcome == "failed" else f"was {outcome}"


class Record(_Part):
    """What ran where, when, by which versions, and what came of it; every stage stands in it once."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)

    schema_id: Literal["sizewell.evidence/1"] = Field(alias="schema")
    run: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="random, by which a run is known")]
    versions: dict[Package, Version]
    machines: Annotated[tuple[Machine, ...], Field(strict=False)]
    started_at: Moment
    ended_at: Moment
    interrupted: Annotated[int, Field(ge=0, description="how often the run was killed and taken up again")]
    clock_went_back: bool
    limits: Limits
    stages: Annotated[tuple[Stage, ...], Field(strict=False)]
    attempts: Annotated[tuple[Attempt, ...], Field(strict=False, description="earlier ones, in their order")] = ()

    @model_validator(mode="after")
    def _whole(self) -> Record:
        if tuple(each.stage for each in self.stages) != STAGES:
            raise ValueError(f"stages: must be {', '.join(STAGES)}, each once and in this order")
        if self.limits.kept == (
            self.limits.usd_spent_max > self.limits.usd or self.limits.seconds_spent > self.limits.seconds
        ):
            raise ValueError("limits.kept: does not agree with what was spent")
        outcomes = {each.stage: each.outcome for each in self.stages}
        passed = {name for name, outcome in outcomes.items() if outcome == "passed"}
        if "up" in passed and outcomes["destroyed"] == "not tried":
            raise ValueError("stages: what was built was not destroyed")
        for name, needed in NEEDS.items():
            if name in passed and needed not in passed:
                raise ValueError(f"stages: {name} passed, and {needed}, which it needs, {_said(outcomes[needed])}")
        built = outcomes["up"] != "not tried"
        if not built and passed & {"destroyed", "billed"}:
            raise ValueError("stages: destroyed or billed passed, and up was not tried")
        if built and outcomes["rights"] == "failed":
            raise ValueError("stages: up was tried, and rights failed")
        if built and not self.machines:
            raise ValueError("machines: there is none, and up was tried")
        for name in passed & PROVED.keys():
            if not PROVED[name](self.stage(name).figures):
                raise ValueError(f"stages: {name} passed, and its figures do not say so")
        if sum(self.stage(name).seconds or 0.0 for name in BILLED_TIME) > self.limits.seconds_spent + len(BILLED_TIME):
            raise ValueError("stages: they took longer than the run, limits.seconds_spent")
        if any(
            (each.seconds or 0.0) > self.limits.seconds_spent + 1 for each in self.attempts if each.stage != "rights"
        ):
            raise ValueError("attempts: one took longer than the run, limits.seconds_spent")
        if built and self.limits.usd_spent_max < self.limits.usd_per_hour_max * self.limits.seconds_spent / 3600 - 0.01:
            raise ValueError("limits.usd_spent_max: is less than its hours cost")
        return self

    def stage(self, name: Name) -> Stage:
        """What came of a stage."""
        return self.stages[STAGES.index(name)]

    @property
    def failed(self) -> tuple[Stage, ...]:
        return tuple(each for each in self.stages if each.outcome == "failed")

    def to_json(self) -> str:
        """The bytes that are signed: JSON with a newline at the end."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2) + "\n"

    @property
    def file_name(self) -> str:
        """What it is called among others: its day, where it ran, and the run."""
        places = "-".join(sorted({f"{each.cloud}-{each.region}" for each in self.machines})[:2]) or "nowhere"
        return f"{self.started_at[:10]}-{places}-{self.run[:8]}.json"


def schema() -> dict[str, Any]:
    """The JSON Schema of a record."""
    document = Record.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": schema_of("evidence")}


def read(text: str, subject: str, catalog: Catalog) -> Record:
    """A record out of a file; ConfigError with every fault, what the catalog does not know among them."""
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        message = f"is not JSON: {error}"
        raise ConfigError([Fault(path="", message=message, fix=WRITE_AGAIN)], subject=subject) from None
    if not isinstance(data, dict):
        raise ConfigError([Fault(path="", message="must be an object", fix=WRITE_AGAIN)], subject=subject)
    wrong, fix = refusal("evidence", data.get("schema"))
    if wrong:
        raise ConfigError([Fault(path="schema", message=wrong, fix=fix)], subject=subject)
    try:
        record = Record.model_validate_json(json.dumps(data))
    except ValidationError as error:
        faults = [
            Fault(path=".".join(map(str, each["loc"])), message=each["msg"], fix=WRITE_AGAIN)
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigError(faults, subject=subject) from None
    if faults := list(_unknown(record, catalog)):
        raise ConfigError(faults, subject=subject)
    return record


WRITE_AGAIN: Final = "write it again from the journal of its run: sizewell evidence write STACK --key KEY --yes"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} stands twice")
    return dict(pairs)


def _unknown(record: Record, catalog: Catalog) -> Iterator[Fault]:
    for number, machine in enumerate(record.machines):
        if machine.cloud not in CLOUDS:
            yield Fault(path=f"machines[{number}].cloud", found=machine.cloud, allowed=f"one of {', '.join(CLOUDS)}")
            continue
        if (machine.cloud, machine.instance_type) not in catalog.shapes_by_type:
            message = f"the catalog has no {machine.instance_type} of {machine.cloud}"
            yield Fault(path=f"machines[{number}].instance_type", message=message, fix="name it as the catalog does")
        if machine.region not in catalog.regions(machine.cloud):
            message = f"the catalog has no region {machine.region} of {machine.cloud}"
            yield Fault(path=f"machines[{number}].region", message=message, fix="name it as the cloud does")
    times = []
    for key in ("started_at", "ended_at"):
        try:
            times.append(datetime.fromisoformat(getattr(record, key)))
        except ValueError:
            yield Fault(path=key, found=getattr(record, key), allowed="a time such as 2026-11-20T12:00:00Z")
    if len(times) == 2 and times[1] < times[0]:
        yield Fault(path="ended_at", found=record.ended_at, allowed=f"{record.started_at} or later", fix=WRITE_AGAIN)
    if times and max(times) > (now := datetime.now(UTC)) + CLOCKS_DIFFER:
        message = f"is in the future: it is {now:%Y-%m-%dT%H:%M:%SZ}"
        yield Fault(
            path="ended_at", message=message, fix="set this machine's clock, or take a record whose run is over"
        )


def version(text: str) -> str:
    """A version as a record may have it; "0.0" for one of another form, such as a build of one's own with a path in it.

    >>> version("v3.210.0"), version("0.1.dev3+g1a2b/home/me")
    ('v3.210.0', '0.0')
    """
    return text if re.fullmatch(_VERSION, text) else "0.0"
