"""Whole processes: `sizewell size --json` and `sizewell preview` against the imports that they cannot do without.

Seen in November 2026 (Python 3.11, two busy cores, no bytecode caches; processor seconds by `measure.py`,
medians of 15 pairs in turn with commit 1fb83d4; 7 pairs of the preview): `sizewell size examples/chat.yaml` 0.719
against 0.756, 0.94 x, since a service is sized without numpy; `sizewell preview dev-aws --engine offline`, of a stack
that has grown since, 2.00 against 1.88, 1.03 x; `sizewell --version` 0.075 against 0.073, 1.01 x (21 pairs).
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import PYTHON, ROOT, paired, report

SIZEWELL = str(ROOT / ".venv/bin/sizewell")
FLOOR = """
import numpy, yaml, pydantic
class Spec(pydantic.BaseModel):
    name: str
    replicas: int = 1
Spec(name="x")
"""
SPEC = "examples/petsnap-vlm-int4.yaml"
STACK = "dev-aws"
FORBIDDEN = ("numpy", "pulumi", "boto3", "botocore", "google.cloud", "azure", "grpc")


def provider_modules(stack: str) -> list[str]:
    """The modules of the Pulumi SDKs whose code runs when a stack is evaluated.

    The SDKs put a lazy stand-in for each service into `sys.modules`; importing those alone loads nothing.
    """
    code = (
        "import sys, types; from pathlib import Path; from sizewell.recording.evaluate import evaluate; "
        f"evaluate(Path('.'), {stack!r}); "
        "print(*sorted(n for n, m in sys.modules.items() if n.startswith('pulumi_') and type(m) is types.ModuleType))"
    )
    return subprocess.run([PYTHON, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def main() -> int:
    a, b, ratio = paired([SIZEWELL, "size", SPEC, "--json"], [PYTHON, "-c", FLOOR])
    print(f"   sizewell size {SPEC} --json: {a:.3f} s; python with numpy, yaml and one model: {b:.3f} s; {ratio:.2f} x")
    missed = report("sizewell size --json", a, 1.7 * b + 0.150, "s")

    loaded = subprocess.run(
        [PYTHON, "-X", "importtime", SIZEWELL, "size", SPEC, "--json"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stderr  # fmt: skip
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in loaded.splitlines()}
    found = sorted(imported & set(FORBIDDEN))
    print(f"   imported by size that must not be: {', '.join(found) or 'nothing'}")
    missed |= bool(found)

    modules = provider_modules(STACK)
    a, b, ratio = paired(
        [SIZEWELL, "preview", STACK, "--engine", "offline"], [PYTHON, "-c", "import " + ", ".join(["pulumi", *modules])]
    )
    print(f"   sizewell preview {STACK}: {a:.3f} s; bare import of the {len(modules)} SDK modules it runs: {b:.3f} s")
    missed |= report("sizewell preview of one stack / bare import of its modules", ratio, 1.3, "x")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
