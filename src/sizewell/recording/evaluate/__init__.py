"""Evaluate a Pulumi Python program without the CLI, an engine, a plugin or credentials.

The program runs unmodified, in this process, against a monitor that answers the SDK's own requests and records every
resource. What only a cloud could answer is `resources.recorded.UNKNOWN`. Nothing here is imported before `evaluate`
is called, so that a command that needs no program does not pay for the SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sizewell.resources.recorded import Plan


def evaluate(
    project_dir: Path | str,
    stack: str,
    *,
    program: Path | str | Callable[[], object] | None = None,
    config: Mapping[str, str] | None = None,
    answers: Mapping[str, Mapping[str, object]] | None = None,
    replaces: Path | None = None,
) -> Plan:
    """The resources that `pulumi preview -s STACK` would register from `project_dir`, in order of registration.

    `program` is a directory with a `__main__.py`, a file, or a function, instead of what Pulumi.yaml names. `config`
    is laid over the stack's configuration file. `answers` maps function tokens (`aws:ec2/getAmi:getAmi`) to results
    for calls that only a cloud could answer. `replaces` names a checkout of the same repository whose loaded modules
    must not be seen by the program (a base revision is evaluated beside the head).

    Raises UsageError for a project or stack that is not there, ServiceError for a program that fails (with the
    program's own last line), and lets the program's own SizewellError (a wrong decision, wrong arguments) through.
    """
    from sizewell.recording.evaluate.run import run

    return run(Path(project_dir), stack, program=program, config=config, answers=answers, replaces=replaces)
