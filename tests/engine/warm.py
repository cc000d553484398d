"""Stand-ins and programs that start at once: forks of a process that has Python, gRPC and the SDKs' modules loaded.

For each command the engine starts the plugin of every SDK and the program, and each would import for seconds what the
one before it had imported. So the plugin on PATH is this file's `ask`, and the interpreter runs its `program`: they
hand their standard output to a process that forks a stand-in, or a program, there and then. Both ends live and die
together: a plugin that is killed takes its stand-in with it, and ends with its engine.

    python -I -S warm.py ask PACKAGE SOCKET            the plugin
    python -I -S warm.py program SOCKET PYTHON [...]   the program, by its language host's script
    python warm.py serve SOCKET                        the process that is forked into stand-ins
    python warm.py serve_programs SOCKET               the process that is forked into programs

The last two live until their standard input ends.
"""

import contextlib
import importlib
import json
import os
import runpy
import select
import socket
import sys
import threading
import traceback
from pathlib import Path

LOADED = ("pulumi", "pulumi_aws", "pulumi_azure_native", "pulumi_gcp", "pulumi_kubernetes", "sizewell")


def ask(package: str, path: str) -> None:
    """Be the plugin `package` for as long as its engine and its stand-in live."""
    parent = os.getppid()
    stated = [f"{key}={value}" for key, value in os.environ.items() if key.startswith("SIZEWELL_STANDIN")]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        socket.send_fds(line, ["\n".join([package, *stated]).encode()], [1, 2])
        line.settimeout(1)
        while os.getppid() == parent:
            with contextlib.suppress(TimeoutError):
                if not line.recv(1):
                    break


def program(path: str, *arguments: str) -> None:
    """Be the interpreter that runs a script; exits with its code, or with its language host, and the program with it."""
    parent = os.getppid()
    asked = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": str(Path.cwd())}).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        socket.send_fds(line, [len(asked).to_bytes(4, "big")], [1, 2])
        line.sendall(asked)
        line.settimeout(1)
        code = b""
        while os.getppid() == parent:
            with contextlib.suppress(TimeoutError):
                code = line.recv(1)
                break
    sys.exit(code[0] if code else 1)


def serve_programs(path: str) -> None:
    """Fork a program for each interpreter that asks; modules that one has loaded are loaded here, for the next."""
    import fcntl
    import gc
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        used, use = os.pipe()
        os.set_blocking(used, False)
        os.set_blocking(use, False)  # names that find no room are learnt another time
        fcntl.fcntl(use, fcntl.F_SETPIPE_SZ, 1 << 20)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            line, _ = listener.accept()
            size, streams, _, _ = socket.recv_fds(line, 4, 2)
            asked = json.loads(line.makefile("rb").read(int.from_bytes(size, "big")))
            for name in _told(used):
                with contextlib.suppress(Exception):  # it fails again where it is needed, and is told there
                    _load(name)
            gc.freeze()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _run(line, streams, use, **asked)
            for one in streams:
                os.close(one)
            line.close()


def _load(name: str) -> None:
    """Load a module, after the package it is in: Pulumi's lazy packages lose names if a part of them is loaded first."""
    package = name.rpartition(".")[0]
    if package:
        hasattr(importlib.import_module(package), "__all__")  # whatever is asked of it loads a lazy package
    importlib.import_module(name)


def _run(line, streams, use, *, arguments, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for ours, theirs in zip((0, 1, 2), (os.open(os.devnull, os.O_RDONLY), *streams), strict=True):
        os.dup2(theirs, ours)
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    known = set(sys.modules)
    sys.argv = list(arguments)
    sys.path[0] = str(Path(arguments[0]).parent)
    code = 1
    try:
        runpy.run_path(arguments[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (what an interpreter does)
        traceback.print_exc()
    loaded = [name for name in sys.modules if name not in known and name.partition(".")[0] in LOADED]
    with contextlib.suppress(BlockingIOError):
        os.write(use, "".join(f"{name}\n" for name in loaded).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    line.send(bytes([code]))
    os._exit(code)


def serve(path: str) -> None:
    """Fork a stand-in for each plugin that asks; its modules are loaded here, for the next, once one has used them."""
    import gc
    import signal

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        import sdk_types
        import standin

        used, use = os.pipe()
        os.set_blocking(used, False)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            line, _ = listener.accept()
            message, streams, _, _ = socket.recv_fds(line, 65536, 2)
            for token in _told(used):
                with contextlib.suppress(Exception):  # it fails again where it is needed, and is told there
                    sdk_types.faults(token, {})
                    sdk_types.computed_outputs(token, "", {})
            gc.freeze()
            if os.fork() == 0:
                listener.close()
                package, *stated = message.decode().split("\n")
                os.environ.update(one.split("=", 1) for one in stated)
                for ours, theirs in zip((1, 2), streams, strict=True):
                    os.dup2(theirs, ours)
                threading.Thread(target=_end_with, args=(line,), daemon=True).start()
                sdk_types.resource_class = _telling(sdk_types.resource_class, use)
                standin.serve(package)
            for one in streams:
                os.close(one)
            line.close()


def _told(used: int) -> list[str]:
    """Types of resources that stand-ins have met, or modules that programs have loaded, since the last one."""
    text = b""
    with contextlib.suppress(BlockingIOError):
        while more := os.read(used, 65536):
            text += more
    return list(dict.fromkeys(text.decode().split()))


def _telling(resource_class, use):
    met = set()

    def telling(token):
        if token not in met:
            met.add(token)
            os.write(use, f"{token}\n".encode())
        return resource_class(token)

    return telling


def _end_with(line: socket.socket) -> None:
    line.recv(1)
    os._exit(0)


if __name__ == "__main__":
    {"ask": ask, "program": program, "serve": serve, "serve_programs": serve_programs}[sys.argv[1]](*sys.argv[2:])
