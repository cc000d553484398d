"""The workflow that fills and empties a pool, run step by step: what it asks, what it takes for idleness, what it
does."""

from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from gcp_recording import GUARD, HOURS
from workflow_run import Failed, names_of, run

from sizewell.components.gcp import node_pools
from sizewell.components.gcp.limits import expiry, workflows

SCALED = {
    "initial_node_count": 1,
    "autoscaling": {"total_min_node_count": 0, "total_max_node_count": 4, "location_policy": "ANY"},
}
FIXED = {"node_count": 2}
NOW = datetime(2026, 9, 21, 12, tzinfo=UTC).timestamp()
SECONDS = GUARD["window_s"] + GUARD["grace_s"]
ALL = SECONDS // 60


def text(pools=None, guard=GUARD, ends="", zones=1):
    return workflows.size_workflow(
        project="petsnap",
        region="us-central1",
        cluster="training",
        pools=pools or {"train": SCALED},
        zones=zones,
        guard=guard,
        accelerators_per_node=8,
        ends=ends,
    )


def cloud(machines=None, series=None, samples=None, peak=None, stood=None):
    """Cloud Monitoring with these aggregates (None: no data) and GKE, which writes down what it is asked for."""
    asked = []

    def answer(method, url, query, body):
        if method == "get":
            reducer, metric = query["aggregation.crossSeriesReducer"], query["filter"]
            duty = "duty" in metric
            most = peak if duty else stood
            found = {"REDUCE_MIN": samples, "REDUCE_MAX": most}.get(reducer, series if duty else machines)
            whole = {"int64Value": str(found)} if isinstance(found, int) else {"doubleValue": found}
            return {} if found is None else {"timeSeries": [{"points": [{"value": whole}]}]}
        asked.append((url.rpartition("/")[2], body))
        return {}

    return answer, asked


def ran(size, seen=None, now=NOW, **made):
    answer, asked = cloud(**(seen or {}))
    found = run(text(**made), answer=answer, now=now, argument={"size": size} if size else None)
    return found, asked


OFF = {"autoscaling": {"enabled": False}}
IDLE = {"machines": 2, "series": 16, "samples": ALL, "peak": 0}


@pytest.mark.parametrize("peak", [0, 4, 4.9])
def test_a_pool_that_idled_long_enough_is_emptied_and_not_filled_again(peak):
    found, asked = ran("idle", {**IDLE, "peak": peak})
    assert found == ["train"]
    assert asked == [("train:setAutoscaling", OFF), ("train:setSize", {"nodeCount": 0})]


@pytest.mark.parametrize(
    "seen",
    [
        {"peak": 5},
        {"peak": 97.5},
        {"peak": None},  # nothing measured is not idleness
        {"samples": None},
        {"samples": int(ALL * 0.94)},  # gaps, or a machine that came within the window
        {"series": 15},  # an accelerator without metrics may be busy
        {"series": None},
        {"machines": 3},  # a third machine that says nothing
        {"machines": None},  # none there: nothing to stop
        {"machines": 0, "series": 0},
    ],
)
def test_what_works_or_is_not_seen_all_the_time_is_kept(seen):
    found, asked = ran("idle", {**IDLE, **seen})
    assert "kept" in found
    assert asked == []


@pytest.mark.parametrize(
    ("seen", "heard"),
    [
        ({"machines": 2, "stood": ALL}, True),
        ({"machines": 2, "stood": int(ALL * 0.5)}, False),  # they came within the window
        ({"machines": 2, "series": 1, "stood": ALL}, False),  # some of them are seen: kept, and busy or new ones
        ({"machines": 0, "stood": ALL}, False),  # they are gone again
    ],
)
def test_machines_that_nothing_measures_are_heard_of(seen, heard):
    with pytest.raises(Failed, match="not known") if heard else nullcontext():
        assert ran("idle", seen) == ("not reported all the time: kept", [])


@pytest.mark.parametrize("size", ["zero", "idle"])
def test_a_pool_that_cannot_stop_following_load_is_emptied_all_the_same_and_heard_of(size):
    """As the API may say of pools of flex-start or queued machines, which have to follow load."""
    seen, asked = cloud(**{**IDLE, "stood": ALL})

    def answer(method, url, query, body):
        if url.endswith(":setAutoscaling"):
            raise Failed(403, {"error": {"message": "autoscaling is required"}})
        return seen(method, url, query, body)

    with pytest.raises(Failed, match="still following load"):
        run(text(), answer=answer, now=NOW, argument={"size": size})
    assert asked == [("train:setSize", {"nodeCount": 0})]


def test_working_hours_fill_the_pool_and_let_it_follow_load():
    scaling = {"enabled": True, "totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"}
    found, asked = ran("working")
    assert found == ["train"]
    assert asked == [("train:setSize", {"nodeCount": 1}), ("train:setAutoscaling", {"autoscaling": scaling})]


def test_outside_of_working_hours_the_autoscaler_brings_nothing_back():
    assert ran("zero")[1] == [("train:setAutoscaling", OFF), ("train:setSize", {"nodeCount": 0})]


def test_after_the_end_no_morning_fills_the_pool():
    found, asked = ran("working", ends="2026-09-21")
    assert found == "ended on 2026-09-21"
    assert asked == []
    assert ran("working", ends="2026-09-22")[1]
    assert ran("zero", ends="2026-09-21")[1]


def test_the_guard_leaves_the_minimum_and_a_fixed_slice_alone():
    pools = {
        "train-0": FIXED,
        "train-1": {**SCALED, "autoscaling": {**SCALED["autoscaling"], "total_min_node_count": 3}},
    }
    assert ran("idle", IDLE, pools=pools, zones=2)[1] == [
        ("train-1:setAutoscaling", OFF),
        ("train-1:setSize", {"nodeCount": 2}),  # three machines in two zones of equal numbers
    ]


@pytest.mark.parametrize("size", ["", "everything", None])
def test_without_a_word_that_it_knows_it_does_nothing(size):
    assert ran(size) == ([], [])


def test_a_guard_that_only_tells_empties_nothing():
    assert ran("idle", IDLE, guard={**GUARD, "action": "notify"}) == ([], [])
    assert ran("idle", IDLE, guard=None) == ([], [])


OWN = {"sizewell-project": "petsnap", "sizewell-stack": "dev-gcp"}


def test_steps_have_names_of_their_own():
    pools = {"train-0": SCALED, "train-1": SCALED}
    end = expiry.end_workflow(
        project="petsnap", region="us-central1", owner="petsnap", stack="dev-gcp", ends="2026-09-22"
    )
    for source in (text(pools=pools), end):
        for names in names_of(source).values():
            assert len(set(names)) == len(names), names


def test_the_clocks_of_a_window_ask_for_its_edges():
    clocks = node_pools.hours({**HOURS, "windows": [{"days": "sat,sun", "start": "09:30", "end": "24:00"}]})
    assert clocks["start-0"] == {"schedule": "30 9 * * SAT,SUN", "time_zone": "Europe/London", "size": "working"}
    assert clocks["end-0"]["schedule"] == "59 23 * * SAT,SUN"


@pytest.mark.parametrize("early", [True, False])
def test_the_hard_end_empties_what_has_the_label_and_nothing_else(early):
    end = expiry.end_workflow(
        project="petsnap", region="us-central1", owner="petsnap", stack="dev-gcp", ends="2026-09-22"
    )
    done = []

    def answer(method, url, query, body):
        if method != "get":
            done.append(f"{method} {url.rpartition('/v1/')[2] or url}")
            return {}
        if url.endswith("/clusters"):
            pools = [{"name": "train", "autoscaling": {"enabled": True}}]
            mine = {"name": "c1", "resourceLabels": OWN, "nodePools": pools}
            return {"clusters": [mine, {"name": "c2", "resourceLabels": {}, "nodePools": pools}]}
        if url.endswith("/services"):
            return {"services": [{"name": "services/s1", "labels": {"sizewell-stack": "prod"}}]}
        return {}

    day = datetime(2026, 9, 21 if early else 22, 0, 7, tzinfo=UTC).timestamp()
    run(end, answer=answer, now=day)
    pool = "projects/petsnap/locations/us-central1/clusters/c1/nodePools/train"
    assert done == ([] if early else [f"post {pool}:setAutoscaling", f"post {pool}:setSize"])


def fails(url, code, body):
    def answer(method, at, query, _):
        if at.endswith(url):
            raise Failed(code, body)
        if at.endswith("/clusters"):
            pools = [{"name": name, "autoscaling": {"enabled": True}} for name in ("stuck", "train")]
            return {"clusters": [{"name": "c", "resourceLabels": OWN, "nodePools": pools}]}
        if at.endswith("/customJobs"):
            return {"customJobs": [{"name": "projects/p/customJobs/1"}]}
        done.append(at.rpartition("/")[2])
        return {}

    done = []
    return answer, done


def test_an_end_that_fails_in_one_place_goes_on_in_all_others_and_is_heard_of():
    end = expiry.end_workflow(project="p", region="us-central1", owner="petsnap", stack="dev-gcp", ends="2026-09-22")
    answer, done = fails("/stuck:setAutoscaling", 400, {"message": "no"})
    with pytest.raises(Failed, match="tried again in an hour"):
        run(end, answer=answer, now=datetime(2026, 9, 22, tzinfo=UTC).timestamp())
    assert done == ["stuck:setSize", "train:setAutoscaling", "train:setSize", "services", "1:cancel", "endpoints"]


@pytest.mark.parametrize(("reason", "heard"), [("SERVICE_DISABLED", False), ("IAM_PERMISSION_DENIED", True)])
def test_an_api_that_is_off_has_nothing_to_end(reason, heard):
    end = expiry.end_workflow(project="p", region="us-central1", owner="petsnap", stack="dev-gcp", ends="2026-09-22")
    answer, done = fails("/services", 403, {"error": {"details": [{"reason": reason}]}})
    with pytest.raises(Failed) if heard else nullcontext():
        run(end, answer=answer, now=datetime(2026, 9, 22, tzinfo=UTC).timestamp())
    assert done[-1] == "endpoints"
