"""Run the real Pulumi engine on a copy of the project, with a file backend and the stand-in providers on PATH."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sizewell.sizing.records.decision import Decision

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
PIP = ("list --format json", "--version")  # what the engine asks pip before it runs a program
SERVING: list[subprocess.Popen[bytes]] = []  # whose children are the stand-ins and programs that run
PACKAGES = ("aws", "gcp", "azure-native", "kubernetes")


def missing() -> str:
    """Why the engine tests cannot run here; "" where they can."""
    absent = [name for name in ("pulumi", "pulumi-language-python") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not on PATH" if absent else ""


@dataclass(frozen=True)
class Engine:
    """A project under the engine: its folder, the environment of the commands, the stand-ins' folder."""

    project: Path
    environment: dict[str, str]
    clouds: Path

    def run(self, *arguments: str, check: bool = True, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"pulumi {' '.join(arguments)} exits with {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def decide(self, decision: Decision) -> None:
        """Make a stack of this decision; what its example configuration runs is of other workloads, and goes."""
        decision.write(self.project / "stacks" / "decisions" / f"{decision.stack}.json")
        file = self.project / "stacks" / "config" / f"Pulumi.{decision.stack}.yaml"
        if file.exists():
            settings = yaml.safe_load(file.read_text(encoding="utf-8"))
            settings["config"] = {key: value for key, value in settings["config"].items() if key != "sizewell:run"}
            file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        self.run("stack", "init", decision.stack)

    def preview(self, stack: str, *more: str) -> dict[str, Any]:
        text = self.run("preview", "-s", stack, "--json", "--show-sames", *more).stdout
        return json.loads(text)  # type: ignore[no-any-return]

    def up(self, stack: str, *more: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("up", "-s", stack, "--yes", "--skip-preview", *more, check=check)

    def destroy(self, stack: str, *more: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("destroy", "-s", stack, "--yes", "--skip-preview", *more, check=check)

    def export(self, stack: str) -> list[dict[str, Any]]:
        text = self.run("stack", "export", "-s", stack).stdout
        return json.loads(text)["deployment"].get("resources") or []  # type: ignore[no-any-return]

    def cloud(self, package: str) -> dict[str, Any]:
        """What stands in the stand-in's cloud: id -> {type, name, inputs, urn}."""
        path = self.clouds / f"{package}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def order(self, *orders: dict[str, Any]) -> None:
        """Tell the stand-ins what to do at their next calls; see standin.py."""
        (self.clouds / "orders.json").write_text(json.dumps(orders))

    def obeyed(self) -> bool:
        """Whether there were orders, and each was obeyed at one call."""
        orders = json.loads((self.clouds / "orders.json").read_text())
        return bool(orders) and all(order.get("times", 1) <= 0 for order in orders)


def project(folder: Path, *, source: Path = ROOT, warm: bool = True) -> Engine:
    """A copy of the project's Pulumi side in `folder`, ready for `pulumi`; nothing is written to `source`."""
    work = folder / "project"
    work.mkdir(parents=True)
    shutil.copytree(source / "stacks", work / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    text = (source / "Pulumi.yaml").read_text(encoding="utf-8")
    (work / "Pulumi.yaml").write_text(text, encoding="utf-8")
    _virtual_environment(work / ".venv", warm=warm)
    return Engine(project=work, environment=environment(folder, warm=warm), clouds=folder / "clouds")


def _virtual_environment(folder: Path, *, warm: bool) -> None:
    """This one, as the engine takes it for its own: its interpreter, and what pip says of it, which is asked once.

    Before each program the engine has pip list all packages for plugins among them: a second of processor time.
    """
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text(encoding="utf-8"), encoding="utf-8")
    answers = folder / "answers"
    answers.mkdir()
    cases = ""
    for number, question in enumerate(PIP):
        (answers / f"{number}.txt").write_text(_pip(question), encoding="utf-8")
        cases += f"'-m pip {question}') exec cat {answers / f'{number}.txt'} ;;\n"
    if warm:
        script = shutil.which("pulumi-language-python-exec")
        words = f"{sys.executable} -I -S {HERE / 'warm.py'} program {_warm('serve_programs')}"
        cases += f'"-u {script} "*) shift; exec {words} "$@" ;;\n"{script} "*) exec {words} "$@" ;;\n'
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}esac\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)


@functools.cache
def _pip(question: str) -> str:
    command = [sys.executable, "-m", "pip", *question.split()]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@functools.cache
def _warm(serve: str) -> Path:
    """Where the process listens that is forked into stand-ins, or programs; it lives as long as this one."""
    path = Path(tempfile.mkdtemp(prefix="sizewell-standins-")) / "socket"
    process = subprocess.Popen([sys.executable, HERE / "warm.py", serve, path], stdin=subprocess.PIPE)
    SERVING.append(process)
    atexit.register(_end, process, path)
    while not path.exists():
        assert process.poll() is None, "the process of the stand-ins ended"
        time.sleep(0.01)
    return path


def _end(process: subprocess.Popen[bytes], path: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(path.parent, ignore_errors=True)


def environment(folder: Path, *, warm: bool = True) -> dict[str, str]:
    """For `pulumi` commands in `folder`; `warm`: the stand-ins start from a process that has all loaded."""
    plugins, backend, clouds = folder / "plugins", folder / "backend", folder / "clouds"
    for path in (plugins, backend, clouds, folder / "home"):
        path.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        script = plugins / f"pulumi-resource-{package}"
        words = (
            f"-I -S {HERE / 'warm.py'} ask {package} {_warm('serve')}" if warm else f"{HERE / 'standin.py'} {package}"
        )
        script.write_text(f"#!/bin/sh\nexec {sys.executable} {words}\n", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        **{
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PULUMI_", "AWS_", "GOOGLE_", "ARM_", "PYTHONDONTWRITE"))  # programs run often
        },
        "PATH": f"{plugins}:{os.environ['PATH']}",
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "stand-in",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_OPTION_COLOR": "never",
        "SIZEWELL_STANDIN": str(clouds),
    }
