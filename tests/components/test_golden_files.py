"""Development's goldens, stored as differences: they read back exactly, and a changed line in either form is noticed."""

import shutil
from pathlib import Path

import golden_files
import pytest
from golden_files import check, stored, whole, write
from hypothesis import given
from hypothesis import strategies as st

HERE = Path(__file__).parent
PAIRED = [path for path in sorted(HERE.glob("*/goldens/*-dev.txt")) if golden_files._production(path)]
DIFFERENCES = [path for path in PAIRED if path.read_text(encoding="utf-8").startswith("--- ")]
TEXTS = st.lists(st.sampled_from(["", "a  b", "  x: 1", "  x: 2", "-y", "+y", "@@ -1,1 +1,1 @@", "\u2028"]), max_size=9)


@pytest.fixture
def dev(tmp_path):
    """A copy of a component's two goldens; the path of development's."""
    for form in ("dev", "prod"):
        shutil.copy(HERE / f"aws/goldens/schedule-{form}.txt", tmp_path)
    return tmp_path / "schedule-dev.txt"


def test_development_is_stored_as_a_difference_where_that_is_shorter():
    assert len(DIFFERENCES) > 20
    for path in PAIRED:
        stands = path.read_text(encoding="utf-8")
        assert stands == stored(path, whole(path)), path
        assert len(stands.splitlines()) <= len(whole(path).splitlines()), path


def test_one_value_taken_away_fails_and_is_shown(dev):
    text = whole(dev)
    check(dev, text, "make it so")
    for line in (
        "    environment: dev",
        "    kind: limits",
    ):  # one that differs from production's, one that does not
        assert f"\n{line}\n" in text
        with pytest.raises(pytest.fail.Exception) as caught:
            check(dev, text.replace(f"{line}\n", "", 1), "make it so")
        assert [one for one in str(caught.value).splitlines()[2:] if one.startswith(("-", "+"))] == [f"-{line}"]
        assert str(caught.value).endswith("refresh: make it so")


def test_a_change_of_production_alone_fails_development(dev):
    text, base = whole(dev), dev.with_name("schedule-prod.txt")
    stands = base.read_text(encoding="utf-8")
    for line in ("    environment: prod", "    kind: limits"):
        assert f"\n{line}\n" in stands
        base.write_text(stands.replace(f"{line}\n", "", 1), encoding="utf-8")
        with pytest.raises(pytest.fail.Exception, match="refresh: make it so"):
            check(dev, text, "make it so")


@pytest.mark.parametrize("forms", [("dev", "prod"), ("prod", "dev")])
def test_a_refresh_writes_both_in_any_order(dev, forms, monkeypatch):
    monkeypatch.setenv("SIZEWELL_REFRESH", "1")
    texts = {form: whole(dev.with_name(f"schedule-{form}.txt")).replace("owner", "holder") for form in ("dev", "prod")}
    for form in forms:
        check(dev.with_name(f"schedule-{form}.txt"), texts[form], "make it so")
    assert dev.read_text(encoding="utf-8").startswith("--- schedule-prod.txt\n+++ schedule-dev.txt\n@@ ")
    assert {form: whole(dev.with_name(f"schedule-{form}.txt")) for form in forms} == texts


def test_what_has_little_in_common_stays_whole(dev):
    write(dev, "aws:s3/bucket:Bucket  data\n  region: us-east-1\n")
    assert dev.read_text(encoding="utf-8") == whole(dev) == "aws:s3/bucket:Bucket  data\n  region: us-east-1\n"


@given(TEXTS, TEXTS)
def test_every_difference_reads_back(tmp_path_factory, prod, now):
    folder = tmp_path_factory.mktemp("goldens")
    base, path, text = folder / "x-prod.txt", folder / "x-dev.txt", "\n".join([*now, ""])
    base.write_text("\n".join([*prod, ""]), encoding="utf-8")
    path.write_text("\n".join([*golden_files._difference(base, path, text), ""]), encoding="utf-8")
    assert whole(path) == text
