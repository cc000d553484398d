"""The programs of a Kubernetes control plane, built from their projects' own modules and kept outside of the tree.

Each is built once, into the user's cache: half an hour on two cores for all of them. What modules come from is Go's own
business (GOPROXY). `python build.py` builds them ahead of a test.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sizewell.components.azure.aks import charts as aks_charts
from sizewell.components.kubernetes import objects

KUBERNETES = "1.36.2"  # libraries of the same release are v0.36.2
AUTOSCALER = "0.0.0-20240830133931-adfbe7e45277"  # whose provisioning requests Kueue 0.16 makes
KSERVE = "0.16.0"
GKE_NETWORKING = "0.2.11"


@dataclass(frozen=True)
class Program:
    """A main package of a module, or `source` beside this file that is compiled as one.

    `beside` are files of the module that are compiled into it, for what the module itself does not export.
    """

    module: str
    version: str
    package: str = ""
    source: str = ""
    beside: tuple[str, ...] = ()
    stamp: str = ""  # the package that says which version it is


def pinned(operator: str) -> str:
    return objects.OPERATORS[operator]["version"]


PROGRAMS = {
    **{
        name: Program("k8s.io/kubernetes", KUBERNETES, f"cmd/{name}", stamp="k8s.io/component-base/version")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    },
    "kueue": Program("sigs.k8s.io/kueue", pinned("kueue"), "cmd/kueue"),
    "jobset": Program("sigs.k8s.io/jobset", pinned("jobset")),
    "lws": Program("sigs.k8s.io/lws", pinned("lws"), "cmd"),
    "kuberay": Program("github.com/ray-project/kuberay/ray-operator", pinned("kuberay")),
    "keda": Program(
        "github.com/kedacore/keda/v2",
        pinned("keda"),
        source="keda.go",
        beside=("pkg/scalers/scaler.go", "pkg/scalers/prometheus_scaler.go"),
    ),
    "kserve": Program("github.com/kserve/kserve", KSERVE, "cmd/manager"),
    "knative": Program("github.com/kserve/kserve", KSERVE, source="knative.go"),  # of the release that KServe requires
}


CHECKED_OUT = {  # definitions that no module which Go's proxy serves has: (repository, tag, file)
    "amd.com": ("github.com/ROCm/gpu-operator", aks_charts.AMD_OPERATOR, "config/crd/bases/amd.com_deviceconfigs.yaml"),
    "mellanox.com": (
        "github.com/Mellanox/network-operator",
        f"v{aks_charts.NETWORK_OPERATOR}",
        "config/crd/bases/mellanox.com_nicclusterpolicies.yaml",
    ),
    "azmonitoring.coreos.com": (
        "github.com/Azure/prometheus-collector",
        "v7.1.1-main-07-21-2026-39583fd5",
        "otelcollector/deploy/addon-chart/azure-monitor-metrics-addon/templates/ama-metrics-podmonitor-crd.yaml",
    ),
}


def cache() -> Path:
    """Where programs and definitions are kept."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sizewell-judges"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def checked_out(group: str) -> Path:
    """Where a person puts the definition of a group's kind, from a checkout of its project."""
    return cache() / "definitions" / f"{group}-{CHECKED_OUT[group][1]}.yaml"


def not_there(group: str) -> str:
    """What a person does for a definition that is not in the cache; "" where it is."""
    repository, tag, path = CHECKED_OUT[group]
    told = f"in a checkout of {repository}: git show {tag}:{path} > {checked_out(group)}"
    return "" if checked_out(group).exists() else f"not judged: objects of {group} ({told})"


def sources(module: str, version: str) -> Path:
    """The folder with a module's files."""
    return Path(_downloaded(module, version)["Dir"])


def built(name: str) -> Path:
    """The program, built now unless an earlier run has done it."""
    program = PROGRAMS[name]
    source = Path(__file__).with_name(program.source).read_text() if program.source else ""
    recipe = hashlib.sha256(f"{program}\0{source}".encode()).hexdigest()[:12]
    folder = cache()
    path = folder / f"{name}-{program.version}-{recipe}"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            print(f"building {name} {program.version} (once; minutes) ...", file=sys.stderr, flush=True)
            _build(program, source, path)
    return path


def python_with(requirement: str) -> Path:
    """An interpreter with a package of the index, in an environment of its own that is made once."""
    name, folder = re.sub(r"[^a-z0-9.]+", "-", requirement.lower()), cache()
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name / "done").exists():
            shutil.rmtree(folder / name, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
            line = [folder / name / "bin/python", "-m", "pip", "install", "--quiet", requirement]
            subprocess.run(line, check=True)
            (folder / name / "done").touch()
    return folder / name / "bin/python"


def _build(program: Program, source: str, path: Path) -> None:
    """In a module of our own that has the project's go.mod: replacements hold only in the main module."""
    at = path.with_name(f"{path.name}.build")
    shutil.rmtree(at, ignore_errors=True)
    at.mkdir()
    info = _downloaded(program.module, program.version)
    mod = re.sub(
        r"^module .*$", "module sizewell.test/judge", Path(info["GoMod"]).read_text(), count=1, flags=re.MULTILINE
    )
    library = f"v0.{program.version.partition('.')[2]}"
    mod = re.sub(r"=> \./staging/src/(\S+)", lambda found: f"=> {found[1]} {library}", mod)
    (at / "go.mod").write_text(f"{mod}\nrequire {program.module} v{program.version}\n")
    (at / "go.sum").write_text(Path(info["Dir"], "go.sum").read_text())
    target = "/".join(filter(None, (program.module, program.package)))
    if source:
        (at / "main.go").write_text(source)
        for name in program.beside:
            text = Path(info["Dir"], name).read_text()
            (at / Path(name).name).write_text(
                re.sub(r"^package \w+$", "package main", text, count=1, flags=re.MULTILINE)
            )
        target = "."
    env = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    major, minor, _ = program.version.split(".")
    said = {"gitVersion": f"v{program.version}", "gitMajor": major, "gitMinor": minor}
    words = " ".join(f"-X {program.stamp}.{key}={value}" for key, value in said.items()) if program.stamp else ""
    line = ["nice", "go", "build", "-ldflags", words, "-o", "program", target]
    done = subprocess.run(line, check=False, cwd=at, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program.module}: go build: {done.stderr[-2000:]}")
    (at / "program").rename(path)
    shutil.rmtree(at)


def _downloaded(module: str, version: str) -> dict[str, str]:
    said = subprocess.run(
        ["go", "mod", "download", "-json", f"{module}@v{version}"],
        cwd="/",  # apart from any module
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(said.stdout))


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PROGRAMS:
        print(built(chosen))
