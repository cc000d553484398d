"""The contract with Pulumi's SDK against its newest releases: `make sdk`, or `python tools/sdk_releases.py VERSION...`.

Each release gets an environment of its own in .venv-sdk/, with what the project locks beside it and without the clouds'
SDKs. Without versions these are the three newest on the package index that pip is configured with. The contract is
`tests/recording/test_sdk_contract.py` and what evaluations do in general; where the engine is on PATH, its own plan
too. Exit code 1 where a release fails; pyproject.toml's range of `pulumi` says which ones passed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / ".venv-sdk"
NEWEST: Final = 3
CONTRACT: Final = (
    "tests/recording/test_sdk_contract.py",
    "tests/preview/test_evaluate.py",
    "tests/engine/test_sdk_contract.py",
)
BESIDE: Final = ("pytest", "hypothesis", "boto3")  # what the tests and their conftest import


def main(versions: list[str]) -> int:
    """Try each release; prints a line for each."""
    failed = []
    for version in versions or newest():
        done = subprocess.run(
            [environment(version), "-m", "pytest", "-q", "-p", "no:cacheprovider", *CONTRACT],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"pulumi {version}: {done.stdout.strip().splitlines()[-1]}")
        if done.returncode:
            failed.append(version)
            print(done.stdout)
    return 1 if failed else 0


def newest() -> list[str]:
    """The newest releases, newest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", "pulumi", "--disable-pip-version-check"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    listed = re.search(r"^Available versions: (.+)$", text, re.MULTILINE)
    if listed is None:
        sys.exit("pip names no versions of pulumi")
    return listed[1].split(", ")[:NEWEST]


def environment(version: str) -> str:
    """The interpreter of an environment with this release."""
    folder = FOLDER / version
    python = str(folder / "bin/python")
    if (folder / ".done").exists():
        return python
    uv = Path(sys.executable).with_name("uv")
    constraints = FOLDER / f"{version}.txt"
    FOLDER.mkdir(exist_ok=True)
    text = (ROOT / "requirements/dev.txt").read_text(encoding="utf-8")
    locked = [line.rstrip(" \\") for line in text.splitlines() if re.match(r"[\w.-]+==", line)]  # without the hashes
    others = [line for line in locked if not line.startswith("pulumi==")]
    constraints.write_text("\n".join([*others, f"pulumi=={version}", ""]), encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in project["dependencies"] if not re.match(r"pulumi\b(?!-)", line)]
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python]
    subprocess.run([*install, "--constraint", constraints, *needed, *BESIDE, "pip", f"pulumi=={version}"], check=True)
    # Without dependencies: the range of `pulumi` may end before the release that is tried.
    subprocess.run([*install, "--no-deps", "--editable", ROOT], check=True)
    (folder / ".done").touch()
    return python


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
