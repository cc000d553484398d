"""How long data are on their way, worked by hand, and what that does to a deadline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.cli.economics_text import facts
from sizewell.economics.compare import compare
from sizewell.economics.moving import BYTES_PER_S, bandwidth, moving
from sizewell.economics.ways import work_of
from sizewell.sizing.units import UnitError

from .conftest import option_of


def line_of(work):
    return next((line for line in facts(compare(work)) if "on their way at" in line), "")


def test_two_terabytes_at_five_gigabits_are_less_than_an_hour(work):
    """2 x 10^12 bytes over 625 x 10^6 a second are 3,200 seconds."""
    made = work("away")
    moved = moving(made.option, None)
    assert (moved.size_bytes, moved.bytes_per_s, moved.seconds) == (2 * 10**12, BYTES_PER_S, 3200)
    assert line_of(made) == (
        "2TB are 0.9 h on their way at 5 Gbit/s (an estimate; --bandwidth states it), for each run; machines that wait "
        "for them are in no figure"
    )


def test_each_machine_reads_its_part_and_one_copies(work):
    option = work("away").option
    four = replace(option, fleet=replace(option.fleet, nodes=4))
    assert moving(four, None).seconds == 800
    assert moving(four, None, owned=True).seconds == 3200
    slow = replace(option.candidate.shape, network_bytes_per_s=62_500_000.0)
    slow = replace(option, candidate=replace(option.candidate, shape=slow))
    assert moving(slow, None).seconds == 32_000, "no machine takes more than its network has"


def test_what_is_stated_is_of_the_whole_way():
    spec, option = option_of("away")
    made = work_of(spec, option, 36, {}, bytes_per_s=bandwidth("1Gbit/s"))
    assert moving(option, made.bytes_per_s).seconds == 16_000
    assert line_of(made).startswith("2TB are 4.4 h on their way at 1 Gbit/s, for each run")


def test_data_at_hand_and_those_of_which_nothing_is_stated_are_on_no_way(work):
    here = work("here")
    assert moving(here.option, None) is None
    assert line_of(here) == ""
    assert moving(here.option, None, owned=True).seconds == 3200, "to servers of one's own they have a way"
    assert moving(work("train").option, None) is None
    (note,) = [each for row in compare(here).rows if row.way.key == "own hardware" for each in row.way.notes
               if "on their way" in each]  # fmt: skip
    assert note.startswith("2TB are 0.9 h on their way at 5 Gbit/s")


def test_the_way_counts_against_the_deadline():
    _, option = option_of("late")
    far_spec, far = option_of("away")
    need = replace(far.setting.need, deadline_s=option.setting.need.deadline_s)
    far = replace(far, setting=replace(far.setting, need=need))
    made = work_of(far_spec, far, 36, {})
    whole = (made.option.run_s + 3200) / 3600
    assert f"with the run that is {whole:.1f} h, of 4.0 h to the deadline" in line_of(made)
    slow, whole = replace(made, bytes_per_s=bandwidth("100MB/s")), (made.option.run_s + 20_000) / 3600
    assert line_of(slow).endswith(f"{whole:.1f} h, longer than the 4.0 h to the deadline")
    chances = []
    for rate in (None, bandwidth("400MB/s")):
        rows = compare(work_of(far_spec, far, 36, {}, bytes_per_s=rate)).rows
        chances += [row.way.spread.chance_to_miss for row in rows if row.way.key == "spot"]
    assert chances[0] < chances[1], "what is on its way longer misses it more often on spot"


@pytest.mark.parametrize("text", ["10", "10Gbps/h", "0Gbit/s", "fast", "-1Gbit/s", "5GB", ""])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(UnitError, match="a rate, such as"):
        bandwidth(text)
