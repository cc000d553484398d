"""The expiry on Google Cloud, played through against permissions that Google's documents name, not our own roles."""

from datetime import UTC, datetime

import pytest
from google_standin import LONGER, OWNER, ROWS, Project, needed
from workflow_run import Failed, run

from sizewell.components.gcp.limits import expiry, workflows

STACK, OTHER = "dev-gcp", "prod-gcp"
AFTER = datetime(2026, 9, 22, 1, tzinfo=UTC).timestamp()
BEFORE = datetime(2026, 9, 21, tzinfo=UTC).timestamp()


def play(project, now=AFTER, *, firm=True):
    ends = {"owner": OWNER, "stack": STACK, "ends": "2026-09-22", "firm": firm}
    text = expiry.end_workflow(project="petsnap", region="us-central1", **ends)
    return run(text, answer=project.answer, now=now)


@pytest.fixture
def project():
    made = Project(expiry.PERMISSIONS)
    made.add(STACK)
    made.add(OTHER)
    made.add(STACK + LONGER)  # its name begins with the stack's
    made.add("somebody", label="")
    made.add("namesake", label=STACK, owner="theirs")  # another project's stack of the same name
    return made


def stuck_aside(made):
    """Without the pool whose autoscaling cannot be switched off, of which every run tells."""
    for cluster in made.clusters.values():
        cluster["pools"].pop("flex", None)
    return made


def test_an_expiry_ends_what_bills_and_nothing_of_others(project, capsys):
    stuck_aside(project)
    others = (OTHER, STACK + LONGER, "somebody", "namesake")
    before = {stack: project.bills(stack) for stack in others}
    play(project)
    assert len(before[OTHER]) == 5
    kinds = {f"{call.split()[0]} {call.rpartition('/')[2].rpartition(':')[2] or call}" for call in project.calls}
    with capsys.disabled():
        print(f"\nGoogle Cloud expiry called: {', '.join(sorted(kinds))}")
    assert {stack: project.bills(stack) for stack in others} == before
    assert project.bills(STACK) == []


def test_an_end_that_is_not_firm_says_what_runs_and_stops_nothing(project):
    looks = Project(expiry.LOOKS)
    looks.add(OTHER)
    play(looks, firm=False)  # nothing of the stack stands
    looks.add(STACK)
    before = looks.bills(STACK)
    with pytest.raises(Failed, match=f"{STACK} is past its end and still runs, nothing was stopped"):
        play(looks, firm=False)
    assert looks.bills(STACK) == before
    assert {call.split()[0] for call in looks.calls} == {"get"}
    play(looks, now=BEFORE, firm=False)
    for missing in expiry.LOOKS:
        with pytest.raises(Failed):
            play(Project([one for one in expiry.LOOKS if one != missing]), firm=False)


def test_before_its_date_it_does_nothing(project):
    play(project, now=BEFORE)
    assert project.calls == []


def test_where_autoscaling_cannot_be_switched_off_the_pool_is_emptied_and_somebody_hears(project):
    with pytest.raises(Failed, match="autoscaling cannot be disabled"):
        play(project)
    assert project.bills(STACK) == []


@pytest.mark.parametrize(
    "operation",
    ["clusters", "setAutoscaling", "setSize", "services", "customJobs", "cancel", "endpoints", "undeployModel"],
)
def test_what_failed_is_told_stops_nothing_else_and_goes_in_the_next_hour(project, operation):
    stuck_aside(project)
    project.failing = [operation]
    with pytest.raises(Failed, match="UNAVAILABLE"):
        play(project)
    assert len(project.bills(STACK)) <= 2
    project.failing = []
    play(project)
    assert project.bills(STACK) == []


def test_without_any_one_permission_the_expiry_fails_loudly(capsys):
    removed, failed = [], []
    for permission in expiry.PERMISSIONS:
        made = Project([one for one in expiry.PERMISSIONS if one != permission])
        made.add(STACK)
        removed.append(permission)
        try:
            play(stuck_aside(made))
        except Failed:
            failed.append(permission)
    with capsys.disabled():
        print(f"\nGoogle Cloud expiry: permissions removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed


def test_a_pool_s_workflow_and_its_clock_have_what_they_call_and_no_more(capsys):
    """The workflow that sizes a pool calls what `limits/workflows.py` builds; the clock starts it."""
    text = workflows.size_workflow(
        project="petsnap",
        region="us-central1",
        cluster="training",
        pools={
            "train": {
                "initial_node_count": 1,
                "autoscaling": {"total_min_node_count": 0, "total_max_node_count": 4, "location_policy": "ANY"},
            }
        },
        zones=1,
        guard={
            "signal": "accelerator_utilization",
            "min_utilization_percent": 5,
            "window_s": 2700,
            "grace_s": 3600,
            "action": "scale-to-zero",
        },
        accelerators_per_node=8,
    )
    removed, failed = [], []
    for permission in (None, *workflows.PERMISSIONS):
        refused = set()
        for size in ("working", "zero", "idle"):
            try:
                run(text, answer=_idle(permission), now=AFTER, argument={"size": size})
            except Failed as failure:
                refused.add(str(failure))
        if permission is None:
            assert not refused
            continue
        removed.append(permission)
        failed += [permission] if refused else []
    with capsys.disabled():
        print(f"\nGoogle Cloud idle stop: permissions removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed
    start = next(row for row in ROWS if "workflowexecutions" in row["url"])
    assert list(workflows.START_PERMISSIONS) == start["permissions"]


def _idle(missing):
    def answer(method, url, query, body):
        asked = needed(method, url)
        held = set(workflows.PERMISSIONS) - {missing}
        if not set(asked) <= held:
            raise Failed(403, {"error": {"status": "PERMISSION_DENIED"}})
        if method != "get":
            return {}
        seen = {"REDUCE_MIN": 105, "REDUCE_MAX": 0}.get(query["aggregation.crossSeriesReducer"])
        count = seen if seen is not None else (16 if "duty" in query["filter"] else 2)
        return {"timeSeries": [{"points": [{"value": {"int64Value": str(count)}}]}]}

    return answer


def test_every_row_says_where_it_is_written(capsys):
    memory = [row["url"] for row in ROWS if "from memory" in row["source"]]
    with capsys.disabled():
        print(f"\nGoogle Cloud: calls with a source {len(ROWS) - len(memory)}, from memory {len(memory)}")
    assert all(row["source"] for row in ROWS)
