"""Names of the configuration that match nothing: an error, or a remark that means the careful reading."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ConfigError
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import Journal, connect
from sizewell.teardown.render import markdown
from tests.teardown import world
from tests.teardown.world import Shelf, ShelfBackend

CATALOG = load()
NOW = world.whole_minute()


def plan(folder: Path, reads: Journal | None = None, **settings: Any) -> Any:
    """Of a backend with the stacks dev-x and prod-x, each with a pool `train`."""
    shelf = Shelf()
    for stack, environment in (("dev-x", "dev"), ("prod-x", "prod")):
        shelf.put(stack, world.component(stack, "train", environment=environment, cloud="elsewhere"))
    reader = StatusReader(
        backend=ShelfBackend(root=folder, shelf=shelf),
        config=parse_config({"schema": "sizewell.teardown/1", "journal": f"file://{folder}/journal", **settings}),
        accounts=lambda _: (world.ACCOUNT,),
        catalog=CATALOG,
        journal=reads,
    )
    return make_plan(reader, "sizewell", NOW)[0]


def test_a_protection_of_no_stack_stops_everything_until_it_is_mended(tmp_path: Path) -> None:
    meant = {"until": "2099-01-01", "reason": "audit"}
    with pytest.raises(ConfigError, match=r"protected\.dev-xx: no stack dev-xx.*\n.*did you mean dev-x\?"):
        plan(tmp_path, protected={"dev-xx": meant})
    with pytest.raises(ConfigError, match=r"protected\.ttl-dev-x: no stack.*\n.*name dev-x, which it stands beside"):
        plan(tmp_path, protected={"ttl-dev-x": meant})


def test_a_stack_that_is_decided_and_not_built_is_known(tmp_path: Path) -> None:
    (tmp_path / "stacks/decisions").mkdir(parents=True)
    (tmp_path / "stacks/decisions/dev-new.json").write_text("{}")
    assert plan(tmp_path, protected={"dev-new": {"until": f"{NOW.year + 1}-01-01", "reason": "audit"}}).remarks == ()


NEXT = f"{NOW.year + 1}-01-01"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"protected": {"gone": {"until": "2025-12-31", "reason": "x"}}}, "protected.gone.until: 2025-12-31 was over "),
        ({"protected": {"dev-x": {"until": "2025-12-31", "reason": "x"}}}, "protects nothing: correct it, or remove"),
        ({"protected": {"dev-x": {"until": "2062-12-31", "reason": "x"}}}, "years away: check the year"),
        ({"protected": {"dev-x": {"until": f"{NEXT}T18:00", "reason": "x"}}}, "no time zone given: read as the latest"),
        ({"production": ["prod-y"]}, "production[0]: no stack prod-y, so it lets none be stopped: did you mean prod-x?"),
        ({"production": ["prod"]}, "production[0]: no stack prod, so it lets none be stopped"),
        ({"production": ["dev-x"]}, "production[0]: dev-x is of dev and no production"),
        ({"prometheus": {"dev-xx": {"url": "http://p"}}}, "prometheus.dev-xx: no stack dev-xx, so it is asked of none"),
        (
            {"prometheus": {"dev-x": {"url": "http://p", "pools": {"trian": {"requests": "r"}}}}},
            "prometheus.dev-x.pools.trian: dev-x has no pool trian: did you mean train?",
        ),
        (
            {"identities": {"123456789021": {"reads": {"AWS_PROFILE": "p"}}}},
            f"identities.123456789021: sizewell:accounts of no stack names it, so it is used for none: did you mean {world.ACCOUNT}?",
        ),
        ({"idle_power_w": {"g6.12xlrage": 16}}, "idle_power_w.g6.12xlrage: no machine type g6.12xlrage"),
    ],
)  # fmt: skip
def test_what_matches_nothing_or_is_over_is_said(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    made = plan(tmp_path, **settings)
    assert [said in remark for remark in made.remarks] == [True]
    assert made.remarks[0].startswith("stacks/config/teardown.yaml: ")
    assert "stacks/config/teardown.yaml: " in markdown(made)


@pytest.mark.parametrize(
    ("country", "subdivision", "said"),
    [
        ("GB", "", "add subdivision: ENG (or NIR, SCT, WLS, nationwide)"),
        ("GB", "ENG", ""),
        ("GB", "nationwide", ""),
        ("SE", "", ""),
    ],
)
def test_a_country_whose_parts_have_holidays_of_their_own_is_said(
    tmp_path: Path, country: str, subdivision: str, said: str
) -> None:
    part = {"subdivision": subdivision} if subdivision else {}
    remarks = plan(tmp_path, closed=[{"country": country, "time_zone": "Europe/London", **part}]).remarks
    about = "stacks/config/teardown.yaml: closed[0].country: GB closes the holidays of the whole country, and parts of"
    assert [each for each in remarks if "holidays" in each] == ([f"{about} it have others: {said}"] if said else [])


def test_a_lease_of_a_stack_that_was_renamed_is_said(tmp_path: Path) -> None:
    journal = Journal(connect(f"file://{tmp_path}/journal")).read()
    until = f"{NOW + timedelta(hours=4):%Y-%m-%dT%H:%MZ}"
    for stack in ("dev-xx", "dev-x"):
        journal.write("lease", NOW - timedelta(hours=1), stack=stack, until=until, reason="demo", by="ana")
    (said,) = plan(tmp_path, reads=journal).remarks
    assert said.startswith("a lease of dev-xx until ")
    assert said.endswith("keeps nothing: no stack dev-xx: did you mean dev-x?")


def test_what_matches_is_not_spoken_of(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        protected={"dev-x": {"until": NEXT, "reason": "x"}},
        production=["prod-x"],
        prometheus={"dev-x": {"url": "http://p", "pools": {"train": {"requests": "r"}}}},
        identities={world.ACCOUNT: {"reads": {"AWS_PROFILE": "p"}}},
        idle_power_w={"g6.12xlarge": 16},
    )
    assert made.remarks == ()
