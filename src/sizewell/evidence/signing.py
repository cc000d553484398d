"""Signatures by `ssh-keygen -Y`: a key of one's own, and a file that names the keys that are trusted.

`check-novalidate` proves only that some key has signed, so a record is taken in by `verify` alone, against
`evidence/allowed_signers`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sizewell.sizing.errors import ServiceError, UsageError

NAMESPACE: Final = "sizewell-evidence"
SIGNERS: Final = Path("evidence/allowed_signers")
IDENTITY: Final = "evidence"  # whom a line that is offered here says its key to be; any other is as good
_OF_A_KEY: Final = re.compile(r"signers:\d+: (key .*)")  # of a line that has it, which ssh-keygen does not go by
TIMEOUT_S: Final = 60.0


def sign(path: Path, key: Path) -> Path:
    """Sign a file; the signature is beside it. UsageError where the key does not sign."""
    if not key.is_file():
        fix = f"make one: ssh-keygen -t ed25519 -f {key} -C '' (its public part goes into {SIGNERS})"
        raise UsageError(f"--key: {key} is no file\n  fix: {fix}")
    signature = beside(path)
    signature.unlink(missing_ok=True)  # ssh-keygen asks before it writes over one
    done = _run(["-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(path)])
    if done.returncode or not signature.is_file():
        fix = "name a private key, or the public part of one that ssh-agent holds"
        raise UsageError(f"--key: {key} does not sign: {_said(done)}\n  fix: {fix}")
    return signature


def verify(path: Path, signers: Path) -> None:
    """UsageError where a file is not signed, was changed since, or its key is none of those that are trusted."""
    signature = beside(path)
    if not signature.is_file():
        fix = f"add the file that `sizewell evidence write` put beside it: {signature.name}"
        raise UsageError(f"{path}: is not signed: {signature} is missing\n  fix: {fix}")
    text = path.read_bytes()
    some = _run(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)], text)
    if some.returncode:
        fix = "take the record as it was signed, or write and sign it again: sizewell evidence write STACK --key KEY"
        raise UsageError(
            f"{path}: was changed after it was signed, or {signature.name} is of another file\n  fix: {fix}"
        )
    if not signers.is_file():
        raise UsageError(
            f"{signers}: is missing: it names the keys whose records are taken in\n  fix: {_trust(signers)}"
        )
    trusted, why = _trusted(text, signature, signers.read_bytes())
    if not trusted:
        what = f"is signed by a key that {signers} does not trust for {NAMESPACE}: {why or _said(some)}"
        raise UsageError(f"{path}: {what}\n  fix: {_trust(signers)}")


def _trusted(text: bytes, signature: Path, signers: bytes) -> tuple[bool, str]:
    """Whether a file of signers, in the form that git has too, trusts the key of a signature; else why not, where one
    of its lines has the key. Whom it says the key to be is asked of ssh-keygen, first of the whole file: it answers
    with the first line that has the key, which may be trusted for something else.
    """
    why = ""
    with tempfile.TemporaryDirectory(prefix="sizewell-evidence-") as folder:
        some = Path(folder) / "signers"
        asked = ["-f", str(some), "-n", NAMESPACE, "-s", str(signature)]
        for lines in (signers, *signers.splitlines()):
            some.write_bytes(lines + b"\n")
            done = _run(["-Y", "find-principals", *asked])
            for principal in done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else ():
                done = _run(["-Y", "verify", "-I", principal, *asked], text)
                if done.returncode == 0:
                    return True, ""
            said = _OF_A_KEY.search(done.stderr.decode("utf-8", "replace"))
            why = said[1] if said else why
    return False, why


def beside(path: Path) -> Path:
    """Where the signature of a file lies."""
    return path.with_name(f"{path.name}.sig")


def _trust(signers: Path) -> str:
    line = f"printf '{IDENTITY} namespaces=\"{NAMESPACE}\" %s\\n' \"$(cut -d' ' -f1,2 KEY.pub)\" >> {signers}"
    return f"where the key is one to trust: {line}"


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"ssh-keygen exits with {done.returncode}"


def _run(words: list[str], text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise ServiceError(
            "ssh-keygen is not on PATH: it signs and checks records\n  fix: install OpenSSH 8.2 or later"
        )
    try:
        return subprocess.run([program, *words], input=text, capture_output=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        fix = "hold it in ssh-agent, and name its public part"
        raise ServiceError(f"ssh-keygen: no end after {TIMEOUT_S:g} s: the key may need a word\n  fix: {fix}") from None
