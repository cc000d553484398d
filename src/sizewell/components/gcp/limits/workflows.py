"""Workflows that look after machines: calls that wait for others, and the size of a cluster's pools. Pure.

A workflow needs no machine, no package and no token of ours: it calls Google Cloud as its own account, and what it may
is that account's role. The language is Google's own (cloud.google.com/workflows/docs/reference/syntax).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.components.gcp.node_pools import pool_filter
from sizewell.components.owned import GuardArgs

GKE, MONITORING = "https://container.googleapis.com/v1", "https://monitoring.googleapis.com/v3"
Step = Mapping[str, object]  # of a workflow, as Google's YAML or JSON has it
RETRIED = (400, 409, 429, 500, 503)  # another operation is under way, or the API is busy
EVERY_QUARTER = "*/15 * * * *"
# What sizing pools takes: changing their size and autoscaling, and looking at metrics
# (cloud.google.com/kubernetes-engine/docs/reference/api-permissions).
PERMISSIONS = ("container.clusters.update", "monitoring.timeSeries.list")
START_PERMISSIONS = ("workflows.executions.create",)
DUTY = "kubernetes.io/node/accelerator/duty_cycle"  # sampled once a minute on GPUs and TPUs alike
ALIVE = "kubernetes.io/node/cpu/total_cores"  # every node has it
SAMPLE_S, LATE_S, SEEN = 60, 300, 0.95  # metrics come up to LATE_S late; this share of them has to be there


def call(method: str, url: str, result: str = "answer", **more: object) -> Step:
    """A request as the workflow's account, tried again while the service is busy with another."""
    wanted = {"url": url, "auth": {"type": "OAuth2"}, **more}
    return {
        "try": {"call": f"http.{method}", "args": wanted, "result": result},
        "retry": {
            "predicate": "${busy}",
            "max_retries": 20,
            "backoff": {"initial_delay": 15, "max_delay": 60, "multiplier": 2},
        },
    }


def each(value: str, among: str, steps: Sequence[Step]) -> Step:
    return {"for": {"value": value, "in": among, "steps": steps}}


def attempt(name: str, steps: Sequence[Step]) -> Step:
    """Steps whose failure is written down in `failed` and stops nothing else; an API that is off has nothing to end."""
    off = 'text.match_regex(json.encode_to_string(error), "SERVICE_DISABLED")'
    noted = {f"{name}_noted": {"assign": [{"failed": "${list.concat(failed, json.encode_to_string(error))}"}]}}
    heard = {f"{name}_heard": {"switch": [when(f"not({off})", [noted])]}}
    return {f"{name}_tried": {"try": {"steps": steps}, "except": {"as": "error", "steps": [heard]}}}


def when(condition: str, steps: Sequence[Step]) -> Step:
    return {"condition": f"${{{condition}}}", "steps": steps}


def source(steps: Sequence[Step], *, params: Sequence[str] = (), **more: object) -> str:
    """A workflow's text: its steps, which errors are tried again, and further subworkflows."""
    codes = " or ".join(f"error.code == {code}" for code in RETRIED)
    asked = f'"code" in error and ({codes})'
    busy = {
        "params": ["error"],
        "steps": [{"ask": {"switch": [{"condition": f"${{{asked}}}", "return": True}]}}, {"no": {"return": False}}],
    }
    main: dict[str, object] = {"params": list(params), "steps": steps} if params else {"steps": steps}
    return json.dumps({"main": main, "busy": busy, **more}, sort_keys=True)


def size_workflow(
    *,
    project: str,
    region: str,
    cluster: str,
    pools: Mapping[str, Mapping[str, Any]],
    zones: int,
    guard: GuardArgs | None,
    accelerators_per_node: int,
    ends: str = "",
) -> str:
    """A workflow with one argument, `size`: working, zero, or idle, which empties what has been idle long enough.

    `pools` are the counts of each node pool (`node_pools.counts`) by its name. Emptied pools stop following load, else
    the autoscaler would bring machines back for the pods that held them; `working` gives it back to them, until the
    stack `ends`. A pool whose autoscaling cannot be switched off, as one of flex-start or queued machines may say, is
    emptied all the same, and the run fails at its end: whoever still waits for a machine brings it back.
    """
    names = list(pools)
    path = f"{GKE}/projects/{project}/locations/{region}/clusters/{cluster}/nodePools"
    filling = [step for name in names for step in _start(f"{path}/{name}", name, pools[name])]
    if ends:
        over = f'${{sys.now() >= time.parse("{ends}T00:00:00Z")}}'
        filling.insert(0, {"over": {"switch": [{"condition": over, "return": f"ended on {ends}"}]}})
    choices = [
        when('wanted == "working"', filling),
        when(
            'wanted == "zero"', [step for name in names for step in _stop(f"{path}/{name}", name, size=0, what="zero")]
        ),
    ]
    if guard is not None and guard["action"] == "scale-to-zero":
        least = {
            name: -(-counts["autoscaling"]["total_min_node_count"] // zones) for name, counts in _scaled(pools).items()
        }
        ending = [
            step for name, size in least.items() for step in _stop(f"{path}/{name}", name, size=size, what="idle")
        ]
        looked = _look(project=project, cluster=cluster, pools=names, guard=guard, per_node=accelerators_per_node)
        choices.append(when('wanted == "idle"', [*looked, *ending]))
    steps: Sequence[Step] = [
        {"start": {"assign": [{"wanted": ""}, {"changed": []}, {"failed": []}]}},
        {
            "asked": {
                "switch": [when("args != null", [{"argument": {"assign": [{"wanted": '${map.get(args, "size")}'}]}}])]
            }
        },
        {"choose": {"switch": choices}},
        {"heard_of": {"switch": [when("len(failed) > 0", [{"fail": {"raise": _STILL}}])]}},
        {"report": {"return": "${changed}"}},
    ]
    return source(steps, params=("args",), number=_NUMBER)


_STILL = '${"emptied, and still following load: pods that wait bring machines back: " + json.encode_to_string(failed)}'


def _scaled(pools: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, Any]]:
    return {name: counts for name, counts in pools.items() if "autoscaling" in counts}


def _step(name: str, what: str) -> str:
    return f"{name.replace('-', '_')}_{what}"


def _start(pool: str, name: str, counts: Mapping[str, Any]) -> list[Step]:
    """The pool as Pulumi made it: its first size, then its own autoscaling."""
    size = counts.get("node_count", counts.get("initial_node_count", 0))
    steps: list[Step] = [{_step(name, "filled"): call("post", f"{pool}:setSize", body={"nodeCount": size})}]
    if bounds := counts.get("autoscaling"):
        scaling = {
            "enabled": True,
            "totalMinNodeCount": bounds["total_min_node_count"],
            "totalMaxNodeCount": bounds["total_max_node_count"],
            "locationPolicy": bounds["location_policy"],
        }
        steps.append({_step(name, "scaled"): call("post", f"{pool}:setAutoscaling", body={"autoscaling": scaling})})
    return [*steps, {_step(name, "started"): {"assign": [{"changed": f'${{list.concat(changed, "{name}")}}'}]}}]


def _stop(pool: str, name: str, *, size: int, what: str) -> list[Step]:
    """The pool at `size` machines in each zone, whatever waits for it, and whether or not it stops following load."""
    off = {"autoscaling": {"enabled": False}}
    return [
        attempt(
            _step(name, f"fixing_{what}"),
            [{_step(name, f"fixed_{what}"): call("post", f"{pool}:setAutoscaling", body=off)}],
        ),
        {_step(name, f"emptied_{what}"): call("post", f"{pool}:setSize", body={"nodeCount": size})},
        {_step(name, f"ended_{what}"): {"assign": [{"changed": f'${{list.concat(changed, "{name}")}}'}]}},
    ]


def _look(*, project: str, cluster: str, pools: Sequence[str], guard: GuardArgs, per_node: int) -> list[Step]:
    """Ends the run unless every accelerator of every live machine was seen all the time, and stayed under the limit.

    No data is not idleness: a machine that just came, one whose metrics are missing, or no machine at all end it too.
    Where a machine stood all the time and none was seen, the run fails, so that somebody hears of it: nothing measures
    what is billed.
    """
    seconds = guard["window_s"] + guard["grace_s"]
    now = [{"ends": f"${{time.format(sys.now() - {LATE_S})}}"}]
    now.append({"begins": f"${{time.format(sys.now() - {LATE_S + seconds})}}"})
    now.append({"recently": f"${{time.format(sys.now() - {2 * LATE_S})}}"})

    def ask(what: str, metric: str, reduced: tuple[str, str], since: str, period: int) -> list[Step]:
        aligner, reducer = reduced
        query = {
            "filter": pool_filter(metric, cluster=cluster, pools=list(pools)),
            "interval.startTime": f"${{{since}}}",
            "interval.endTime": "${ends}",
            "aggregation.alignmentPeriod": f"{period}s",
            "aggregation.perSeriesAligner": aligner,
            "aggregation.crossSeriesReducer": reducer,
        }
        url = f"{MONITORING}/projects/{project}/timeSeries"
        return [
            {f"{what}_asked": call("get", url, query=query)},
            {f"{what}_read": {"call": "number", "args": {"body": "${answer.body}"}, "result": what}},
        ]

    need = int(seconds / SAMPLE_S * SEEN)
    unseen = f"machines < 1 or series < machines * {per_node} or samples < {need} or peak < 0"
    busy = f"peak >= {guard['min_utilization_percent']:g}"
    blind = f"series < 1 and stood >= {need}"
    silent = f"no sample of {DUTY} in {seconds // 60} minutes: whether the machines are idle is not known"
    return [
        {"clock": {"assign": now}},
        *ask("machines", ALIVE, ("ALIGN_MEAN", "REDUCE_COUNT"), "recently", LATE_S),
        *ask("series", DUTY, ("ALIGN_COUNT", "REDUCE_COUNT"), "begins", seconds),
        *ask("samples", DUTY, ("ALIGN_COUNT", "REDUCE_MIN"), "begins", seconds),
        *ask("peak", DUTY, ("ALIGN_MAX", "REDUCE_MAX"), "begins", seconds),
        *ask("stood", ALIVE, ("ALIGN_COUNT", "REDUCE_MAX"), "begins", seconds),
        {"blind": {"switch": [when(f"machines > 0 and {blind}", [{"unseen": {"raise": silent}}])]}},
        {
            "judge": {
                "switch": [
                    {"condition": f"${{{unseen}}}", "return": "not reported all the time: kept"},
                    {"condition": f"${{{busy}}}", "return": "busy: kept"},
                ]
            }
        },
    ]


# The one number that an aggregated answer holds; -1 where there is none.
_NUMBER: Mapping[str, object] = {
    "params": ["body"],
    "steps": [
        {"empty": {"switch": [{"condition": '${not("timeSeries" in body)}', "return": -1}]}},
        {"last": {"assign": [{"value": "${body.timeSeries[0].points[0].value}"}]}},
        {"whole": {"switch": [{"condition": '${"int64Value" in value}', "return": "${int(value.int64Value)}"}]}},
        {"real": {"return": "${value.doubleValue}"}},
    ],
}
