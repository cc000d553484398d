"""Every version that was ever written is read, or refused with the way out: one file of each is kept."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from sizewell.clouds.prices import asking
from sizewell.economics.own import read_figures
from sizewell.evidence import record as evidence
from sizewell.evidence.journal import read as journal_of_a_run
from sizewell.launch.scripts import manifest
from sizewell.policy.config import read_config
from sizewell.preview.guardrails import read_limits
from sizewell.preview.render import __main__ as rendering
from sizewell.resources import Plan, RecordedResource
from sizewell.resources.graph import Graph
from sizewell.resources.usage import read_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import read_discounts
from sizewell.sizing.catalog.refresh import Listed, Place
from sizewell.sizing.catalog.table import read_sources
from sizewell.sizing.choose.observed import read_observed
from sizewell.sizing.errors import ConfigError, DecisionError, SpecError, UsageError
from sizewell.sizing.predict.memory.constants import parse
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.versions import OLDEST_READ, PRINTED, WRITTEN, content, refusal, schema_of
from sizewell.sizing.workload.read import parse_spec, read_spec
from sizewell.teardown.config import parse_config
from sizewell.teardown.journal import HeldError, Journal, connect
from sizewell.teardown.planning import must_be_own
from sizewell.teardown.settings import fetch
from sizewell.teardown.timeline import read_timeline
from sizewell.teardown.usage import added_up

KEPT = Path(__file__).parent / "versions"
SOURCE = Path(__file__).parents[2] / "src/sizewell"


def scripts() -> ModuleType:
    """The checkpoint contract, which runs on machines without this package."""
    spec = importlib.util.spec_from_file_location("kept_checkpoint", SOURCE / "launch/scripts/checkpoint.py")
    assert spec is not None
    assert spec.loader is not None
    import sys

    sys.path.insert(0, str(SOURCE / "launch/scripts"))
    try:
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SOURCE / "launch/scripts"))
    return module


def sources(path: Path) -> dict[str, str]:
    faults: list[Any] = []
    rows = read_sources(path.name, path.read_text(encoding="utf-8"), faults)
    if faults:
        raise ConfigError(faults)
    return rows


def rendered(path: Path) -> str:
    target = path.with_suffix(".md")
    if rendering.main([str(path), "--markdown", str(target)]):
        raise ConfigError([])
    return target.read_text(encoding="utf-8")


PLANNED = datetime(2026, 11, 22, 13, tzinfo=UTC)


def recorded(path: Path) -> Any:
    """A record of a journal, read as a teardown reads it."""
    folder = path.parent / "journal" / "journal"
    folder.mkdir(parents=True)
    shutil.copy(path, folder / "000000000001.json")
    journal = Journal(store=connect(f"file://{folder.parent}")).read()
    if gap := journal.gap():  # it refuses nothing, and holds every stack
        raise ValueError(gap)
    return journal.records[0]


def held(path: Path) -> bool:
    """A lock, met as another runner meets it."""
    folder = path.parent / "store" / "locks/dev-aws"
    folder.mkdir(parents=True)
    shutil.copy(path, folder / "000000000001.json")
    journal = Journal(store=connect(f"file://{path.parent / 'store'}"))
    try:
        journal.lock("dev-aws", datetime(2026, 11, 22, 13, tzinfo=UTC))
    except HeldError as error:
        if journal.unread:
            raise
        return "runner abababab has been working on it" in str(error)
    return False


def settings_of(path: Path) -> bool:
    """Settings, fetched as a scheduled run does."""
    folder = path.parent / "journal/settings"
    folder.mkdir(parents=True)
    stated = json.loads(path.read_text())
    for name, text in stated.get("files", {}).items():
        stated["files"][name] = text.replace("file:///JOURNAL", f"file://{folder.parent}")
    (folder / "000000000001.json").write_text(json.dumps(stated))
    return fetch(Journal(store=connect(f"file://{folder.parent}")), path.parent / "project").by == "ana"


def answered(path: Path) -> bool:
    """A seller's answer that an earlier run of the day got."""
    place = Place(cloud="aws", market="spot", region="us-east-1")
    journal = asking.Journal(path.parent / "answers", "2026-11-22")
    shutil.copy(path, journal.folder / "aws-spot-us-east-1.jsonl")
    (row,) = journal.answer(place) or ()
    return isinstance(row, Listed) and row.instance_type == "g6.xlarge"


READ: dict[str, Callable[[Path], object]] = {  # how each record is read, and what of a kept file shows that it was
    "calibration": lambda path: parse(content("calibration", json.loads(path.read_text()), path.name)).bands,
    "catalog": lambda path: sources(path) == {"ours": "our contract of 2026"},
    "checkpoint": lambda path: scripts().Manifest.from_json(path.name, path.read_bytes()).step == 100,
    "checkpoint-pointer": lambda path: scripts().pointed(path.read_bytes()) == 100,
    "decision": lambda path: Decision.from_json(path).environment == "dev",
    "evidence": lambda path: evidence.read(path.read_text(), path.name, load()).stage("up").outcome == "failed",
    "evidence-run": lambda path: (
        journal_of_a_run(path.rename(path.with_name("trial.json"))).steps["up"].cause == "capacity"
    ),
    "guardrails": lambda path: read_limits(path).total_budget == 15000,
    "observed": lambda path: read_observed(path, load()).batch == 2,
    "pool-usage": lambda path: added_up([(path.name, json.loads(path.read_text()))])[0].pool == "train",
    "own-hardware": lambda path: read_figures(path)["machine_usd"].source == "a quote",
    "policy": lambda path: read_config(path).waivers[0].resource == "chat",
    "preview": lambda path: "capacity block" in rendered(path),
    "rates": lambda path: read_discounts(path).commitments[0].count == 2,
    "refresh-answers": answered,
    "registration": lambda path: registered(json.loads(path.read_text())) == "search",
    "spec": lambda path: read_spec(path).digest() == read_spec(KEPT / "spec-0.yaml").digest(),
    "teardown": lambda path: parse_config(yaml.safe_load(path.read_text())).environments["dev"].empty_days == 14,
    "teardown-lock": held,
    "teardown-plan": lambda path: must_be_own(json.loads(path.read_text()), project="p", at=PLANNED, hours_max=4),
    "teardown-record": lambda path: recorded(path)["kind"] == "notice",
    "teardown-settings": settings_of,
    "timeline": lambda path: bool(read_timeline(path).pools),
    "usage": lambda path: "chat" in read_usage(path).entries,
}


def test_every_record_has_a_reader_here() -> None:
    assert READ.keys() == WRITTEN.keys()


@pytest.mark.parametrize("name", sorted(path.name for path in KEPT.iterdir()))
def test_a_kept_version_is_read(name: str, tmp_path: Path) -> None:
    path = shutil.copy(KEPT / name, tmp_path / name)
    record, _, version = path.stem.rpartition("-")
    assert OLDEST_READ[record] <= int(version) <= WRITTEN[record]
    assert READ[record](path)


@pytest.mark.parametrize("record", WRITTEN)
def test_every_version_that_is_read_is_kept(record: str) -> None:
    kept = {int(path.stem.rpartition("-")[2]) for path in KEPT.glob(f"{record}-[0-9].*")}
    assert kept == set(range(OLDEST_READ[record], WRITTEN[record] + 1))


@pytest.mark.parametrize("record", WRITTEN)
def test_a_kept_file_says_its_version(record: str) -> None:
    for path in KEPT.glob(f"{record}-[0-9].*"):
        says = "sizewell.{0[0]}/{0[2]}".format(path.stem.rpartition("-"))
        assert (says in path.read_text(encoding="utf-8")) == (not path.stem.endswith("-0")), path.name


@pytest.mark.parametrize("record", WRITTEN)
def test_a_newer_version_is_refused_with_the_way_out(record: str, tmp_path: Path, capsys: Any) -> None:
    (newest,) = KEPT.glob(f"{record}-{WRITTEN[record]}.*")
    path = tmp_path / newest.name
    path.write_text(newest.read_text(encoding="utf-8").replace(schema_of(record), f"sizewell.{record}/9", 1))
    with pytest.raises(Exception) as refused:
        READ[record](path)
    said = f"{refused.value} {capsys.readouterr().err}"
    assert f"sizewell.{record}/9" in said
    assert "upgrade Sizewell" in said or "the release that wrote it" in said


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
    return str((Graph(Plan(project="p", stack="main", resources=(pool, bucket))).registration(bucket) or {})["owner"])


def test_a_refusal_has_the_form_of_its_command(tmp_path: Path) -> None:
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


def test_what_is_written_is_what_the_table_says() -> None:
    """In code, in schemas and in every file of the package: each version of ours is one that the table knows."""
    files = [path for end in ("py", "json", "yaml") for path in SOURCE.rglob(f"*.{end}") if path.name != "versions.py"]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    written = {says for text in texts.values() for says in re.findall(r"[\"'](sizewell\.[a-z-]+/\d+)[\"']", text)}
    assert written <= {schema_of(record) for record in (*WRITTEN, *PRINTED)}
    assert schema_of("checkpoint") == manifest.SCHEMA
    assert schema_of("checkpoint-pointer") == scripts().POINTER
    assert schema_of("run-start") in written
    fitted = SOURCE / "sizing/predict/calibration"
    assert {json.loads(path.read_text())["schema"] for path in fitted.glob("*.json")} == {schema_of("calibration")}


def test_the_page_names_every_record() -> None:
    page = (SOURCE.parents[1] / "docs/reference/versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `sizewell\.([a-z-]+)/(\d+)` \|.*\| (also without|with) a version \|$", page, re.MULTILINE)
    assert {(name, int(number), read == "also without") for name, number, read in rows} == {
        (name, number, OLDEST_READ[name] == 0) for name, number in WRITTEN.items()
    }
    printed = re.findall(r"^\| `sizewell\.([a-z-]+)/(\d+)` \| [^|]* \|$", page, re.MULTILINE)
    assert {name: int(number) for name, number in printed} == PRINTED


def test_what_is_kept_in_stores_and_journals_says_its_version(tmp_path: Path) -> None:
    journal = Journal(store=connect(f"file://{tmp_path}/store"))
    journal.lock("dev-aws", PLANNED).release()
    locks = sorted((tmp_path / "store/locks/dev-aws").iterdir())
    assert [json.loads(path.read_text())["schema"] for path in locks] == [schema_of("teardown-lock")] * 2
    answers = asking.Journal(tmp_path / "answers", "2026-11-22")
    place = Place(cloud="aws", market="spot", region="us-east-1")
    answers.keep(place, [])
    assert answers.answer(place) == []
    (answer,) = answers.folder.glob("*.jsonl")
    assert json.loads(answer.read_text())["schema"] == schema_of("refresh-answers")
    answer.write_text("")  # as it was when answers had no version: nobody sells it there
    assert answers.answer(place) == []


def test_a_spec_that_is_shown_says_its_version() -> None:
    from sizewell.sizing.workload.resolved import as_yaml

    spec = read_spec(KEPT / "spec-1.yaml")
    text = as_yaml(spec)
    assert yaml.safe_load(text)["schema"] == schema_of("spec")
    assert parse_spec(text).digest() == spec.digest()
