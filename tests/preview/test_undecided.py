"""What is unknown on both sides of a change is "unchanged" only where what decides about it is the same."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sizewell.preview.assemble import assemble
from sizewell.preview.changes import changed
from sizewell.preview.diff import Side, compare
from sizewell.preview.records import Provenance
from sizewell.preview.render import text
from sizewell.preview.undecided import with_undecided
from sizewell.recording.evaluate import evaluate
from sizewell.resources.pricing import price
from sizewell.sizing.catalog import load

ON = date(2026, 10, 1)
CONFIG = "config:\n  aws:region: us-east-1\n  p:kind: {secure: AAAA}\n  p:team: a\n"
PROGRAM = """\
import pulumi
import pulumi_aws as aws
from sizes import LEAST, kind_of

base = pulumi.StackReference("acme/p/dev")
settings = pulumi.Config()
bucket = aws.s3.Bucket("b", tags={"team": settings.get("team")})
kinds = {"cpu": base.get_output("cpuType")}
aws.ec2.Instance("one", ami="ami-1", instance_type=kind_of(kinds["cpu"]))
aws.ec2.Instance("two", ami="ami-1", instance_type=settings.require_secret("kind"))
"""
SIZES = "LEAST = 2\n\n\ndef kind_of(kind):\n    return kind.apply(lambda each: each or 'm7i.large')\n"


def headline(folder: Path, *sides: tuple[str, str, str]) -> str:
    priced = []
    for place, (program, sizes, config) in enumerate(sides):
        root = folder / str(place)
        root.mkdir()
        for name, content in {
            "Pulumi.yaml": "name: p\nruntime: python\n", "__main__.py": program, "sizes.py": sizes,
            "Pulumi.dev.yaml": config,
        }.items():  # fmt: skip
            (root / name).write_text(content)
        plan = evaluate(root, "dev")
        priced.append(Side(plan=plan, pricing=price(plan, load(), on=ON)))
    was, now = priced
    changes = with_undecided(changed(was.plan, now.plan), was.plan, now.plan, now.pricing.items)
    stack = compare("dev", was, now, base="main", replaced=frozenset(), changes=changes)
    return text.headline(assemble([stack], on=ON, provenance=Provenance()))


@pytest.mark.parametrize(
    ("file", "earlier", "later"),
    [
        (0, "acme/p/dev", "acme/p/prod"),
        (0, 'get_output("cpuType")', 'get_output("gpuType")'),
        (1, "'m7i.large'", "'p5.48xlarge'"),
        (2, "AAAA", "BBBB"),
    ],
)
def test_other_code_or_settings_behind_what_is_unknown_are_no_unchanged(
    tmp_path: Path, file: int, earlier: str, later: str
) -> None:
    before = (PROGRAM, SIZES, CONFIG)
    after = tuple(part.replace(earlier, later) if place == file else part for place, part in enumerate(before))
    assert after != before
    assert "change not known" in headline(tmp_path, before, after)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "earlier", "later"),
    [
        (0, "import pulumi\n", "# moved\n\nimport pulumi\n"),
        (0, 'Bucket("b", tags', 'Bucket("b", force_destroy=True, tags'),
        (1, "LEAST = 2\n", "LEAST = 3\n"),
        (2, "p:team: a", "p:team: c"),
    ],
)
def test_what_is_unknown_is_unchanged_where_only_other_things_change(
    tmp_path: Path, file: int, earlier: str, later: str
) -> None:
    before = (PROGRAM, SIZES, CONFIG)
    after = tuple(part.replace(earlier, later) if place == file else part for place, part in enumerate(before))
    assert after != before
    assert "unchanged" in headline(tmp_path, before, after)  # type: ignore[arg-type]
