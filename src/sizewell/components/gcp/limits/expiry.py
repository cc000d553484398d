"""Budget and hard end of a stack on Google Cloud: arguments, refusals, the workflow that ends it. Pure."""

from collections.abc import Sequence
from typing import Annotated

from sizewell.components import limits
from sizewell.components.bounds import Pattern
from sizewell.components.faults import Faults
from sizewell.components.forms import BudgetArgs, EndArgs
from sizewell.components.gcp.args import ProjectArgs
from sizewell.components.gcp.checks import check_region
from sizewell.components.gcp.limits.workflows import Step, attempt, call, each, source
from sizewell.components.tags import legal, physical_name, short_hash

LABEL, PROJECT_LABEL = "sizewell-stack", "sizewell-project"
BILLING = Pattern(r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}", "a billing account as 01ABCD-234567-89EF01")
HOURLY = "7 * * * *"  # past the hour, when schedulers are busiest
# What the hand may do. It may look at and resize clusters, delete services (they hold no data) and stop jobs; nothing
# here reaches a bucket, a disk, a key or an identity.
PERMISSIONS = (
    "aiplatform.customJobs.cancel",
    "aiplatform.customJobs.list",
    "aiplatform.endpoints.list",
    "aiplatform.endpoints.undeploy",
    "container.clusters.list",
    "container.clusters.update",
    "run.services.delete",
    "run.services.list",
)
LOOKS = tuple(permission for permission in PERMISSIONS if permission.endswith(".list"))  # of an end that is not firm
DAILY = "7 0 * * *"


class BudgetAlarmsArgs(BudgetArgs):
    """What a stack may cost in a month, and who hears of it."""

    project: str
    """Project that the stack's costs are in."""
    billing_account: Annotated[str, BILLING]
    """Billing account, as 01ABCD-234567-89EF01."""


class TtlGuardArgs(EndArgs, ProjectArgs):
    """The hard end of another stack."""


def check_budget(name: str, args: BudgetAlarmsArgs) -> None:
    faults = Faults.of(name, args, BudgetAlarmsArgs)
    check_region(faults, args)
    limits.check_budget(faults, args, emails_max=5, takes="a budget allows 5 notification channels", least_usd=1)
    faults.done()


def check_ttl(name: str, args: TtlGuardArgs, *, own_stack: str) -> None:
    """`own_stack` is the stack that the guard itself stands in."""
    faults = Faults.of(name, args, TtlGuardArgs)
    check_region(faults, args)
    limits.check_end(faults, args, own_stack=own_stack)
    faults.done()


def hand(stack: str, region: str) -> str:
    """The account that ends a stack in one region: the same in both stacks, neither asks the other.

    >>> hand("dev-gcp", "us-central1")
    'sizewell-ttl-dev-gcp-b6960c93'
    """
    return physical_name("sizewell", f"ttl-{stack}", f"{limits.guard_name(region)}-end", limit=30)


def end_workflow(*, project: str, region: str, owner: str, stack: str, ends: str, firm: bool = True) -> str:
    """The workflow that ends a stack: before its date it returns at once; then it may run every hour, to the same end.
    One that is not firm fails while anything runs, and stops nothing.

    Pools stop following load (an autoscaler would bring machines back) and go to zero, the cluster's own system pool
    with them; Cloud Run services are deleted, jobs on Vertex AI cancelled, models taken off their endpoints. Data stay.
    What fails stops nothing else: the run goes on to the rest and fails at its end, and the next hour's tries again.
    `owner` is the Pulumi project: what is ended carries both labels, and an endpoint, which takes none, their mark.
    """
    label, mine = legal(stack), legal(owner)
    gke, vertex = "https://container.googleapis.com/v1", f"https://{region}-aiplatform.googleapis.com/v1"
    location = f"projects/{project}/locations/{region}"
    pool = f'${{"{gke}/{location}/clusters/" + cluster.name + "/nodePools/" + pool.name'
    # A pool whose autoscaling cannot be switched off (flex-start, queued) is emptied all the same, and reported.
    scaled = '${default(map.get(pool, ["autoscaling", "enabled"]), False)}'
    fixed = {"fixed": call("post", f'{pool} + ":setAutoscaling"}}', body={"autoscaling": {"enabled": False}})}
    pools: list[Step] = [
        {"scaled": {"switch": [{"condition": scaled, "steps": [attempt("scaling", [fixed])]}]}},
        attempt(
            "size",
            [
                {"empty": call("post", f'{pool} + ":setSize"}}', body={"nodeCount": 0})},
                {"emptied": {"assign": [{"ended": "${list.concat(ended, pool.name)}"}]}},
            ],
        ),
    ]
    nodes = 'default(map.get(cluster, "currentNodeCount"), 0)'
    found = {"assign": [{"ended": f'${{list.concat(ended, cluster.name + ": " + string({nodes}) + " nodes")}}'}]}
    while_nodes: Step = {"nodes": {"switch": [{"condition": f"${{{nodes} > 0}}", "steps": [{"runs": found}]}]}}
    clusters: list[Step] = [
        {"clusters": call("get", f"{gke}/{location}/clusters")},
        _of_each(
            "cluster",
            "clusters",
            [{"each_pool": each("pool", "${cluster.nodePools}", pools)}] if firm else [while_nodes],
            only=_labelled("cluster", "resourceLabels", stack=label, owner=mine),
        ),
    ]
    services: list[Step] = [
        {"services": call("get", f"https://run.googleapis.com/v2/{location}/services")},
        _of_each(
            "service",
            "services",
            [
                *([{"delete": call("delete", '${"https://run.googleapis.com/v2/" + service.name}')}] if firm else []),
                {"deleted": {"assign": [{"ended": "${list.concat(ended, service.name)}"}]}},
            ],
            only=_labelled("service", "labels", stack=label, owner=mine),
        ),
    ]
    labelled = f'labels.{LABEL}="{label}" AND labels.{PROJECT_LABEL}="{mine}"'
    busy = f'{labelled} AND (state="JOB_STATE_RUNNING" OR state="JOB_STATE_PENDING")'
    jobs: list[Step] = [
        {"jobs": call("get", f"{vertex}/{location}/customJobs", query={"filter": busy})},
        _of_each(
            "job",
            "customJobs",
            [
                *([{"cancel": call("post", f'${{"{vertex}/" + job.name + ":cancel"}}')}] if firm else []),
                {"cancelled": {"assign": [{"ended": "${list.concat(ended, job.name)}"}]}},
            ],
        ),
    ]
    undeploy = call(
        "post", f'${{"{vertex}/" + endpoint.name + ":undeployModel"}}', body={"deployedModelId": "${model.id}"}
    )
    models: list[Step] = [
        *([{"undeploy": undeploy}] if firm else []),
        {"undeployed": {"assign": [{"ended": "${list.concat(ended, endpoint.name)}"}]}},
    ]
    endpoints: list[Step] = [
        {"endpoints": call("get", f"{vertex}/{location}/endpoints")},
        _of_each(
            "endpoint",
            "endpoints",
            [{"each_model": each("model", '${default(map.get(endpoint, "deployedModels"), [])}', models)}],
            only=f'${{text.match_regex(endpoint.displayName, "-{endpoint_mark(owner, stack)}$")}}',
        ),
    ]
    early = {"condition": f'${{sys.now() < time.parse("{ends}T00:00:00Z")}}', "return": f"{stack} ends on {ends}"}
    told = '${"not everything is at zero, tried again in an hour: " + json.encode_to_string(failed)}'
    runs = f'${{"{stack} is past its end and still runs, nothing was stopped: " + json.encode_to_string(ended)}}'
    told_of: Step = {"runs_on": {"switch": [{"condition": "${len(ended) > 0}", "steps": [{"tell": {"raise": runs}}]}]}}
    steps: list[Step] = [
        {"start": {"assign": [{"ended": []}, {"failed": []}]}},
        {"early": {"switch": [early]}},
        attempt("all_clusters", clusters),
        attempt("all_services", services),
        attempt("all_jobs", jobs),
        attempt("all_endpoints", endpoints),
        {"heard_of": {"switch": [{"condition": "${len(failed) > 0}", "steps": [{"fail": {"raise": told}}]}]}},
        *(() if firm else (told_of,)),
        {"report": {"return": "${ended}"}},
    ]
    return source(steps)


def endpoint_mark(owner: str, stack: str) -> str:
    """What the display name of a stack's Vertex AI endpoints ends in: the provider gives them no labels.

    >>> endpoint_mark("sizewell", "dev") == endpoint_mark("sizewell", "dev-gcp")
    False
    """
    return short_hash(owner, stack)


def _labelled(item: str, labels: str, *, stack: str, owner: str) -> str:
    """A condition: the listed thing has the labels of the stack and its project."""
    both = ((LABEL, stack), (PROJECT_LABEL, owner))
    return (
        "${"
        + " and ".join(f'default(map.get({item}, ["{labels}", "{key}"]), "") == "{is_}"' for key, is_ in both)
        + "}"
    )


def _of_each(item: str, listed: str, steps: Sequence[Step], *, only: str = "") -> Step:
    """A step for each of what the last call listed, for those that `only` holds of; each fails for itself."""
    does = attempt(item, steps)
    if only:
        does = {f"own_{item}": {"switch": [{"condition": only, "steps": [does]}]}}
    return {f"each_{item}": each(item, f'${{default(map.get(answer.body, "{listed}"), [])}}', [does])}
