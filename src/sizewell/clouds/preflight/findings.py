"""What was asked and what came of it, in the form that `doctor` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sizewell.clouds.calls import CloudError, together

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was asked; `code` is the exit code: 64 must be mended, 69 the cloud did not respond."""

    about: str
    state: State
    detail: str
    fix: str = ""
    code: int = 0


Question = Callable[[], Iterable[Finding]]


def wrong(about: str, detail: str, fix: str) -> Finding:
    """Something that would stop or half-build the stack."""
    return Finding(about, "wrong", detail, fix, 64)


def ask(questions: Mapping[str, Question], *, begun: Callable[[str], None] | None = None) -> list[Finding]:
    """Every question's findings, asked at once, in the order given."""
    answers = together({name: lambda q=question: list(q()) for name, question in questions.items()}, begun=begun)  # type: ignore[misc]
    findings: list[Finding] = []
    for name, answer in answers.items():
        findings += [unasked(name, answer)] if isinstance(answer, CloudError) else answer
    return findings


def unasked(about: str, error: CloudError) -> Finding:
    """What a failed call means: a missing login is to be mended, a missing right to ask is said, silence is silence."""
    if error.reason == "login":
        return wrong(about, f"not logged in: {error.detail}", error.fix or "log in, then run this again")
    if error.reason == "denied":
        return Finding(
            about, "note", f"not known: {error.service}: {error.detail}", "use credentials with more read permissions"
        )
    if error.reason == "unanswered":
        fix = "check the network and its proxy (HTTPS_PROXY), then run this again" if error.local else "ask again"
        fix = error.fix or fix
        return Finding(about, "wrong", f"no response: {error.service}: {error.detail}", fix, 69)
    return wrong(about, f"{error.service}: {error.detail}", error.fix or "see the cloud's message")
