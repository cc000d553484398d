"""The engine's backend: its stacks, their states and tags, and the destroy of one, through the `pulumi` command."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.teardown.enginelocks import EngineLock, broken_state, locks, states_written

LEASE_TAG: Final = "sizewell:keep"
_HEADING = re.compile(r"[A-Z]\w+:|  \S.*\):$")  # "Resources:", and "  TYPE (NAME):" above the messages of one resource
_HALF = ("EOF", "JSON input")  # what the engine says of a state file that another engine is writing
INTERRUPTED_S: Final = 120.0  # in which an interrupted engine ends what it has begun
SIGNS: Final = ((signal.SIGINT, INTERRUPTED_S), (signal.SIGTERM, 10.0))  # at the second it drops that
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)  # of a scheduler, and of a terminal that closes
_CHANGING: Final = ("up", "destroy", "refresh", "import")  # a state, and what it is of
_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A stack as the backend lists it."""

    name: str
    updated: str  # when its state was written last, as the backend says it; "" for never
    resources: int | None
    updating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The stacks of the project in `root`, as the logged-in backend has them."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 300.0
    begun: Callable[[int | None], None] = lambda _: None  # takes the process of an engine that is to change a stack
    again_s: Sequence[float] = (0.5, 2.0)  # waits before a state that was half written is read again

    def stacks(self) -> list[Listed]:
        """Every stack of the project. ServiceError where the backend does not respond."""
        try:
            data = self._json("stack", "ls", "--json")
        except ServiceError:
            if broken := broken_state(self.url()):
                said = f"{broken} cannot be read, and the engine lists no stack beside it (pulumi stack ls)"
                raise ServiceError(f"{said}\n  fix: put an intact one there: the backend keeps a .bak of it") from None
            raise
        if not isinstance(data, list):
            raise ServiceError("pulumi stack ls: its output is not a list")
        return [
            Listed(
                name=str(stack["name"]).rpartition("/")[2],
                updated=str(stack.get("lastUpdate") or ""),
                resources=stack.get("resourceCount"),
                updating=bool(stack.get("updateInProgress")),
            )
            for stack in data
        ]

    def url(self) -> str:
        """Where the backend is. ServiceError without a login."""
        data = self._json("whoami", "--verbose", "--json")
        return str(data.get("url") or "") if isinstance(data, dict) else ""

    def locks(self) -> tuple[EngineLock, ...]:
        """The engine's locks on the stacks of a backend that says nothing of them in its list."""
        return locks(self.url())

    def states_written(self) -> Mapping[str, str]:
        """When each state was written, where the backend's list does not say that of every change."""
        return states_written(self.url())

    def cancel(self, stack: str) -> str:
        """Take the engine's lock away from a stack whose engine was killed."""
        return self._run("cancel", checked(stack), "--yes")

    def export(self, stack: str, path: Path) -> None:
        """The raw state, secrets encrypted as they are: never with --show-secrets, which under a wrong passphrase has
        written nulls (pulumi#23476).
        """
        self._run("stack", "export", "--stack", checked(stack), "--file", str(path))

    def tags(self, stack: str) -> dict[str, str]:
        """Tags of a stack."""
        data = self._json("stack", "tag", "ls", "--stack", checked(stack), "--json")
        return {str(key): str(value) for key, value in data.items()} if isinstance(data, dict) else {}

    def set_tag(self, stack: str, key: str, value: str) -> None:
        self._run("stack", "tag", "set", key, value, "--stack", checked(stack))

    def remove_tag(self, stack: str, key: str) -> None:
        self._run("stack", "tag", "rm", key, "--stack", checked(stack))

    def configuration(self, stack: str) -> dict[str, Any]:
        """A stack's configuration, secrets readable, structures as such. ServiceError where its secrets cannot be read:
        a wrong passphrase, a key that is gone. An export succeeds without it, a destroy does not.
        """
        data = self._json("config", "--stack", checked(stack), "--show-secrets", "--json")
        entries = data.items() if isinstance(data, dict) else ()
        return {
            str(key): entry.get("objectValue", entry.get("value")) for key, entry in entries if isinstance(entry, dict)
        }

    def init(self, stack: str) -> None:
        """Make a stack of which the backend knows nothing yet."""
        self._run("stack", "init", checked(stack))

    def remove(self, stack: str) -> None:
        """Take away a stack of which nothing stands; its configuration stays."""
        self._run("stack", "rm", checked(stack), "--yes", "--preserve-config")

    def up(self, stack: str, *, timeout_s: float) -> str:
        """Build what the program says."""
        words = ("up", "--stack", checked(stack), "--yes", "--skip-preview", "--suppress-progress", "--color", "never")
        return self._run(*words, timeout_s=timeout_s)

    def destroy(self, stack: str, *, environment: Mapping[str, str], timeout_s: float = 7200.0) -> str:
        """Destroy what the state has, protected resources excluded, without the program; the output of the engine."""
        return self._run(
            *("destroy", "--stack", checked(stack), "--yes", "--skip-preview", "--exclude-protected"),
            *("--run-program=false", "--suppress-progress", "--color", "never"),
            environment=environment,
            timeout_s=timeout_s,
        )

    def protect(self, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
        """Protect resources in the state: a destroy leaves them. The next update says again what the program says."""
        return self._run("state", "protect", *urns, "--stack", checked(stack), "--yes", environment=environment)

    def forget_pending(self, stack: str, *, timeout_s: float = 3600.0) -> str:
        """Drop from the state the creations that an update did not see the end of, and read everything else anew."""
        return self._run(
            *("refresh", "--stack", checked(stack), "--yes", "--skip-preview", "--clear-pending-creates"),
            *("--suppress-progress", "--color", "never"),
            timeout_s=timeout_s,
        )

    def creations(self, stack: str, path: Path, *, timeout_s: float = 1800.0) -> dict[str, Any]:
        """What the program would create: the engine's own file for `pulumi import`, identities left open, and beside
        it under "planned" the state that each would have, by its URN.

        ServiceError where the program does not evaluate.
        """
        plan = self._json(
            *("preview", "--stack", checked(stack), "--import-file", str(path), "--json", "--color", "never"),
            timeout_s=timeout_s,
        )
        if not path.exists():  # nothing would be created
            return {}
        data = json.loads(path.read_text(encoding="utf-8"))
        steps = plan.get("steps") or ()
        planned = {step["urn"]: step.get("newState") or {} for step in steps if step.get("op") == "create"}
        return {**data, "planned": planned} if isinstance(data, dict) else {}

    def refused_imports(self, stack: str, path: Path, *, timeout_s: float = 1800.0) -> dict[str, str]:
        """Why the providers would not import what a file names, by URN; empty where all of it is there. Reads only.

        ServiceError where the engine says nothing of single resources.
        """
        arguments = ("import", "--stack", checked(stack), "--file", str(path), "--preview-only", "--json")
        more = ("--protect=false", "--generate-code=false", "--color", "never")
        done = self._start(*arguments, *more, timeout_s=timeout_s)
        if done.returncode == 0:
            return {}
        try:
            diagnostics = json.loads(done.stdout).get("diagnostics") or ()
        except ValueError:
            raise _fault(arguments, done.stderr + done.stdout) from None
        errors = {
            str(each["urn"]): str(each.get("message", "")).strip()
            for each in diagnostics
            if each.get("severity") == "error" and each.get("urn") and "pulumi:pulumi:Stack" not in each["urn"]
        }
        if not errors:
            raise _fault(arguments, done.stderr + "".join(str(each.get("message", "")) for each in diagnostics))
        return errors

    def import_resources(self, stack: str, path: Path, *, timeout_s: float = 3600.0) -> str:
        """Import what a file names; the next update protects what the program says is protected."""
        return self._run(
            *("import", "--stack", checked(stack), "--file", str(path), "--yes", "--skip-preview"),
            *("--protect=false", "--generate-code=false", "--suppress-progress", "--color", "never"),
            timeout_s=timeout_s,
        )

    def destroy_some(self, stack: str, urns: Sequence[str], *, environment: Mapping[str, str]) -> str:
        """Destroy these resources and what depends on them, without the program. ServiceError where
        one of them is protected, and others may be gone then: the engine takes no --exclude-protected beside --target.
        """
        targets = [word for urn in urns for word in ("--target", urn)]
        return self._run(
            *("destroy", "--stack", checked(stack), "--yes", "--skip-preview", "--target-dependents", *targets),
            *("--run-program=false", "--suppress-progress", "--color", "never"),
            environment=environment,
            timeout_s=7200.0,
        )

    def _json(self, *arguments: str, timeout_s: float | None = None) -> Any:
        text = self._run(*arguments, timeout_s=timeout_s)
        try:
            return json.loads(text)
        except ValueError:
            raise ServiceError(f"pulumi {' '.join(arguments[:2])}: its output is not JSON: {text[:200]!r}") from None

    def _run(
        self, *arguments: str, environment: Mapping[str, str] | None = None, timeout_s: float | None = None
    ) -> str:
        done = self._start(*arguments, environment=environment, timeout_s=timeout_s)
        for wait_s in self.again_s if arguments[:2] in {("stack", "ls"), ("stack", "export")} else ():
            if done.returncode == 0 or not any(said in done.stderr + done.stdout for said in _HALF):
                break
            time.sleep(wait_s)
            done = self._start(*arguments, environment=environment, timeout_s=timeout_s)
        if done.returncode < 0:  # what it printed until then is no reason
            subject = arguments[arguments.index("--stack") + 1] if "--stack" in arguments else "the backend"
            raise ServiceError(
                f"{subject}: the engine was killed by signal {-done.returncode} (pulumi {' '.join(arguments[:2])})\n"
                f"  fix: run it again; where its lock stays: pulumi cancel --stack {subject}"
            )
        if done.returncode:
            raise _fault(arguments, done.stderr + done.stdout)
        return done.stdout

    def _start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, timeout_s: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        _must_be_on_path()
        command: Sequence[str] = ("pulumi", *arguments, "--non-interactive")
        seconds = timeout_s or self.timeout_s
        settings = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", **self.environment, **(environment or {})}
        try:
            if arguments[0] in _CHANGING and "--preview-only" not in arguments:
                return self._change(command, settings, seconds)
            return subprocess.run(
                command, cwd=self.root, env=settings, capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            raise ServiceError(f"pulumi {' '.join(arguments[:2])}: not finished after {seconds:g} s") from None

    def _change(
        self, command: Sequence[str], environment: Mapping[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run an engine that changes a stack. It waits until `begun` has returned: where this process is killed before
        that, none starts. At its time-out, and where this process is told to end, it is interrupted.

        What it says goes into files: an engine whose reader was killed would end at its next word, in the middle of
        what it writes. It has a session of its own, so that Ctrl-C reaches it once, from here: at a second interrupt it
        drops what it has begun (pulumi 3.260, pkg/backend/cancellation_scope.go).
        """
        with interruptible(), tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh", *command],
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=errors,
                start_new_session=True,
            )
            try:
                self.begun(process.pid)
                process.communicate(b"go\n", timeout=seconds)
            except BaseException:
                _interrupt(process)
                raise
            finally:
                self.begun(None)
            texts = []
            for file in (said, errors):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        return subprocess.CompletedProcess(command, process.returncode, *texts)


@contextmanager
def interruptible() -> Iterator[None]:
    """End by SIGTERM and SIGHUP as by Ctrl-C: in order. One that is ignored, as under nohup, stays so."""

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    here = threading.current_thread() is threading.main_thread()
    changed = [each for each in ENDING if here and signal.getsignal(each) is signal.SIG_DFL]
    for each in changed:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in changed:
            signal.signal(each, signal.SIG_DFL)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """End an engine so that it writes down what it has done; whoever asks again meanwhile has it end faster."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()  # one that waits to start does not
    for sign, seconds in (*SIGNS, (signal.SIGKILL, None)):
        process.send_signal(sign)
        try:
            process.wait(timeout=seconds)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            continue
        return


def _must_be_on_path() -> None:
    if shutil.which("pulumi") is None:
        raise ServiceError("pulumi is not on PATH\n  fix: install it: https://www.pulumi.com/docs/install/")


def checked(stack: str) -> str:
    """A stack's name, which the command line takes for no option. UsageError otherwise."""
    if not _STACK.fullmatch(stack):
        raise UsageError(f"{stack!r} is not the name of a stack\n  fix: `pulumi stack ls` lists them")
    return stack


_KNOWN: Final = (
    (
        "incorrect passphrase",
        "the passphrase is wrong",
        "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the stack's own",
    ),
    ("passphrase must be set", "no passphrase is set", "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE"),
    (
        "currently locked",
        "another update holds the engine's lock",
        "wait for it; after a crash: pulumi cancel --stack {stack}",
    ),
    (
        "BucketNotEmpty",
        "a bucket of it has objects, which no destroy deletes",
        "empty it by hand, then teardown run {stack} --data {stack} --yes; or let it stay: pulumi state protect",
    ),
    ("no stack named", "the backend has no such stack", "`pulumi stack ls` lists them"),
    ("PULUMI_ACCESS_TOKEN", "not logged in to a backend", "pulumi login"),
    ("could not deserialize", "its state cannot be read", "restore an intact one: pulumi stack export --version"),
    ("snapshot integrity", "its state is broken", "restore an intact one: pulumi stack export --version"),
    ("load checkpoint", "its state cannot be read", "restore an intact one: the backend keeps a .bak next to it"),
    ("JSON input", "a state cannot be read", "restore an intact one: the backend keeps a .bak next to each"),
    (
        "has no entry in 'nameTable'",
        "the state has no provider, and this pulumi does not import one",
        "update pulumi, or create the provider alone: pulumi up --target URN, as `pulumi preview --json` names it",
    ),
    ("unmarshal", "its state cannot be read", "restore an intact one: pulumi stack export --version"),
)


def _fault(arguments: Sequence[str], output: str) -> ServiceError:
    """The engine's refusal in one message: what it was about, and the way out where it is a known one."""
    subject = arguments[arguments.index("--stack") + 1] if "--stack" in arguments else "the backend"
    text = " ".join(output.split())
    for word, what, fix in _KNOWN:
        if word in text:
            way_out = fix.replace("{stack}", subject)
            return ServiceError(f"{subject}: {what} (pulumi {' '.join(arguments[:2])})\n  fix: {way_out}")
    reasons = " ".join(dict.fromkeys(error for error in _errors(output) if error != "update failed"))[:600]
    why = reasons or text[-400:] or "no reason given"
    fix = "" if "--stack" in arguments else "\n  fix: check PULUMI_BACKEND_URL, and the login to its store"
    return ServiceError(f"{subject}: pulumi {' '.join(arguments[:2])} failed: {why}{fix}")


def _errors(output: str) -> list[str]:
    """The errors of what the engine prints, each whole on one line. Where it sums them up under "Diagnostics:", those:
    progress above it repeats them, and warnings and counts stand around them in no fixed order.
    """
    errors: list[list[str]] = []
    opened = False
    for line in (output.partition("Diagnostics:\n")[2] or output).splitlines():
        _, mark, error = line.partition("error: ")
        if mark:
            errors.append([error])
            opened = True
        elif "warning: " in line or _HEADING.match(line):
            opened = False
        elif opened and line.strip():
            errors[-1].append(line)
    return [" ".join(" ".join(lines).split()) for lines in errors]
