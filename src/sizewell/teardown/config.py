"""`stacks/config/teardown.yaml`: limits, the times at which something may be stopped, identities. Its schema is
sizewell/schemas/teardown.schema.json.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    model_validator,
)

from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.places import locating, read_yaml
from sizewell.sizing.records.stackname import normal_environment
from sizewell.sizing.secrets import CONNECTION, SHAPES
from sizewell.sizing.validating import faults_of
from sizewell.sizing.versions import content
from sizewell.teardown import closed
from sizewell.teardown.records import Limits, Protection, Rules, printable, until_of
from sizewell.teardown.schedules import LOGINS

SCHEMA: Final = "sizewell.teardown/1"
PATH: Final = "stacks/config/teardown.yaml"
JOURNAL: Final = r"^(s3|gs|az|file)://.+"
ADDRESS: Final = r"^[^@\s]+@[^@\s]+$"
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


MIDNIGHT: Final = "24:00"  # as the end of a day
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name!r} is not an IANA time zone such as Europe/London")
    return name


def _start(text: object) -> str:
    if not isinstance(text, str) or not _CLOCK.fullmatch(text):
        raise ValueError(f'{text!r} is not a time of day in quotes, such as "07:00"')
    return text


def _end(text: object) -> str:
    return MIDNIGHT if text == MIDNIGHT else _start(text)


def _variable(name: str) -> str:
    if name and not _VARIABLE.fullmatch(name):
        raise ValueError("must be the name of an environment variable, such as SMTP_PASSWORD; its value stands nowhere")
    return name


Variable = Annotated[str, AfterValidator(_variable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Window(_Part):
    """Hours in which stacks of an environment may be stopped, by the clock of a time zone. The end is not in it."""

    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = Field(min_length=1)
    start: Annotated[str, BeforeValidator(_start)]
    end: Annotated[str, BeforeValidator(_end)]
    time_zone: Annotated[str, AfterValidator(_zone)]

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.start == self.end:
            raise ValueError(
                f"start and end are both {self.start}: it has no length; "
                'for whole days write start "00:00" and end "24:00", for any time leave windows out'
            )
        return self

    def open_at(self, at: datetime) -> bool:
        """Whether a time lies in the window.

        It opens once on each of its days, whatever the clocks do, and only while they show a time in it: where it
        begins in an hour that comes twice, in the second one, and where it ends in one, in the first. A window that
        begins in an hour that is left out begins when that is over. One that would lie in either wholly keeps its
        length. A window whose end is not after its start goes on over midnight; its days are those on which it starts.
        """
        today = at.astimezone(ZoneInfo(self.time_zone)).date()
        days = (today - timedelta(days=1), today)
        return any(
            start <= at < end for day in days for start, end in [self._span(day)] if DAYS[day.weekday()] in self.days
        )

    def next_open(self, at: datetime) -> datetime | None:
        """When it opens next; None where it is open."""
        today = at.astimezone(ZoneInfo(self.time_zone)).date()
        days = [today + timedelta(days=number) for number in range(9)]
        starts = [self._span(day)[0] for day in days if DAYS[day.weekday()] in self.days]
        return None if self.open_at(at) else min(start for start in starts if start > at)

    def _span(self, day: date) -> tuple[datetime, datetime]:
        """From when until when the window of a day is open."""
        zone = ZoneInfo(self.time_zone)
        start, end = (
            datetime.combine(day, time.fromisoformat(text.replace(MIDNIGHT, "00:00")))
            for text in (self.start, self.end)
        )
        end += timedelta(days=1) if end <= start else timedelta()
        opens, closes = _reached(start, zone)[-1], _reached(end, zone)[0]
        return opens, closes if closes > opens else opens + (end - start)


def _reached(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    """When a clock on the wall reaches a time, once or twice; where it leaves that out, when it is past it first."""
    before, after = closed.instants(wall, zone)
    if before.astimezone(zone).replace(tzinfo=None) == wall:
        return before, after
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        if middle.astimezone(zone).replace(tzinfo=None) < wall:
            before = middle
        else:
            after = middle
    return (after.replace(microsecond=0),)


def _days(value: object) -> str:
    text = str(value.isoformat() if isinstance(value, date) else value)
    closed.days_of(text)
    return text


class Closed(_Part):
    """Days on which nothing is stopped: public holidays of a country, the events of a calendar, or dates."""

    country: str = ""  # as ISO 3166 has it, such as GB
    subdivision: str = ""  # such as ENG, or BY in DE; nationwide: without the holidays of its parts, which "" says
    ics: str = Field(
        "", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*\.ics)?$", examples=["freeze.ics"]
    )  # a file beside this one
    dates: tuple[Annotated[str, BeforeValidator(_days)], ...] = ()  # 2026-12-24, or 2026-12-24..2027-01-02
    time_zone: Annotated[str, AfterValidator(_zone)]  # in which their days begin and end
    reason: str = "it is a closed day"  # of dates; holidays and events have names
    _events: str = PrivateAttr("")  # the text of the file

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(map(bool, (self.country, self.ics, self.dates))) != 1:
            raise ValueError("must have one of country, ics and dates")
        return self

    def closed_at(self, at: datetime) -> tuple[datetime, str] | None:
        """Until when nothing is stopped, and why; None where this calendar closes nothing then."""
        spans = [span for span in self._spans(at) if span[0] <= at < span[1]]
        return max(((until, why) for _, until, why in spans), default=None)

    def _spans(self, at: datetime) -> Sequence[closed.Span]:
        year = at.astimezone(ZoneInfo(self.time_zone)).year
        if self.dates:
            return closed.of_dates(self.dates, self.time_zone, self.reason)
        if self.country:
            return closed.of_country(self.country, self.subdivision, self.time_zone, year)
        return closed.of_events(self._events, self.time_zone, year)


Mode = Literal["observe", "act"]


class Modes(_Part):
    """What each act does: carried out, or only noted as what would have been done. None: as outside of this."""

    empty: Mode | None = None
    destroy: Mode | None = None


_ONE, _EACH = "one mode", "a mode each"  # members of the union; they stand in no document
ModeOrModes = Annotated[
    Annotated[Mode, Tag(_ONE)] | Annotated[Modes, Tag(_EACH)],
    Discriminator(lambda value: _EACH if isinstance(value, Mapping | Modes) else _ONE),
]


class Environment(_Part):
    """What holds for the stacks of an environment."""

    mode: ModeOrModes | None = None  # None: as for every environment
    empty_days: float | None = Field(default=None, gt=0, le=3650)  # None: empty stacks are reported, never destroyed
    windows: tuple[Window, ...] = ()  # none: at any time
    closed: tuple[Closed, ...] = ()  # stronger than the windows
    expiry: Literal["idle", "firm"] = "idle"  # firm: an end destroys what is in use too, after a last notice


def _until(value: object) -> str:
    text = str(value.isoformat() if isinstance(value, date) else value)
    until_of(text)
    return text


class Protected(_Part):
    """A stack that stays until a time, or through the whole of a day."""

    until: Annotated[str, BeforeValidator(_until)]
    reason: str = Field(min_length=1)


class Identity(_Part):
    """Settings under which an account is read, and those of the engine that changes it.

    Values are names of profiles and paths, no secrets: this file is committed.
    """

    reads: Mapping[str, str] = {}
    deletes: Mapping[str, Mapping[str, str]] = {}  # by environment


class Mail(_Part):
    """The server through which e-mail goes where a stack has no topic that sends it."""

    host: str = Field(min_length=1)
    port: int = Field(default=587, ge=1, le=65535)
    sender: str = Field(pattern=ADDRESS, examples=["teardown@example.com"])
    tls: Literal["starttls", "implicit", "none"] = "starttls"  # none: a relay on the same machine
    user: str = ""  # "": without a login
    password_env: Variable = ""  # name of the variable with its password


class Operators(_Part):
    """Who runs teardown: hears what no receiver of a stack can, and what concerns no single stack. Addresses that are
    secrets stand in variables of the process, which are named here.
    """

    emails: tuple[Annotated[str, Field(pattern=ADDRESS)], ...] = Field(default=(), examples=["platform@example.com"])
    webhooks_env: tuple[Variable, ...] = ()
    pagerduty_env: tuple[Variable, ...] = ()


class Queries(_Part):
    """Queries of a queue and a service, each of one value."""

    queued: str = ""  # how many jobs wait, such as sum(kueue_pending_workloads{cluster_queue="train"})
    running: str = ""  # how many run
    requests: str = ""  # requests per second, by a counter that probes do not raise


class Prometheus(Queries):
    """A Prometheus API that has the metrics, the queues or the requests of a stack's cluster."""

    url: str = Field(pattern=r"^https?://", examples=["http://prometheus.monitoring:9090"])
    token_env: Variable = ""  # name of the variable with a bearer token; "": none is sent
    scrape_s: float = Field(default=30.0, gt=0, le=3600)
    pools: Mapping[str, Queries] = {}  # by pool: instead of those of the whole cluster

    def queries(self, pool: str) -> Queries:
        """The queries of a pool: its own, or those of the whole cluster."""
        return self.pools.get(pool, self)


class TeardownConfig(_Part):
    """What `sizewell teardown` goes by."""

    schema_: Literal["sizewell.teardown/1"] = Field(alias="schema")
    journal: str = Field(
        pattern=JOURNAL,
        examples=["s3://bucket/prefix", "gs://bucket/prefix", "az://account/container/prefix", "file:///path"],
    )  # where notices, acts and locks are written
    mode: Mode = "observe"  # of each environment that has none of its own
    coverage: float = Field(default=0.95, ge=0.5, le=1)
    queued_max_hours: float = Field(default=24, gt=0, le=8760)
    stack_grace_hours: float = Field(default=24, ge=0, le=8760)
    expiry_notice_days: tuple[Annotated[int, Field(ge=0, le=365)], ...] = (7, 1)
    at_most_stacks: int = Field(default=5, ge=0)
    at_most_percent: float = Field(default=20, ge=0, le=100)
    halt_missing_percent: float = Field(default=45, gt=0, le=100)
    halt_missing_pools: int = Field(default=3, ge=1)  # fewer without telemetry are kept, and halt nothing else
    update_hours_max: float = Field(
        default=6, gt=0, le=8760
    )  # an older lock of the engine is reported: its engine may be dead
    clock_off_s_max: float = Field(default=300, gt=0, le=86_400)
    plan_hours_max: float = Field(default=4, gt=0, le=8760)  # an older plan is not acted on
    environments: Mapping[str, Environment] = {
        "dev": Environment(empty_days=14),
        "staging": Environment(empty_days=14),
        "prod": Environment(),
    }
    closed: tuple[Closed, ...] = ()  # in each environment
    production: tuple[str, ...] = ()  # production stacks that may be stopped; all others are reported alone
    protected: Mapping[str, Protected] = {}
    identities: Mapping[str, Identity] = {}  # by account, project or subscription
    prometheus: Mapping[str, Prometheus] = {}  # by stack
    mail: Mail | None = None
    operators: Operators = Operators()
    idle_power_w: Mapping[
        str, Annotated[float, Field(gt=0)]
    ] = {}  # of one accelerator of a machine type, as somebody measured it idle

    def limits(self) -> Limits:
        """The limits of decisions."""
        return Limits(
            coverage=self.coverage,
            queued_max_s=self.queued_max_hours * 3600,
            stack_grace_s=self.stack_grace_hours * 3600,
            expiry_notice_days=self.expiry_notice_days,
            empty_days={
                normal_environment(name): environment.empty_days
                for name, environment in self.environments.items()
                if environment.empty_days is not None
            },
            update_s_max=self.update_hours_max * 3600,
            environments={
                normal_environment(name): Rules(
                    windows=environment.windows,
                    closed=(*self.closed, *environment.closed),
                    firm=environment.expiry == "firm",
                )
                for name, environment in self.environments.items()
            },
            production=frozenset(self.production),
        )

    def acts(self, environment: str, action: str) -> bool:
        """Whether an act ("empty", "destroy") is carried out in an environment, or only noted."""
        named = {normal_environment(name): each.mode for name, each in self.environments.items()}
        mode = named.get(normal_environment(environment))
        if isinstance(mode, Modes):
            mode = mode.destroy if action == "destroy" else mode.empty
        return (mode or self.mode) == "act"

    def protection(self, stack: str) -> Protection | None:
        """A person's word that the stack stays."""
        word = self.protected.get(stack)
        if word is None:
            return None
        until, unclear = until_of(word.until)
        return Protection(until=until, reason=printable(word.reason), unclear=unclear)

    def deleter(self, accounts: Sequence[str], environment: str) -> Mapping[str, str]:
        """Settings of the identity that deletes in a stack's account and environment; {} where none is named."""
        for account in accounts:
            identity = self.identities.get(account)
            for name, settings in identity.deletes.items() if identity is not None else ():
                if normal_environment(name) == normal_environment(environment):
                    return settings
        return {}

    def open_at(self, environment: str, at: datetime) -> bool:
        """Whether a stack of an environment may be stopped at a time. One that the file does not name never may."""
        rules = self.limits().rules(environment)
        return rules is not None and rules.opens(at) == at


def read_config(root: Path) -> TeardownConfig:
    """The project's file. ConfigError with every fault, and where there is none."""
    path = root / PATH
    if not path.exists():
        fix = "write one: `schema: sizewell.teardown/1` and `journal:`; see `sizewell docs tear-down`"
        raise ConfigError([Fault(path=PATH, message="is missing", fix=fix)])
    document = read_yaml(path, PATH)
    with locating(document.places):
        return parse_config(document.data, root)


def journal_of(root: Path) -> str:
    """Where the journal is. A lease and a pause have to be possible too while something else in the file is wrong;
    ConfigError where it names none.
    """
    path = root / PATH
    stated = read_yaml(path, PATH).data if path.exists() else None
    named = stated.get("journal") if isinstance(stated, Mapping) else None
    return named if isinstance(named, str) and re.match(JOURNAL, named) else read_config(root).journal


def parse_config(data: Any, root: Path = Path()) -> TeardownConfig:
    """The content of the file, and of the calendars that it names. ConfigError with every fault."""
    content("teardown", data, PATH)
    try:
        config = TeardownConfig.model_validate(data)
    except ValidationError as error:
        faults = faults_of(error, TeardownConfig, hidden=(_ONE, _EACH))
        raise ConfigError([_worded(fault) for fault in faults], subject=PATH) from None
    if faults := [*_inconsistencies(config, data), *_calendars(config, root)]:
        raise ConfigError(faults, subject=PATH)
    return config


def _worded(fault: Fault) -> Fault:
    """A fault of the journal's place with what the place is, and the address that is meant by a bare name."""
    if fault.path != "journal":
        return fault
    name = str(fault.found).strip("/ ")
    address = (
        f"s3://{name}/records, or with gs:// or az://ACCOUNT/" if re.fullmatch(r"[a-z0-9][a-z0-9./-]+", name) else ""
    )
    way = f"write {address}" if address else "write journal: s3://BUCKET/PREFIX, gs://, az:// or file:///FOLDER"
    return replace(fault, allowed="where notices, acts and locks are written: a bucket with a folder in it", fix=way)


# What contradicts itself, or would be passed over --------------------------------------------------------------------

_ACCOUNT: Final = re.compile(  # of AWS; of Google Cloud; of Azure
    r"\d{12}|[a-z][a-z0-9-]{4,28}[a-z0-9]|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)


def _inconsistencies(config: TeardownConfig, data: Any) -> Iterator[Fault]:
    """What the schema allows and nobody can mean: it would be read as nothing, or do nothing."""
    yield from _environments(config)
    yield from _identities(config)
    for stack, stated in config.prometheus.items():
        for path, queries in (
            (stack, stated),
            *((f"{stack}.pools.{name}", each) for name, each in stated.pools.items()),
        ):
            if bool(queries.queued) != bool(queries.running):
                missing = "running" if queries.queued else "queued"
                message = f"is missing: without it nobody knows of {stack} whether a job waits or runs"
                yield Fault(path=f"prometheus.{path}.{missing}", message=message, fix="name both queries, or none")
        for name, queries in stated.pools.items():
            if not (queries.queued or queries.requests):
                yield Fault(path=f"prometheus.{stack}.pools.{name}", message="names no query", fix="remove it")
    if config.mail is not None:
        yield from _mail(config.mail)
    for path, text in _texts(data):
        if SHAPES.search(text) or CONNECTION.search(text) or _opens(text):
            fix = "remove it, and replace the secret: whoever could read the file has it"
            yield Fault(path=path, message="holds a secret, and this file is committed", fix=fix)


_KEYS: Final = re.compile(r"(?:.*[_-])?(?:token|secret|password|passwd|sig|signature|api-?_?key|apikey)", re.IGNORECASE)


def _opens(text: str) -> bool:
    """Whether an address carries what opens it: a password, or a parameter that is named as a secret is."""
    try:
        parts = urlsplit(text)
        stated = parse_qsl(parts.query)
    except ValueError:
        return False
    return "://" in text and (bool(parts.password) or any(_KEYS.fullmatch(key) and value for key, value in stated))


def calendars(config: TeardownConfig) -> Iterator[tuple[str, Closed]]:
    """Each calendar of closed days, with its path."""
    stated = {"closed": config.closed}
    stated |= {f"environments.{name}.closed": each.closed for name, each in config.environments.items()}
    for path, listed in stated.items():
        yield from ((f"{path}[{number}]", each) for number, each in enumerate(listed))


def _calendars(config: TeardownConfig, root: Path) -> Iterator[Fault]:
    """Read the files of calendars, and what is wrong with them and with countries."""
    for path, each in calendars(config):
        if each.subdivision and not each.country:
            message = f"{each.subdivision!r} is part of a country, and none is named"
            fix = "add its country, such as country: DE, or remove it"
            yield Fault(path=f"{path}.subdivision", message=message, fix=fix)
        if each.country:
            yield from closed.country_faults(path, each.country, each.subdivision)
        elif each.ics:
            each._events, faults = closed.events_of(path, (root / PATH).parent / each.ics)  # noqa: SLF001
            yield from faults


def _environments(config: TeardownConfig) -> Iterator[Fault]:
    """Environments that are named twice, and those in which the owners of empty stacks would be notified over and over
    and nothing be destroyed.
    """
    names = [normal_environment(name) for name in config.environments]
    for name in sorted({name for name in names if names.count(name) > 1}):
        spelled = ", ".join(each for each in config.environments if normal_environment(each) == name)
        yield Fault(path="environments", message=f"{spelled} are all {name}", fix="name it once")
    least = 2 * config.stack_grace_hours / 24
    for name, environment in config.environments.items():
        if environment.empty_days is not None and environment.empty_days < least:
            yield Fault(
                path=f"environments.{name}.empty_days",
                message=f"must be at least {least:g}, twice the {config.stack_grace_hours:g} hours of "
                f"stack_grace_hours, got {environment.empty_days:g}: a notice would "
                "lapse before a run finds its grace over",
                fix="raise it, or lower stack_grace_hours",
            )


def _identities(config: TeardownConfig) -> Iterator[Fault]:
    """Settings that nothing reads, environments in which nothing is stopped, accounts of no cloud."""
    reads, deletes = (
        {login.reads for login in LOGINS.values()},
        {name for login in LOGINS.values() for name in login.deletes},
    )
    environments = {normal_environment(name) for name in config.environments}
    for account, identity in config.identities.items():
        path = f"identities.{account}"
        if not _ACCOUNT.fullmatch(account):
            allowed = "an account of AWS, a project of Google Cloud, or a subscription of Azure"
            yield Fault(path=path, message=f"must be {allowed}, got {account!r}")
        if not identity.reads and not identity.deletes:
            yield Fault(path=path, message="names no setting", fix="name some under reads or deletes, or remove it")
        for name in identity.reads:
            yield from _setting(f"{path}.reads", name, reads)
        for environment, settings in identity.deletes.items():
            if normal_environment(environment) not in environments:
                known = ", ".join(config.environments)
                close = get_close_matches(environment, config.environments, 1)
                fix = f"did you mean {close[0]}?" if close else f"one of {known}, or name it there"
                message = f"unknown environment: `environments` has {known}, and nothing is stopped in others"
                yield Fault(path=f"{path}.deletes.{environment}", message=message, fix=fix)
            for name in settings:
                yield from _setting(f"{path}.deletes.{environment}", name, deletes)


def _setting(path: str, name: str, allowed: Collection[str]) -> Iterator[Fault]:
    if name in allowed:
        return
    close = get_close_matches(name, allowed, 1, cutoff=0.8)
    secret = re.search(r"SECRET|PASSWORD|TOKEN|KEY", name, re.IGNORECASE) and not close
    message = "holds a secret, and this file is committed" if secret else "unknown setting: nothing reads it"
    fix = f"did you mean {close[0]}?" if close else f"one of {', '.join(sorted(allowed))}"
    yield Fault(path=f"{path}.{name}", message=message, fix=fix)


def _mail(mail: Mail) -> Iterator[Fault]:
    if bool(mail.user) != bool(mail.password_env):
        missing = "password_env" if mail.user else "user"
        fix = "name both, or none: it is a login"
        yield Fault(path=f"mail.{missing}", message="is missing", fix=fix)
    if mail.user and mail.tls == "none" and mail.host not in ("localhost", "127.0.0.1", "::1"):
        message = f"none sends the password in clear text to {mail.host}"
        yield Fault(path="mail.tls", message=message, fix="starttls, or implicit")
    if "/" in mail.host or mail.host.count(":") == 1:
        message = f"must be the name of a server alone, such as smtp.example.com, got {mail.host!r}"
        yield Fault(path="mail.host", message=message, fix="its port stands under port")


def _texts(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a document, with its path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data):
            yield from _texts(value, f"{path}[{number}]")
