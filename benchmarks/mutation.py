"""What the tests notice: small faults put into the source one by one with Cosmic Ray, and the share that a test kills.

    make mutation                                          # the whole sample, a quarter of an hour of a processor
    .venv-mutation/bin/python benchmarks/mutation.py diff  # one subject of it

A fault stands in the file on disk while its tests run, so this runs in a checkout that nobody edits meanwhile. Tests
run in `.venv`; Cosmic Ray has an environment of its own, as nothing else here needs it. Of all faults that it knows for
a subject's files the sample has at most one at each place, drawn with a fixed seed. Annotations are left out: they are
never evaluated, so no test can notice. A survivor is not always a gap: some faults change nothing that can be seen, and
the tests asked are a subject's own few, without the goldens and commands that meet it too. The figures are there to be
compared: before and after tests are cut.

Killed on 2026-11-24 of 36 each, at commit 35193bdc: decide 25, money 15, diff 9, rules 24; 771 s of a processor, user
and system.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/sizewell"
SEED = 30
SAMPLED = 36  # faults of each subject
TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Subject:
    """Files to put faults into, and the tests that have to notice them, without those that take minutes."""

    files: tuple[str, ...]
    tests: str


SUBJECTS = {
    "decide": Subject(
        files=("teardown/decide.py",),
        tests="tests/teardown/test_decide.py -k 'not ten_thousand'",
    ),
    "money": Subject(
        files=("sizing/money.py", "sizing/billing/*.py"),
        tests=(
            "tests/resources/test_tariff.py tests/records/test_budget.py tests/resources/test_usage_tiers.py "
            "tests/resources/test_pricing.py tests/test_doctests.py -k 'not doctests or money or billing'"
        ),
    ),
    "diff": Subject(files=("preview/diff.py",), tests="tests/preview/test_diff.py tests/preview/test_unpriced.py"),
    "rules": Subject(files=("policy/rules/*.py",), tests="tests/policy/test_cases.py"),
}


def main() -> int:
    for name in sys.argv[1:] or SUBJECTS:
        judge(name, SUBJECTS[name])
    return 0


def judge(name: str, subject: Subject) -> None:
    command = f".venv/bin/python -m pytest -q -x -p no:cacheprovider -p no:xdist {subject.tests}"
    subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # green before any fault
    faults = sample(known_faults(subject))
    survivors = [fault for fault in faults if survives(fault, command)]
    for fault in survivors:
        print(f"  survived: {fault.module_path.relative_to(PACKAGE)}:{fault.start_pos[0]} {fault.operator_name}")
    print(f"{name}: {len(faults) - len(survivors)} of {len(faults)} killed", flush=True)


def survives(fault: MutationSpec, command: str) -> bool:
    result = mutate_and_test([fault], f'bash -c "{command}"', TIMEOUT_S)
    return bool(result.test_outcome == TestOutcome.SURVIVED)


def known_faults(subject: Subject) -> list[MutationSpec]:
    files = sorted(path for pattern in subject.files for path in PACKAGE.glob(pattern) if path.name != "__init__.py")
    with tempfile.TemporaryDirectory() as folder, use_db(f"{folder}/faults.sqlite", WorkDB.Mode.create) as session:
        init(files, session, {})
        faults = [fault for item in session.work_items for fault in item.mutations]
    annotations = {path: annotation_lines(path) for path in files}
    return [
        fault
        for fault in sorted(faults, key=lambda each: (each.module_path, each.start_pos, each.operator_name))
        if not any(start <= fault.start_pos <= end for start, end in annotations[fault.module_path])
    ]


def annotation_lines(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From where to where (line, column) each annotation of a file goes."""
    nodes = [
        annotation
        for node in ast.walk(ast.parse(path.read_text()))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(annotation, ast.expr)
    ]
    return [((n.lineno, n.col_offset), (n.end_lineno or n.lineno, n.end_col_offset or 0)) for n in nodes]


def sample(faults: list[MutationSpec]) -> list[MutationSpec]:
    """At most one fault at each place."""
    drawn = random.Random(SEED)
    places: dict[tuple[Path, tuple[int, int]], list[MutationSpec]] = {}
    for fault in faults:
        places.setdefault((fault.module_path, fault.start_pos), []).append(fault)
    chosen = drawn.sample(sorted(places), min(SAMPLED, len(places)))
    return [drawn.choice(places[place]) for place in sorted(chosen)]


if __name__ == "__main__":
    sys.exit(main())
