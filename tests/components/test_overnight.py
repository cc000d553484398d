"""Working hours that go over midnight: they start on the days that are stated, and end on the days after."""

from __future__ import annotations

from sizewell.components.aws.instances import schedule_actions
from sizewell.components.azure.limits.workflows import recurrences
from sizewell.components.azure.ml.durations import autoscale_profiles as profiles_of_ml
from sizewell.components.azure.ml.durations import stops
from sizewell.components.azure.scale_sets import autoscale_profiles
from sizewell.components.gcp.node_pools import hours
from sizewell.components.owned import ScheduleArgs

NIGHTS: ScheduleArgs = {
    "time_zone": "Europe/Berlin",
    "windows": [{"days": "mon-fri", "start": "22:00", "end": "06:00"}],
}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]


def test_on_aws_and_google_cloud() -> None:
    actions = schedule_actions(NIGHTS, nodes_min=0, nodes_initial=2, nodes_max=4)
    assert [actions[edge]["recurrence"] for edge in ("start-0", "end-0")] == ["0 22 * * MON-FRI", "0 6 * * TUE-SAT"]
    assert [clock["schedule"] for clock in hours(NIGHTS).values()] == ["0 22 * * MON-FRI", "0 6 * * TUE-SAT"]


def test_on_azure() -> None:
    clocks = recurrences(NIGHTS)
    assert (
        [clocks[edge]["schedule"] for edge in ("start-0", "stop-0")]
        == [  # type: ignore[index]
            {"weekDays": DAYS[:5], "hours": [22], "minutes": [0]},
            {"weekDays": DAYS[1:], "hours": [6], "minutes": [0]},
        ]
    )
    assert [edge["cron"]["expression"] for edge in stops(NIGHTS)] == ["0 22 * * 1,2,3,4,5", "0 6 * * 2,3,4,5,6"]
    sizes = {"nodes_min": 0, "nodes_initial": 2, "nodes_max": 4, "schedule": NIGHTS}
    for profiles in (
        profiles_of_ml(deployment_id="id", **sizes),  # type: ignore[arg-type]
        autoscale_profiles(scale_set_id="id", guard=None, **sizes),  # type: ignore[arg-type]
    ):
        days = {each["name"]: each["recurrence"]["schedule"]["days"] for each in profiles}
        assert days["hours-0"] == DAYS[:5]
        assert days["off-0"] == DAYS[1:]


def test_a_start_shortly_before_midnight_lets_the_guard_act_on_the_next_day() -> None:
    late: ScheduleArgs = {**NIGHTS, "windows": [{"days": "fri", "start": "23:50", "end": "08:00"}]}
    profiles = autoscale_profiles(
        scale_set_id="id", guard=None, nodes_min=0, nodes_initial=2, nodes_max=4, schedule=late
    )
    assert {each["name"]: each["recurrence"]["schedule"]["days"] for each in profiles} == {
        "start-0": ["Friday"],
        "hours-0": ["Saturday"],
        "off-0": ["Saturday"],
    }
