"""Run every benchmark in this folder, or those that are named: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import importlib
import pkgutil
import platform
import sys
import time

import benchmarks


def main() -> int:
    known = [
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in {"__main__", "measure", "mutation"}
    ]
    wanted = sys.argv[1:] or known
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 64
    print(f"Python {platform.python_version()}, {platform.machine()}")
    missed = False
    for name in wanted:
        print(f"\n== {name}")
        started = time.monotonic()
        missed |= bool(importlib.import_module(f"benchmarks.{name}").main())
        print(f"   ({time.monotonic() - started:.0f} s)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
