"""Every version that was ever written is read, or refused with the way out: one file of each is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sizewell.resources import Plan, RecordedResource, facts
from sizewell.sizing.errors import DecisionError, SpecError, UsageError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.versions import OLDEST_READ, WRITTEN, refusal, schema_of
from sizewell.sizing.spec.read import parse_spec, read_spec

KEPT = Path(__file__).parent / "versions"
SOURCE = Path(__file__).parents[2] / "src/sizewell"


@pytest.mark.parametrize("path", sorted(KEPT.iterdir()), ids=lambda path: path.name)
def test_a_kept_version_is_read(path: Path) -> None:
    record, _, version = path.stem.rpartition("-")
    assert OLDEST_READ[record] <= int(version) <= WRITTEN[record]
    if record == "spec":
        assert read_spec(path).digest() == read_spec(KEPT / "spec-0.yaml").digest()
    elif record == "decision":
        assert Decision.from_json(path).environment == "dev"
    else:
        assert registered(json.loads(path.read_text())) == "prod"


@pytest.mark.parametrize("record", ["spec", "decision", "registration"])
def test_every_version_that_is_read_is_kept(record: str) -> None:
    kept = {int(path.stem.rpartition("-")[2]) for path in KEPT.glob(f"{record}-*")}
    assert kept == set(range(OLDEST_READ[record], WRITTEN[record] + 1))


def registered(statement: object) -> str:
    pool = RecordedResource(
        urn="urn:pulumi:main::p::sizewell-aws:index:GpuNodeGroup::chat",
        type="sizewell-aws:index:GpuNodeGroup",
        name="chat",
        inputs={"sizewell": statement},
        custom=False,
    )
    bucket = RecordedResource(
        urn="urn:pulumi:main::p::aws:s3/bucket:Bucket::chat",
        type="aws:s3/bucket:Bucket",
        name="chat",
        inputs={},
        parent=pool.urn,
    )
    (thing,) = facts(Plan(project="p", stack="main", resources=(pool, bucket)), None).things
    return str(thing.environment)


def test_a_newer_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"schema: is 'sizewell\.spec/9'; this release reads sizewell\.spec/1 and older"
    ):
        parse_spec("schema: sizewell.spec/9\nname: a\nkind: notebook\n")
    with pytest.raises(UsageError, match=r"registration/9.*\n  fix: upgrade Sizewell"):
        registered({"schema": "sizewell.registration/9", "kind": "pool", "environment": "prod"})
    newer = (KEPT / "decision-1.json").read_text().replace("sizewell.decision/1", "sizewell.decision/9")
    (tmp_path / "dev-gcp.json").write_text(newer)
    with pytest.raises(DecisionError, match=r"decision/9.*\n  fix: upgrade Sizewell.*or run `sizewell size"):
        Decision.from_json(tmp_path / "dev-gcp.json")


@pytest.mark.parametrize("stated", ["sizewell.decision/1", "spec/1", 1, "sizewell.spec/one"])
def test_another_record_s_version_is_refused(stated: object) -> None:
    why, fix = refusal("spec", stated)
    assert "this release reads sizewell.spec/1" in why
    assert schema_of("spec") in fix


def test_what_the_code_writes_is_what_the_table_says() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "versions.py")
    written = set(re.findall(r"[\"'](sizewell\.[a-z]+/\d+)[\"']", code))
    assert written <= {schema_of(record) for record in WRITTEN}
