"""Stand-ins that start at once: forks of one process that has Python, gRPC and the SDKs' modules loaded already.

For each command the engine starts the plugin of every SDK, and each would import for seconds what the one before it had
imported. So the plugin on PATH is this file's `ask`: it hands its standard output to the process that `begin` started,
which forks a stand-in there and then. Both ends live and die together: a plugin that is killed takes its stand-in with
it, and ends with its engine.

    python -I -S warm.py ask PACKAGE SOCKET      the plugin
    python warm.py serve SOCKET                  the process that is forked, until its standard input ends
"""

import contextlib
import os
import select
import socket
import sys
import threading


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
    """Types of resources that stand-ins have met since the last one."""
    text = b""
    with contextlib.suppress(BlockingIOError):
        while more := os.read(used, 65536):
            text += more
    return sorted(set(text.decode().split()))


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
    {"ask": ask, "serve": serve}[sys.argv[1]](*sys.argv[2:])
