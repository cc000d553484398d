"""Where this Sizewell was installed from, and which of its extras a missing package belongs to.

A project pins the very same source, and the fix of a missing provider SDK names it.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.providers import CLOUDS

# module -> the extra that brings it. A cloud's extra brings the Kubernetes SDK too, for its managed clusters.
_EXTRA_OF: Final = {
    **{module: name for name, cloud in CLOUDS.items() for module in cloud.provider.modules},
    "pulumi_kubernetes": "kubernetes",
}


def requirement(extra: str, *, installed: metadata.Distribution | None = None) -> str:
    """A line for requirements.txt that installs this same Sizewell with an extra (PEP 508, PEP 610).

    A version of a package index, the commit of a repository, or the file that was installed, with its digest.
    """
    own = installed or metadata.distribution("sizewell")
    name = f"sizewell[{extra}]"
    text = own.read_text("direct_url.json")
    if not text:
        return f"{name}=={own.version}"
    direct: dict[str, Any] = json.loads(text)
    url = str(direct["url"])
    if vcs := direct.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
        if folder := direct.get("subdirectory"):
            url += f"#subdirectory={folder}"
    elif hashes := direct.get("archive_info", {}).get("hashes"):
        url += f"#sha256={hashes['sha256']}" if "sha256" in hashes else ""
    return f"{name} @ {url}"


def local(line: str) -> bool:
    """Whether a requirement names a file of this machine, which no other machine has.

    >>> local("sizewell[aws] @ file:///home/jane/sizewell-0.1.0-py3-none-any.whl"), local("sizewell[aws]==0.1.0")
    (True, False)
    """
    return " @ file:" in line


def install(extra: str) -> str:
    """The command that adds an extra to the environment that runs, by what made that environment."""
    prefix = Path(sys.prefix)
    line = f'"{requirement(extra)}"'
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {line}"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {line}"
    return f"pip install {line}" if find_spec("pip") else f"uv pip install --python {prefix} {line}"


def install_here(requirements: str) -> str:
    """The command that installs packages for the Python that runs: an environment that uv made has no pip."""
    python = shlex.quote(sys.executable)
    command = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{command} {requirements}"


def missing(error: BaseException | None) -> str:
    """What to tell a user of an import that failed for want of an extra; "" for any other error.

    >>> missing(ModuleNotFoundError("No module named 'numpy'", name="numpy"))
    ''
    """
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name and (extra := extra_of(error.name)):
            return f"{error.name} is not installed in {_environment()}\n  fix: {install(extra)}"
        error = error.__cause__ or error.__context__
    return ""


def extra_of(module: str) -> str:
    """The extra that brings a module, "" where none does.

    >>> extra_of("pulumi_aws.ec2"), extra_of("numpy")
    ('aws', '')
    """
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((_EXTRA_OF[name] for name in names if name in _EXTRA_OF), "")


def _environment() -> str:
    return str(Path(sys.prefix))
