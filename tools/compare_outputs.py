"""Run the same commands in two checkouts and print where what a user sees differs.

    python tools/compare_outputs.py OLD NEW [--only WORD]

Each checkout runs its own `.venv/bin/sizewell` on its own files. Standard output, standard error and the exit code of
each command are compared byte by byte; the checkouts' own paths are blanked first. Exit 1 where anything differs.
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DAY = ("--on", "2026-11-20")
COMMANDS = ("init", "size", "explain", "preview", "policy", "prices", "launch", "teardown", "keep", "wake", "reconcile")
COMMANDS += ("validate", "doctor", "completion", "help")
ACTIONS = {
    "prices": ("show", "diff", "import", "refresh"),
    "teardown": ("plan", "run", "observed", "report", "schedule", "replay"),
}
PRICES = (
    "p5.48xlarge",
    "g6.xlarge",
    "ebs.gp3.gb_month",
    "groq",
    "a3-highgpu-8g",
    "Standard_ND96isr_H100_v5",
    "nothing",
)
# One mistake each, on top of a spec that is right; what is printed is the error.
MISTAKES = {
    "unknown key": {"gpus": 8},
    "wrong kind": {"kind": "serving"},
    "no model": {"model": None},
    "unknown model": {"model": "meta-llama/Llama-9"},
    "negative rate": {"traffic": {"rps": -1, "input_tokens": 10, "output_tokens": 10}},
    "no unit": {"slo": {"ttft": "fast"}},
    "unknown region": {"infra": ["aws/us-east-9"]},
    "unknown cloud": {"infra": ["oracle"]},
    "unknown accelerator": {"resources": {"accelerators": ["H900"]}},
    "impossible slo": {"slo": {"ttft": "1us"}},
    "budget": {"budget": {"monthly": "1 USD"}},
    "residency": {"data": {"location": "s3://b/x", "size": "1TB", "residency": "mars"}},
    "schedule": {"schedule": {"on": "Mon-Fri 25:00-26:00 Europe/London"}},
    "time zone": {"schedule": {"on": "Mon-Fri 07:00-21:00 Mars/Phobos"}},
    "ttl": {"ttl": "soon"},
    "spot": {"spot_policy": "always"},
    "two faults": {"kind": "x", "objective": "y"},
    "eu": {"infra": ["aws/eu-west-1"]},
    "gcp": {"infra": ["gcp"]},
    "azure": {"infra": ["azure"]},
    "h100": {"resources": {"accelerators": ["H100"]}},
    "int4": {"model": {"name": "meta-llama/Llama-3.1-8B", "weights": "int4"}},
}
SPEC = {
    "name": "chat",
    "kind": "inference",
    "model": "meta-llama/Llama-3.1-8B",
    "traffic": {"rps": 4, "input_tokens": 1500, "output_tokens": 300},
    "slo": {"ttft": "500ms", "tpot": "50ms", "percentile": "p95"},
}


def commands(checkout: Path) -> list[tuple[str, tuple[str, ...], str]]:
    """Each command as its label, its arguments and its standard input."""
    stacks = sorted(path.stem for path in (checkout / "stacks" / "decisions").glob("*.json"))
    specs = [str(path.relative_to(checkout)) for path in sorted((checkout / "examples").glob("*.yaml"))]
    rows: list[tuple[str, ...]] = [("--help",), ("--version",), ("help", "size"), ("siez",), ("policy", "--list")]
    rows += [(command, "--help") for command in COMMANDS]
    rows += [(command, action, "--help") for command, actions in ACTIONS.items() for action in actions]
    rows += [("size", *specs, *DAY), ("size", *specs, *DAY, "--json"), ("size", "--check", *DAY)]
    for spec in specs:
        rows += [("size", spec, *DAY), ("size", spec, *DAY, "--json"), ("size", spec, *DAY, "--show-spec")]
        rows += [
            ("explain", spec, *DAY),
            ("explain", spec, *DAY, "--html", "-"),
            ("explain", spec, *DAY, "--why", "h100"),
        ]
        rows += [("explain", spec, *DAY, "--checklist", name) for name in ("scale", "deploy")]
    for stack in stacks:
        formats = ("terminal", "markdown", "json", "html", "focus")
        rows += [("preview", stack, *DAY, "--format", name) for name in formats]
        rows += [("policy", stack, *DAY), ("policy", stack, *DAY, "--json"), ("explain", "--stack", stack)]
        rows += [("launch", stack, "--image", f"registry.example/run@sha256:{'0' * 64}")]
    rows += [("prices", "show", name, *DAY) for name in PRICES] + [("prices", "diff", "--since", "2026-07-01", *DAY)]
    rows += [("teardown", "replay", "examples/timelines/weekend.json"), ("teardown", "schedule"), ("validate",)]
    rows += [("completion", shell) for shell in ("bash", "zsh", "fish")]
    given = [(" ".join(row), row, "") for row in rows]
    for label, mistake in MISTAKES.items():
        lines = [f"{key}: {_yaml(value)}" for key, value in {**SPEC, **mistake}.items() if value is not None]
        given += [(f"size - ({label})", ("size", "-", *DAY), "\n".join(lines))]
    return given


def _yaml(value: object) -> str:
    """A value in YAML's flow form."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


def output(checkout: Path, arguments: tuple[str, ...], text: str) -> str:
    """What one command prints, with its exit code."""
    program = checkout / ".venv" / "bin" / "sizewell"
    done = subprocess.run(
        [program, *arguments], cwd=checkout, input=text, capture_output=True, text=True, timeout=600, check=False
    )
    seen = f"{done.stdout}\n--- standard error\n{done.stderr}\n--- exit {done.returncode}\n"
    return seen.replace(str(checkout), "CHECKOUT")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", default="", help="only commands whose line has this in it")
    given = parser.parse_args()
    old, new = given.old.resolve(), given.new.resolve()
    chosen = [row for row in commands(old) if given.only in row[0]]
    differ = 0
    with ThreadPoolExecutor(2) as pool:
        befores = [pool.submit(output, old, arguments, text) for _, arguments, text in chosen]
        afters = [pool.submit(output, new, arguments, text) for _, arguments, text in chosen]
        for (label, _, _), before, after in zip(chosen, befores, afters, strict=True):
            lines = difflib.unified_diff(before.result().splitlines(), after.result().splitlines(), lineterm="", n=1)
            changed = list(lines)
            if changed:
                differ += 1
                print(f"sizewell {label}", *(f"    {line[:200]}" for line in changed[:60]), sep="\n")
    print(f"{len(chosen)} commands, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
