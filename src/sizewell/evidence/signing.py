"""Signatures by `ssh-keygen -Y`: a key of one's own, and a file that names the keys that are trusted.

`check-novalidate` proves only that some key has signed, so a record is taken in by `verify` alone, against
`evidence/allowed_signers`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from sizewell.sizing.errors import ServiceError, UsageError

NAMESPACE: Final = "sizewell-evidence"
SIGNERS: Final = Path("evidence/allowed_signers")
IDENTITY: Final = "evidence"  # whom the file of signers says its keys to be: no name of a person gets into a record
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
    asked = ["-Y", "verify", "-f", str(signers), "-I", IDENTITY, "-n", NAMESPACE, "-s", str(signature)]
    done = _run(asked, text)
    if done.returncode:
        raise UsageError(
            f"{path}: is signed by a key that {signers} does not name: {_said(some)}\n  fix: {_trust(signers)}"
        )


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
