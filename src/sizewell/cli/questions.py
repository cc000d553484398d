"""The questions of `sizewell init`: from flags, from what the folder says already, from a person, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell.cli.forges import files_of, within
from sizewell.cli.project import shown
from sizewell.sizing.aliases import alias
from sizewell.sizing.errors import UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.providers.cloud import Cloud

FORGES: Final = ("github", "gitlab", "none")
_OWNER: Final = re.compile(r"@?[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a project is made of."""

    name: str
    cloud: str
    account: str
    prod_account: str
    region: str
    owner: str  # as the forge knows it: @acme/ml-platform
    cost_center: str
    access: str  # none, dns, or IPv4 ranges separated by commas
    notify: str  # e-mail addresses and https addresses, separated by commas
    forge: str

    @property
    def owner_tag(self) -> str:
        """The owner as a tag of every cloud takes it: the last part of the name.

        >>> tag("@acme/ML.platform")
        'ml-platform'
        """
        return tag(self.owner)


@dataclass(frozen=True, slots=True)
class Question:
    """One answer that is needed: its flag, what is asked, and what is allowed."""

    key: str
    asks: Callable[[Mapping[str, str]], str]
    check: Callable[[str, Mapping[str, str]], str]  # what is wrong with an answer; "" for nothing
    default: Callable[[Mapping[str, str]], str] = lambda _: ""

    @property
    def flag(self) -> str:
        return "--" + self.key.replace("_", "-")


def tag(owner: str) -> str:
    """See `Answers.owner_tag`."""
    return re.sub(r"[^a-z0-9-]+", "-", owner.rpartition("/")[2].lower().lstrip("@")).strip("-")[:63]


def receivers(text: str) -> dict[str, list[str]]:
    """E-mail addresses and webhooks of an answer, as `sizewell:notify` has them.

    >>> receivers("ml@example.com, https://hooks.example.com/1")
    {'emails': ['ml@example.com'], 'webhooks': ['https://hooks.example.com/1']}
    """
    parts = listed(text)
    kinds = {
        "emails": [part for part in parts if "://" not in part],
        "webhooks": [part for part in parts if "://" in part],
    }
    return {kind: values for kind, values in kinds.items() if values}


def access_setting(text: str) -> Any:
    """The value of `sizewell:access`; None for none.

    >>> access_setting("203.0.113.0/28"), access_setting("10.9.0.0/24"), access_setting("dns"), access_setting("none")
    ({'public': ['203.0.113.0/28']}, {'private': ['10.9.0.0/24']}, 'dns', None)
    """
    import ipaddress

    if text in ("none", ""):
        return None
    if text == "dns":
        return "dns"
    ranges = listed(text)
    try:
        private = all(ipaddress.ip_network(part).is_private and not _documentation(part) for part in ranges)
    except ValueError:
        private = False
    return {"private" if private else "public": ranges}


def _documentation(text: str) -> bool:
    """Whether a range is one of RFC 5737, which Python counts as private."""
    return text.startswith(("192.0.2.", "198.51.100.", "203.0.113."))


def listed(text: str) -> list[str]:
    """The parts of an answer that is a list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _one_of(*allowed: str) -> Callable[[str, Mapping[str, str]], str]:
    return lambda given, _: "" if given in allowed else f"must be one of {', '.join(allowed)}, got {given!r}"


def _account(given: str, known: Mapping[str, str]) -> str:
    account = CLOUDS[known["cloud"]].account
    return "" if re.fullmatch(account.pattern, given) else f"must be one of your {account.described}, got {given!r}"


def _region(given: str, known: Mapping[str, str]) -> str:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.workload.model import Place, place_form, place_written
    from sizewell.sizing.workload.names import region_refused

    cloud, catalog = known["cloud"], load()
    if given in catalog.regions(cloud):
        return ""
    written = (place_written(text) for text in (given, f"{cloud}/{given}"))
    places = (Place.model_validate(place_form(text)) for text in written if text)
    place = next((place for place in places if place.cloud in CLOUDS and place.region), Place(cloud=cloud, region="-"))
    refused = region_refused(place.model_copy(update={"zone": None}), catalog)
    fix = refused[1] if refused else f"write {place}"
    if fix.startswith("write "):
        meant, region, *_ = fix.removeprefix("write ").split("/")
        fix = (
            f"write --region {region}"
            if meant == cloud
            else f"write --cloud {meant} --region {region}, or name one of {cloud}"
        )
    return f"is not a region of {cloud} with machines in the catalog: {given!r}; {fix.replace(f'{cloud}/', '')}"


def _owner(given: str, _: Mapping[str, str]) -> str:
    if _OWNER.fullmatch(given) and tag(given):
        return ""
    return f"must be a user or team as the forge knows it, such as @acme/ml-platform, got {given!r}"


def _cost_center(given: str, _: Mapping[str, str]) -> str:
    if re.fullmatch(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?", given):
        return ""
    return f"must be 1 to 63 of a-z, 0-9, - and _, got {given!r}"


def _access(given: str, known: Mapping[str, str]) -> str:
    from sizewell.components.access import Access, access_faults, read_access

    setting = access_setting(given)
    if setting is None:
        return ""
    read = read_access(setting)
    faults = access_faults([known["cloud"]], read, own_network=False) if isinstance(read, Access) else read
    return str(faults[0]).removeprefix("sizewell:access: ") if faults else ""


def _notify(given: str, _: Mapping[str, str]) -> str:
    from sizewell.components.notify import check_notify

    faults = check_notify(receivers(given))
    if not listed(given):
        return "has no receiver: give an e-mail address, or an https address"
    return str(faults[0]).removeprefix("sizewell:") if faults else ""


def _name(given: str, _: Mapping[str, str]) -> str:
    return "" if _NAME.fullmatch(given) else f"must be 2 to 40 of a-z, 0-9 and -, a letter first, got {given!r}"


def _cloud(known: Mapping[str, str]) -> Cloud:
    return CLOUDS[known["cloud"]]


def _addressed(known: Mapping[str, str]) -> bool:
    return _cloud(known).cluster.addressed


def _either(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


QUESTIONS: Final = (
    Question("name", lambda _: "name of the project", _name),
    Question("cloud", lambda _: f"cloud ({_either(CLOUDS)})", _one_of(*CLOUDS)),
    Question(
        "account", lambda known: f"{_cloud(known).account.noun}, such as {_cloud(known).account.example}", _account
    ),
    Question(
        "prod_account",
        lambda known: f"{_cloud(known).account.noun} of production",
        _account,
        lambda known: known["account"],
    ),
    Question("region", lambda _: "region", _region, lambda known: _cloud(known).regions.usual),
    Question("owner", lambda _: "owner, who approves changes, such as @acme/ml-platform", _owner),
    Question(
        "cost_center", lambda _: "cost center, a tag of every billed resource", _cost_center, lambda k: tag(k["owner"])
    ),
    Question(
        "access",
        lambda known: (
            "access to the API of Kubernetes clusters: "
            + ("your addresses, such as 203.0.113.0/28, or none" if _addressed(known) else "dns or none")
        ),
        _access,
        lambda known: "none" if _addressed(known) else "dns",
    ),
    Question("notify", lambda _: "receivers of notices: e-mail or https addresses, separated by commas", _notify),
    Question("forge", lambda _: "forge (github, gitlab or none)", _one_of(*FORGES)),
)
NEEDS: Final = {  # answers without which another cannot be asked or judged
    **dict.fromkeys(("account", "region", "access"), frozenset({"cloud"})),
    "prod_account": frozenset({"cloud", "account"}),
    "cost_center": frozenset({"owner"}),
}
DERIVED: Final = frozenset({"name", "prod_account", "region", "cost_center", "access"})  # have a default for everybody


def answers(
    given: Mapping[str, str | None], there: Mapping[str, str], *, ask: Callable[[str, str], str] | None
) -> Answers:
    """All answers; UsageError with every missing or wrong one. `ask(question, default)` asks a person, None nobody.

    `there` is what the folder's own files say; a flag that says something else is refused, since they stay.
    """
    known: dict[str, str] = {}
    faults: list[str] = []
    for question in QUESTIONS:
        key = question.key
        if not NEEDS.get(key, frozenset()) <= known.keys():
            if key not in DERIVED and given.get(key) is None and there.get(key) is None:
                faults.append(f"{question.flag} is missing: {key} of the {' and '.join(sorted(NEEDS[key]))}")
            continue  # nothing to judge it by; what it needs is told itself
        flag, old = given.get(key), there.get(key)
        flag = None if flag is None else _plain(key, flag, known)
        if flag is not None and old is not None and not _same(key, flag, old):
            faults.append(f"{question.flag} {flag}: the files here say {old}, and they are kept; leave the flag out")
            continue
        value = flag if flag is not None else old
        if value is None and ask is not None and key != "name":
            value = _asked(question, known, ask)
        elif value is None and (key in DERIVED or ask is not None):
            value = there.get("folder", "") if key == "name" else question.default(known)
        if not value:
            faults.append(f"{question.flag} is missing: {question.asks(known)}")
            continue
        if old is None and (wrong := question.check(value, known)):
            faults.append(f"{question.flag} {wrong}")
            continue
        known[key] = value
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise UsageError(
            f"init: {len(faults)} {'answer is' if len(faults) == 1 else 'answers are'} missing or wrong, "
            f"nothing was written\n{lines}\n  fix: see `sizewell init --help`"
        )
    return Answers(**known)


def _plain(key: str, given: str, known: Mapping[str, str]) -> str:
    """An answer as it is stated here: AWS, Google Cloud and GitHub in small letters, an account without its dashes."""
    if key in ("cloud", "forge"):
        row = alias("cloud", given) if key == "cloud" else None
        return (row.meant if row else "") or given.lower()
    bare = given.replace("-", "")
    dashed = key in ("account", "prod_account") and _account(given, known) and not _account(bare, known)
    return bare if dashed else given


def _same(key: str, flag: str, old: str) -> bool:
    if key == "forge" and old == "none":  # it may be added later
        return True
    if key == "owner" and "@" not in old:  # a spec has the tag alone
        return tag(flag) == old
    if key == "owner":  # CODEOWNERS writes a name with @
        return flag.lstrip("@") == old.lstrip("@")
    return sorted(listed(flag)) == sorted(listed(old))


def _asked(question: Question, known: Mapping[str, str], ask: Callable[[str, str], str]) -> str:
    default = question.default(known)
    while True:
        value = _plain(question.key, ask(question.asks(known), default).strip(), known) or default
        wrong = question.check(value, known) if value else "needs an answer"
        if not wrong:
            return value
        ask(f"{question.flag} {wrong}", "\0")  # said, not asked


def blocked(path: str | Path) -> UsageError:
    """What to say of a file that stands in the way of a folder."""
    return UsageError(
        f"init: {path} is a file where the project needs a folder\n"
        "  fix: rename it, or name another folder; then run it again"
    )


def read_back(folder: Path) -> dict[str, str]:
    """What the files of a project that `init` began say of its answers; ConfigError for one that cannot be read."""
    for place in (
        ".",
        "stacks",
        "stacks/config",
        "stacks/specs",
        *(f"stacks/specs/{stack}" for stack in ("dev", "prod")),
    ):
        if (folder / place).is_file():  # else its answers would be asked for again, and then not be written
            raise blocked(folder / place)
    there = {"folder": re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")}
    project = _yaml(folder / "Pulumi.yaml")
    if isinstance(project.get("name"), str):
        there["name"] = project["name"]
    specs = [path for stack in ("dev", "prod") for path in sorted((folder / "stacks/specs" / stack).glob("*.yaml"))]
    for path in specs:
        if not {"name", "kind"} <= {*_yaml(path)}:
            raise UsageError(
                f"init: {shown(path)} states no name and kind: it was cut off, or is not finished\n"
                "  nothing was written\n"
                "  fix: restore it; or delete it and run this again, which writes a stack's first spec anew"
            )
    spec = _yaml(specs[0]) if specs else {}
    places = spec.get("infra")
    if isinstance(places, list) and len(places) == 1 and str(places[0]).count("/") == 1:
        there["cloud"], there["region"] = str(places[0]).split("/")
    if spec.get("cost_center"):
        there["cost_center"] = str(spec["cost_center"])
    for stack, key in (("dev", "account"), ("prod", "prod_account")):
        accounts = _config(folder, stack).get("sizewell:accounts")
        if isinstance(accounts, list) and len(accounts) == 1:
            there[key] = str(accounts[0])
    config = _config(folder, "dev")
    if config:
        access, notify = config.get("sizewell:access"), config.get("sizewell:notify")
        ranges = [text for values in access.values() for text in values] if isinstance(access, dict) else []
        there["access"] = ", ".join(map(str, ranges)) if ranges else str(access or "none")
        if isinstance(notify, dict):
            there["notify"] = ", ".join(str(text) for values in notify.values() for text in values)
    if spec.get("owner"):
        there["owner"] = str(spec["owner"])
    if project and config:  # Pulumi.yaml is written last: the forge's files are there, or none were wanted
        there["forge"] = "none"
    prefix = f"{within(folder).path}/".lstrip("/")
    for forge in ("github", "gitlab"):
        first, *_, owners = (folder / path for path in files_of(forge, folder))
        owner = _code_owner(owners, prefix)
        if owner or (project and first.exists()):
            there["forge"] = forge
            there |= {"owner": owner} if owner else {}
    return there


def _code_owner(path: Path, prefix: str) -> str:
    """Who approves the project's stacks; "" where the file is missing, or of others."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.split()[1] for line in lines if line.startswith(f"/{prefix}stacks/ ")), "")


def _config(folder: Path, stack: str) -> dict[str, Any]:
    stated = _yaml(folder / f"stacks/config/Pulumi.{stack}.yaml").get("config")
    return stated if isinstance(stated, dict) else {}


def _yaml(path: Path) -> dict[str, Any]:
    from sizewell.sizing.places import read_yaml

    content = read_yaml(path, shown(path)).data if path.exists() else {}
    return content if isinstance(content, dict) else {}
