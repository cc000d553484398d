"""The built wheel, without the checkout it came from, in a project with `components/`, `policy/` and `resources/`."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ON = ("--on", "2026-09-20")


class Installed(NamedTuple):
    """A project beside which the wheel is installed, and no checkout."""

    project: Path
    site: Path
    wheel: Path

    def python(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run code with the wheel's package and the libraries; `-S`: what is installed editable stays unseen."""
        paths = [str(self.site), sysconfig.get_path("purelib")]
        start = f"import sys; sys.path[:0] = ['']; sys.path += {paths!r}; sys.argv = ['sizewell', *sys.argv[1:]]\n"
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.run(
            [sys.executable, "-S", "-c", start + code, *arguments],
            cwd=self.project, env=environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def sizewell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("from sizewell.cli.main import main; sys.exit(main())", *arguments)


@functools.cache
def built() -> tuple[Path, Path]:
    """The wheel and what is in it, made once for all modules of a process."""
    folder = Path(tempfile.mkdtemp(prefix="sizewell-wheel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    checkout = folder / "checkout"
    listed = [
        "git",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "src",
        "docs",
        "examples",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name, follow_symlinks=False)
    build = "from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, folder], cwd=checkout, capture_output=True, check=True)
    checkout.rename(folder / "renamed")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return wheel, folder / "site"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    wheel, site = built()
    project = tmp_path_factory.mktemp("beside") / "project"
    for name in ("components", "policy", "resources"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f'MINE = "{name}"\n')
    (project / "stacks" / "specs" / "dev-aws").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    shutil.copy(ROOT / "stacks/__main__.py", project / "stacks/__main__.py")
    shutil.copy(ROOT / "examples/chat.yaml", project / "stacks/specs/dev-aws/chat.yaml")
    return Installed(project, site, wheel)


def test_public_names_beside_a_project_s_own(installed: Installed) -> None:
    done = installed.python(
        "import components, policy, resources, sizewell, sizewell.preview\n"
        "from sizewell import stacks\n"
        "from sizewell.components.aws import GpuNodeGroup\n"
        "from datetime import date\n"
        "print(components.MINE, policy.MINE, resources.MINE, GpuNodeGroup.__name__, stacks.run.__name__)\n"
        "print([name for name in sizewell.__all__ if getattr(sizewell, name) is None], sizewell.preview.run.__name__)\n"
        "print(sizewell.size('stacks/specs/dev-aws/chat.yaml', on=date(2026, 9, 20)).workloads[0].spec.name)\n"
        "print(sizewell.__file__)\n"
    )
    assert done.returncode == 0, done.stderr
    first, second, third, file = done.stdout.splitlines()
    assert first == "components policy resources GpuNodeGroup run"
    assert second == "[] run_preview"
    assert third == "chat"
    assert Path(file).is_relative_to(installed.site)


def test_the_page_of_public_names_is_true(installed: Installed) -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    done = installed.python(example.replace("examples/chat.yaml", "stacks/specs/dev-aws/chat.yaml"))
    assert done.stdout.startswith("chat "), done.stderr
    named = set(re.findall(r"`sizewell\.(\w+)", page))
    public = installed.python("import sizewell; print(*sizewell.__all__)").stdout.split()
    told_by_the_text = {"Catalog", "Plan", "WorkloadSpec"}  # what the functions return
    assert set(public) == (named - {"stacks", "preview", "components"}) | told_by_the_text


def test_six_commands_from_an_empty_folder_to_a_green_preview(installed: Installed, tmp_path: Path) -> None:
    """The wheel in an environment of its own, beside folders of the project's own; the libraries are those of here."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    started = time.monotonic()
    _six_commands(tmp_path, installed.wheel, environment, libraries=Path(sysconfig.get_path("purelib")))
    print(f"from an empty folder to a green preview: 6 commands, {time.monotonic() - started:.1f} s")


def pythons() -> list[Path]:
    """Every Python from 3.11 on that is here."""
    places = [*os.environ["PATH"].split(os.pathsep), *map(str, Path("~/.pyenv/versions").expanduser().glob("*/bin"))]
    return sorted({path for place in places for path in Path(place).glob("python3.1[1-9]") if "shims" not in place})


@pytest.mark.soak
@pytest.mark.parametrize("python", pythons(), ids=str)
def test_six_commands_on_each_python(python: Path, installed: Installed, tmp_path: Path) -> None:
    """With the libraries that a package index has for it; the other versions are in the matrix of the workflow."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    started = time.monotonic()
    _six_commands(tmp_path, installed.wheel, environment, python=python)
    print(f"{python}: 6 commands, {time.monotonic() - started:.1f} s")


def _six_commands(
    folder: Path,
    wheel: Path,
    environment: dict[str, str],
    *,
    python: Path = Path(sys.executable),
    libraries: Path | None = None,
) -> None:
    """`libraries` stand in for what the wheel asks for; None installs them."""
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        pytest.skip("uv is missing; run: make setup")
    shop = folder / "shop"
    shop.mkdir()
    for name in ("components", "policy", "resources"):
        (shop / name).mkdir()
        (shop / name / "__init__.py").write_text(f'MINE = "{name}"\n')
    sparing = ["--offline", "--no-deps"] if libraries else []
    commands = [
        [uv, "venv", "--quiet", "--python", python, ".venv"],
        [uv, "pip", "install", "--quiet", *sparing, "--python", ".venv/bin/python", f"sizewell[aws] @ {wheel.as_uri()}"],
        [".venv/bin/sizewell", "init", "--cloud", "aws", "--account", "123456789012", "--owner", "@acme/ml",
         "--notify", "ml@example.com", "--forge", "github", "--offline"],
        [".venv/bin/sizewell", "size", "--check"],
        [".venv/bin/sizewell", "preview"],
        [".venv/bin/sizewell", "policy", "--json"],
    ]  # fmt: skip
    assert len(commands) <= 6
    printed = ""
    for command in commands:
        done = subprocess.run(command, cwd=shop, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        printed = done.stdout
        if libraries and command is commands[0]:
            (site,) = (shop / ".venv").glob("lib/python3*/site-packages")
            (site / "libraries.pth").write_text(f"{libraries}\n")
        if "init" in command:
            requirement = (shop / "requirements.txt").read_text().splitlines()[-1]
            assert requirement.startswith(f"sizewell[aws] @ {wheel.as_uri()}"), requirement
        if "preview" in command:
            assert "Run-rate $" in printed
            assert "prod" in printed
    reports = json.loads(printed)
    assert sorted(reports) == ["dev", "prod", "ttl-dev"]
    assert [result for report in reports.values() for result in report["results"]] == []
    assert min(reports[stack]["passed"] for stack in ("dev", "prod")) > 200
    assert (shop / "policy/__init__.py").read_text() == 'MINE = "policy"\n'


WITHOUT_SDKS = """
import importlib.abc
class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in SDKS or name == "google.auth":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
from sizewell.cli.main import main
"""


def test_a_base_install_sizes_explains_and_judges_a_plan(installed: Installed, tmp_path: Path) -> None:
    """No provider SDK and no client of a cloud; what needs one names the extra, and the command that adds it."""
    sdks = {"pulumi_aws", "pulumi_gcp", "pulumi_azure_native", "pulumi_kubernetes", "boto3", "botocore", "azure"}
    spec, plan = "stacks/specs/dev-aws/chat.yaml", ROOT / "examples/repositories/typescript/recorded/plan.json"
    config = tmp_path / "config.yaml"
    config.write_text("profile: accelerators\n")
    with (installed.project / spec).open("a") as file:  # plain machines would be asked for their image first
        file.write("scheduler: kubernetes\n")
    fine = [
        ["--version"],
        ["size", spec, *ON],
        ["explain", spec, *ON],
        ["prices", "show", "g6.xlarge", *ON],
        ["policy", "--list"],
        ["preview", "--plan", str(plan), *ON],
        ["size", "--stack", "dev-aws", *ON],
    ]
    refused = [["preview", "dev-aws", *ON], ["policy", "dev-aws", *ON]]
    code = f"SDKS = {sdks!r}" + WITHOUT_SDKS + f"print('codes', [main(words) for words in {fine + refused!r}])"
    try:
        done = installed.python(code)
    finally:
        shutil.rmtree(installed.project / "stacks/decisions", ignore_errors=True)
    codes = json.loads(done.stdout.rpartition("codes ")[2])
    assert set(codes[: len(fine)]) <= {0, 1, 2, 3}, done.stdout + done.stderr
    assert codes[len(fine) :] == [64, 64], done.stdout + done.stderr
    told = done.stdout + done.stderr
    assert "pulumi_aws is not installed in " in told
    assert 'fix: pip install "sizewell[aws]' in told
    assert "Traceback" not in told


def test_the_lock_has_all_that_the_package_asks_for() -> None:
    """requirements/dev.txt against pyproject.toml, every extra: nothing is missing, and each version is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    locked = dict(re.findall(r"^([\w.-]+)==([^ \\;]+)", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE))
    locked = {canonicalize_name(name): version for name, version in locked.items()}
    for requirement in map(Requirement, asked):
        if requirement.name == "sizewell":
            assert requirement.extras <= project["optional-dependencies"].keys()
            continue
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is in no lock"
        assert requirement.specifier.contains(version), f"{requirement} is locked as {version}"
    assert not any(line.startswith("pulumi-") and "policy" not in line for line in project["dependencies"])


def test_validate_finds_the_published_cases(installed: Installed) -> None:
    code = "from sizewell.accuracy.cases import read; print(len(read([])))"
    assert int(installed.python(code).stdout) == 1247


def test_the_pack_has_a_configuration_of_its_own(installed: Installed) -> None:
    code = "from sizewell.policy.config import DEFAULT_FILE, read_config; print(sorted(read_config(DEFAULT_FILE).undetermined)[0])"
    assert installed.python(code).stdout == "administrator-role\n"


def test_the_wheel_has_at_most_four_megabytes(installed: Installed) -> None:
    """Its pages and nothing else of the repository's documentation."""
    assert installed.wheel.stat().st_size <= 4_000_000
    within = [name for name in zipfile.ZipFile(installed.wheel).namelist() if "/docs/" in name]
    assert {name.rpartition(".")[2] for name in within} == {"md"}
    generated = ("adr/", "mutations", "accuracy", "reference/decisions", "judged", "counted", "predictors")
    assert [name for name in within if any(f"/{each}" in name for each in generated)] == []


def test_data_files_and_types_are_in_the_wheel(installed: Installed) -> None:
    package = installed.site / "sizewell"
    template = package / "templates/project"
    for name in ("Pulumi.yaml", ".gitignore", "stacks/__main__.py", "policy/config.yaml", "../answers/github.yml"):
        assert (template / name).is_file(), name
    for name in (
        "py.typed",
        "launch/scripts/slurm_node.sh",
        "launch/scripts/train_fsdp.py",
        "preview/render/templates/page.css",
        "preview/render/templates/page.html",
    ):
        assert (package / name).is_file(), name
    schemas = {path.name for path in (package / "schemas").glob("*.json")}
    names = ("decision", "policy", "preview", "spec", "teardown", "timeline")
    assert schemas >= {f"{name}.schema.json" for name in names}
    top = {path.name for path in installed.site.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"sizewell"}


def test_prices_are_refreshed_into_the_project_s_own_catalog(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the scheduled workflow does it: refresh, then the decision rests on the new price; the package is untouched."""
    from tests.clouds.price_standin import serve, truth
    from tests.clouds.rest_server import serving

    before = {path: path.read_bytes() for path in installed.site.rglob("*.csv")}
    asked = (
        "prices",
        "refresh",
        "--cloud",
        "azure",
        "--region",
        "westeurope",
        "--on",
        "2026-11-22",
        "--kind",
        "on-demand",
    )
    try:
        with serving() as server:
            serve(server)
            monkeypatch.setenv("AZURE_ENDPOINT_URL_PRICES", server.url)
            done = installed.sizewell(*asked)
        assert done.returncode == 0, done.stderr
        assert "wrote catalog/offers/azure-2026-11-22.csv" in done.stdout
        shown = installed.sizewell(
            "prices", "show", "Standard_NC24ads_A100_v4", "--region", "westeurope", "--on", "2026-11-22", "--json"
        )
        quotes = {quote["market"]: quote for quote in json.loads(shown.stdout)}
        usd = truth("westeurope")["Standard_NC24ads_A100_v4", "on-demand"]
        assert quotes["on-demand"]["usd_per_hour"] == f"{usd.normalize():f}"
        assert {path: path.read_bytes() for path in installed.site.rglob("*.csv")} == before
    finally:
        shutil.rmtree(installed.project / "catalog", ignore_errors=True)
