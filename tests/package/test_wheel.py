"""The built wheel, without the checkout it came from, in a project with `components/`, `policy/` and `resources/`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
ON = ("--on", "2026-09-20")


class Installed(NamedTuple):
    """A project beside which the wheel is installed, and no checkout."""

    project: Path
    site: Path

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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    checkout = folder / "checkout"
    listed = [
        "git",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "src",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    build = "from setuptools.build_meta import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, folder], cwd=checkout, capture_output=True, check=True)
    checkout.rename(folder / "renamed")
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    project = folder / "project"
    for name in ("components", "policy", "resources"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f'MINE = "{name}"\n')
    (project / "stacks" / "specs" / "dev-aws").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    shutil.copy(ROOT / "stacks/__main__.py", project / "stacks/__main__.py")
    shutil.copy(ROOT / "examples/chat.yaml", project / "stacks/specs/dev-aws/chat.yaml")
    return Installed(project, folder / "site")


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


def test_from_spec_to_preview_and_policies(installed: Installed) -> None:
    done = installed.sizewell("size", "--stack", "dev-aws", *ON)
    assert done.returncode == 0, done.stderr
    done = installed.sizewell("preview", "dev-aws", "--engine", "offline", "--format", "json", *ON)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    (stack,) = json.loads(done.stdout)["stacks"]
    assert stack["rows"], stack
    done = installed.sizewell("policy", "dev-aws", *ON)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith("dev-aws: "), done.stdout


def test_validate_finds_the_published_cases(installed: Installed) -> None:
    code = "from sizewell.sizing.validation.cases import read; print(len(read([])))"
    assert int(installed.python(code).stdout) == 979


def test_the_pack_has_a_configuration_of_its_own(installed: Installed) -> None:
    code = "from sizewell.policy.config import DEFAULT_FILE, read_config; print(sorted(read_config(DEFAULT_FILE).undetermined)[0])"
    assert installed.python(code).stdout == "administrator-role\n"


def test_data_files_and_types_are_in_the_wheel(installed: Installed) -> None:
    package = installed.site / "sizewell"
    for name in ("py.typed", "launch/scripts/train_fsdp.py", "policy/announced.json", "preview/render/page.css"):
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
