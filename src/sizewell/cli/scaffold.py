"""The files of a project that `sizewell init` makes: from the template and the answers, whole or not at all each."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from sizewell import logs, source
from sizewell.cli import forges
from sizewell.cli.questions import Answers, access_setting, blocked, receivers, tag
from sizewell.sizing.errors import SizewellError, UsageError
from sizewell.sizing.providers.cloud import PerCloud

if TYPE_CHECKING:
    from sizewell.sizing.choose.decide import NothingFits

STACKS: Final = ("dev", "prod")
DESCRIPTION: Final = "AI workloads that follow committed decisions"
MARK: Final = "Pulumi.yaml"  # written last: a folder is a project once everything else is there
STAGING: Final = ".sizewell"


class NothingFitsError(SizewellError):
    """No machine of the region fits the workload that the project begins with."""

    exit_code = 5

    def __init__(self, answer: NothingFits, region: str) -> None:
        reason = answer.nearest[0].reason if answer.nearest else "no machine type there has enough memory"
        super().__init__(
            f"init: nothing in {region} fits {answer.workload}: {reason}; nothing was written\n"
            "  fix: name another region with --region"
        )


def template() -> Path:
    """The folder that `pulumi new PATH` takes."""
    return Path(str(files("sizewell") / "templates" / "project"))


def other_project(folder: Path) -> str:
    """Why a folder's own Pulumi.yaml cannot be that of a project of Sizewell; "" where it can, or there is none.

    ConfigError where it cannot be read.
    """
    from sizewell.cli.project import shown
    from sizewell.sizing.places import read_yaml

    path = folder / "Pulumi.yaml"
    if not path.exists():
        return ""
    content = read_yaml(path, shown(path)).data
    runtime = content.get("runtime") if isinstance(content, dict) else None
    runtime = runtime.get("name") if isinstance(runtime, dict) else runtime
    if runtime is None:
        return "belongs to another project, or is not finished: it states no runtime"
    if runtime != "python":
        return f"belongs to another project: runtime is {runtime!r}, not python"
    if str(content.get("main") or ".").rstrip("/") != "stacks":
        return f"belongs to another project: main is {content.get('main') or '.'!r}, not stacks/"
    return ""


def paths(answers: Answers, folder: Path) -> list[str]:
    """Every file of the project."""
    return [*_texts(answers, folder), *(f"stacks/decisions/{stack}.json" for stack in STACKS)]


def rendered(answers: Answers, *, folder: Path, on: date) -> dict[str, str]:
    """Every file of the project that the folder lacks, in the order in which they are written.

    Raises NothingFitsError, or what is wrong with a spec that stands there; nothing is written before.
    """
    texts = {path: text for path, text in _texts(answers, folder).items() if not _there(folder / path)}
    decided: dict[str, str] = {}
    for stack in STACKS:
        own = {f"stacks/specs/{stack}/{path.name}": path for path in (folder / "stacks/specs" / stack).glob("*.yaml")}
        if own:  # the stack has workloads already, whatever their names
            texts.pop(f"stacks/specs/{stack}/notebook.yaml", None)
        if not _there(folder / f"stacks/decisions/{stack}.json"):
            specs = {name: _kept(path) for name, path in own.items()}
            specs = specs or {name: texts[name] for name in texts if name.startswith(f"stacks/specs/{stack}/")}
            decided[f"stacks/decisions/{stack}.json"] = _decided(stack, specs, answers, on)
    mark = {MARK: texts.pop(MARK)} if MARK in texts else {}
    return {**texts, **decided, **mark}


def unpriced(texts: Mapping[str, str]) -> list[str]:
    """What the decisions among the texts have no price of, each once."""
    costs = [
        workload["cost"]
        for path, text in texts.items()
        if path.startswith("stacks/decisions/")
        for workload in json.loads(text)["workloads"]
    ]
    return list(dict.fromkeys(line for cost in costs for line in cost["unpriced"]))


def _kept(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def _there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _decided(stack: str, specs: Mapping[str, str], answers: Answers, on: date) -> str:
    """The decision of a stack of these specs, as its file has it."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.decide import NothingFits, decide
    from sizewell.sizing.workload.read import parse_spec

    catalog = load()
    read = [parse_spec(text, path, catalog=catalog) for path, text in sorted(specs.items())]
    answer = decide(read, catalog, stack=stack, on=on)
    if isinstance(answer, NothingFits):
        raise NothingFitsError(answer, f"{answers.cloud}/{answers.region}")
    return answer.to_json()


def lacking(answers: Answers, folder: Path) -> list[str]:
    """What kept files do not have and the project needs."""
    return list(forges.lacking(folder, _texts(answers, folder), answers.forge))


def _texts(answers: Answers, folder: Path) -> dict[str, str]:
    """Every file but the decisions, by its path; specs and configurations first, since they hold the answers."""
    place = forges.within(folder)
    if not place.path.isprintable():
        raise UsageError(
            f"init: {place.path!r} has a character that no file of a forge can name; nothing was written\n"
            "  fix: rename the folder, or name another: sizewell init FOLDER"
        )
    own = {"PROJECT": answers.name, "DESCRIPTION": DESCRIPTION}
    values = {
        "cloud": answers.cloud,
        "region": answers.region,
        "owner": answers.owner_tag,
        "cost_center": answers.cost_center,
        "organization": answers.owner.lstrip("@").partition("/")[0].lower(),
        "notify": json.dumps(receivers(answers.notify)),
        "requirement": source.requirement(answers.cloud),
        "login_words": LOGINS[answers.cloud].words,
        "login": LOGINS[answers.cloud].step(answers).rstrip("\n"),
        "asked": _asked(answers),
        "suffix": place.suffix,
        "prefix": f"/{place.owned}" if place.path else "",
        "defaults": f"\ndefaults: {{run: {{working-directory: {_yaml(place.path)}}}}}" if place.path else "",
        "pull_request": f"{{pull_request: {{paths: [{_yaml(f'{place.filtered}/**')}]}}}}"
        if place.path
        else "pull_request",
        "cd": f"\n      cd {place.typed}" if place.path else "",
        "reviewer": answers.owner if answers.owner.startswith("@") else f"@{answers.owner}",
    }
    texts: dict[str, str] = {}
    for stack, ttl in zip(STACKS, ("ttl: 30d\n", ""), strict=True):
        texts[f"stacks/specs/{stack}/notebook.yaml"] = _answer("notebook.yaml", {**values, "ttl": ttl})
    accounts = {"dev": answers.account, "ttl-dev": answers.account, "prod": answers.prod_account}
    for stack, account in accounts.items():
        more = {"account": json.dumps(account), "access": _access(answers, stack)}
        texts[f"stacks/config/Pulumi.{stack}.yaml"] = _answer("Pulumi.yaml", {**values, **more}).rstrip() + "\n"
    texts["stacks/config/teardown.yaml"] = _answer("teardown.yaml", {"journal": _journal(answers)})
    forge = forges.files_of(answers.forge, folder)
    owned = "\n".join(f"/{path.removeprefix(place.up)} {values['reviewer']}" for path in forge)
    for path, name in forge.items():
        texts[path] = _answer(name, {**values, "forge_files": owned})
    texts["AGENTS.md"] = _answer("AGENTS.md", {**values, **_for_agents(answers, [*forge])})
    texts["requirements.txt"] = _answer("requirements.txt", values)
    texts["stacks/requirements.txt"] = _answer("requirements-stacks.txt", values)
    for path, text in _static(files("sizewell") / "templates" / "project"):
        texts[path] = Template(text).substitute(own)
    from sizewell.policy.pack import FILES

    return {**texts, **{f"policy/{name}": text for name, text in FILES.items()}}


def _yaml(text: str) -> str:
    """A text in a flow of YAML, quoted where it would be read as something else."""
    plain = re.fullmatch(r"[\w./*-]+", text) and re.search(r"(?i)^(?!(?:true|false|null|yes|no|on|off)$)[a-z]", text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _for_agents(answers: Answers, forge: Sequence[str]) -> dict[str, str]:
    """What differs in the file for agents: the place, the forge's files, and exit codes."""
    from sizewell.cli.reference import EXITS

    paths = ", ".join(f"`{path}`" for path in forge)
    row = "the cost preview in pull requests, and who approves" if forge else "what is not committed"
    return {
        "project": answers.name,
        "place": f"{answers.cloud}/{answers.region}",
        "forge_row": f"| {paths or '`.gitignore`'} | {row} | a person |",
        "exits": "\n".join(f"| {code} | {EXITS[code]} |" for code in (0, 1, 2, 3, 4, 5, 64, 69)),
    }


def _asked(answers: Answers) -> str:
    """Arguments of `sizewell ages refresh` that ask the project's own cloud.

    >>> from types import SimpleNamespace
    >>> _asked(SimpleNamespace(cloud="gcp", region="us-central1", account="shop-dev"))
    '--region gcp=us-central1 --account gcp=shop-dev'
    """
    from sizewell.clouds.preflight.versions import LISTINGS

    account = f" --account {answers.cloud}={answers.account}" if LISTINGS[answers.cloud].account else ""
    return f"--region {answers.cloud}={answers.region}{account}"


@dataclass(frozen=True, slots=True)
class Login:
    """How a job of GitHub logs in to a cloud by its own identity: what the variable holds, and the step."""

    words: str
    action: str
    inputs: Callable[[Answers], Mapping[str, str]]

    def step(self, answers: Answers) -> str:
        lines = [f"{key}: {value}" for key, value in self.inputs(answers).items()]
        return "\n".join([f"      - uses: {self.action}", "        with:", *(f"          {line}" for line in lines)])


_VARIABLE: Final = "${{ vars.SIZEWELL_VERSIONS_LOGIN }}"
LOGINS: Final = PerCloud[Login](
    aws=Login(
        "the ARN of a role that GitHub may assume and that has eks:DescribeClusterVersions and ssm:GetParameters",
        "aws-actions/configure-aws-credentials@7474bc4690e29a8392af63c5b98e7449536d5c3a # v4.3.1",
        lambda answers: {"role-to-assume": _VARIABLE, "aws-region": answers.region},
    ),
    gcp=Login(
        "the name of a workload identity provider whose identities have roles/container.clusterViewer",
        "google-github-actions/auth@ba79af03959ebeac9769e648f473a284504d9193 # v2.1.10",
        lambda answers: {"workload_identity_provider": _VARIABLE, "project_id": answers.account},
    ),
    azure=Login(
        "the client id of an application that trusts GitHub and is a Reader of the subscription; its tenant is in "
        "SIZEWELL_VERSIONS_TENANT",
        "azure/login@a457da9ea143d694b1b9c7c869ebb04ebe844ef5 # v2.3.0",
        lambda answers: {
            "client-id": _VARIABLE,
            "tenant-id": "${{ vars.SIZEWELL_VERSIONS_TENANT }}",
            "subscription-id": answers.account,
        },
    ),
)


def _journal(answers: Answers) -> str:
    """A place for the journal in the project's cloud; the first part of such an address is a name of one's own."""
    from sizewell.sizing.providers import CLOUDS

    scheme = CLOUDS[answers.cloud].data_schemes[0]
    place = f"{tag(answers.name).replace('-', '')}teardown/journal" if scheme == "az://" else f"{answers.name}-teardown"
    return f"{scheme}{place}/records"


def _access(answers: Answers, stack: str) -> str:
    setting = None if stack.startswith("ttl-") else access_setting(answers.access)
    if setting is None:
        return ""
    comment = "  # Who reaches the API of a Kubernetes cluster that this stack builds."
    return f"{comment}\n  sizewell:access: {json.dumps(setting)}"


def _answer(name: str, values: Mapping[str, str]) -> str:
    return Template((files("sizewell") / "templates" / "answers" / name).read_text(encoding="utf-8")).substitute(values)


def _static(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            texts += _static(entry, f"{prefix}{entry.name}/")
        else:
            texts.append((prefix + entry.name, entry.read_text(encoding="utf-8")))
    return texts


def write(folder: Path, texts: Mapping[str, str]) -> list[str]:
    """Write the files that are not there; those that were written. UsageError where the folder takes none.

    Each appears whole under its name or not at all: it is written aside and linked to its place, which fails where
    something stands there meanwhile. What a killed run left aside goes with the next one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not texts:
            return _swept(folder)
        aside = folder / STAGING
        aside.mkdir(exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix="init-", dir=aside))
        written = [path for path, text in texts.items() if _placed(staging, folder / path, text)]
        for path in written:
            logs.log(__name__, "wrote %s", folder / path)
    except (FileExistsError, NotADirectoryError) as error:
        raise blocked(error.filename) from None
    except OSError as error:
        from sizewell.cli.terminal import FULL

        if error.errno in FULL:
            raise  # the command's own message says it
        raise UsageError(
            f"init: {error.filename}: {error.strerror}\n  fix: make the folder writable; then run it again"
        ) from None
    finally:
        _swept(folder)
    return written


def _swept(folder: Path) -> list[str]:
    for old in (folder / STAGING).glob("init-*"):
        shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(OSError):  # something else of Sizewell's lies there
        (folder / STAGING).rmdir()
    return []


def _placed(staging: Path, path: Path, text: str) -> bool:
    """Put one file in its place; False where something was quicker."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = staging / "file"
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.chmod(0o755 if text.startswith("#!") else 0o644)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if _there(path):
            return False
        temporary.rename(path)
        return True
    temporary.unlink()
    return True
