"""Processes of jobs, forked from one that has imported the frameworks: an import takes longer than a whole test. Run in
.venv-train: `python warm.py SOCKET SCRIPTS`.

Each connection asks for one `spawn.py` and what it starts, as real processes with pids, signals and sockets of their own;
only the start of the interpreter is shared. Answered are a line with the pid and, once it has ended, one with its code.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


def fork(work: Callable[[], None]) -> int:
    """A process that does `work` and ends with the code that it exits with."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


def script(argv: list[str], env: dict[str, str]) -> None:
    """What `python ARGV...` does with that environment."""
    os.environ.clear()
    os.environ.update(env)
    sys.argv = argv
    sys.path[0] = str(Path(argv[0]).parent)
    runpy.run_path(argv[0], run_name="__main__")


class Forked:
    """What `spawn.py` asks of `subprocess.Popen`."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        def work() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            script([str(word) for word in command[1:]], env)

        self.pid, self.code = fork(work), None
        print(f"process {env['RANK']} is {self.pid}", flush=True)

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self, timeout: float = float("inf")) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("forked", timeout)
            time.sleep(0.02)
        return self.code or 0

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def keep(client: socket.socket) -> None:
    """One job from its start to its end."""
    asked: dict[str, Any] = json.loads(client.makefile().readline())

    def work() -> None:
        client.close()
        os.setsid()
        sink = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        subprocess.Popen = Forked  # type: ignore[assignment,misc]
        script(asked["argv"], asked["env"])

    pid = fork(work)
    client.sendall(f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    client.sendall(f"{code}\n".encode())


def main() -> None:
    at, scripts = sys.argv[1:]
    sys.path.append(scripts)
    import botocore.session
    import train_fsdp
    import train_jax
    import train_neuron

    assert train_fsdp, train_jax
    assert train_neuron, botocore.session
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers end by themselves
    server = socket.socket(socket.AF_UNIX)
    server.bind(at)
    server.listen()
    while server in select.select([server, sys.stdin], [], [])[0]:  # until the tests are gone
        client, _ = server.accept()

        def kept(client: socket.socket = client) -> None:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(client)

        fork(kept)
        client.close()


if __name__ == "__main__":
    main()
