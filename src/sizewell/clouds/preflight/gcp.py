"""What is asked of Google Cloud before a stack is built there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.clouds.calls import CloudError
from sizewell.clouds.gcp import Google
from sizewell.clouds.preflight import rights, service_quotas, versions
from sizewell.clouds.preflight.findings import Finding, Question, wrong
from sizewell.clouds.preflight.needs import Machines, Needs, demanded
from sizewell.sizing.units import plural

APIS: Final = rights.services("gcp")
_METRIC: Final = re.compile(r"[A-Z0-9_]+")
_IMAGE: Final = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)/(?P<name>[^:@]+).*"
)


def apis_of(needs: Needs) -> tuple[str, ...]:
    """The APIs that the stack's resources are made by; serviceusage itself switches the others on."""
    modules = {kind.removeprefix("gcp:").partition("/")[0] for kind in needs.types if kind.startswith("gcp:")}
    return tuple(sorted({APIS[module] for module in modules if module in APIS} | {"serviceusage.googleapis.com"}))


def project_of(needs: Needs) -> str:
    """The project that the stack works in; CloudError (refused) where the configuration names none."""
    if len(needs.accounts) != 1:
        fix = "pulumi config set --path 'sizewell:accounts[0]' PROJECT"
        raise CloudError("configuration", "refused", "sizewell:accounts has to name exactly one project", fix=fix)
    return needs.accounts[0]


def questions(needs: Needs, google: Google) -> dict[str, Question]:
    """What is asked, by name, after `account` has said that the project is there."""
    project = project_of(needs)
    asked: dict[str, Question] = {
        "apis": lambda: _apis(needs, google, project),
        "rights": lambda: _rights(needs, google, project),
        "receivers": lambda: _receivers(needs, google, project),
    }
    if needs.of(versions.GKE):
        asked["kubernetes"] = lambda: versions.of_gke(needs, google, project)
    for region in needs.regions:
        local = [machines for machines in needs.machines if machines.region == region]
        if managed := [machines for machines in local if machines.managed != "raw" and not machines.reservation]:
            asked[(f"quotas of services in {region}")] = lambda r=region, s=managed: service_quotas.of_google(  # type: ignore[misc]
                google, project, r, s
            )
        asked[f"quotas of {region}"] = lambda r=region, h=local: (row for row, _ in quotas(google, project, r, h))  # type: ignore[misc]
        for machines in local:
            for zone in zones_of(needs, machines):
                about = f"{machines.instance_type} in {zone}"
                asked[about] = lambda m=machines, z=zone: _type(google, project, m, z)  # type: ignore[misc]
                if machines.reservation:
                    name = f"reservation {machines.reservation} in {zone}"
                    asked[name] = lambda m=machines, z=zone: reservation(google, project, m, z)  # type: ignore[misc]
    for place in repositories_of(needs):
        asked[f"repository {place['repository']}"] = lambda p=place: _repository(google, p)  # type: ignore[misc]
    return asked


def account(needs: Needs, google: Google) -> Iterator[Finding]:
    """Whether the project is there, and can be billed; CloudError without a login."""
    project = project_of(needs)
    try:
        answer = google.reader("cloudresourcemanager").get(f"v3/projects/{project}")
    except CloudError as error:
        if error.code == "SERVICE_DISABLED":
            yield Finding("account", "note", f"{project}: {error.detail}", "see apis")
            return
        if error.reason not in ("denied", "missing"):
            raise
        # Google answers 403 for a project that does not exist too.
        yield wrong("account", f"project {project} does not exist, or you may not see it", "correct sizewell:accounts")
        return
    if answer.get("state") != "ACTIVE":
        yield wrong("account", f"project {project} is {answer.get('state')}", "correct sizewell:accounts")
        return
    try:
        billing = google.reader("cloudbilling").get(f"v1/projects/{project}/billingInfo")
    except CloudError as error:
        if error.reason != "denied":
            raise
        yield Finding("account", "note", f"{project} is active; its billing is unknown: {error.detail}")
        return
    if not billing.get("billingEnabled"):
        yield wrong(
            "account",
            f"project {project} has no billing account: nothing that is billed can be created",
            f"gcloud billing projects link {project} --billing-account=ACCOUNT",
        )
    else:
        yield Finding("account", "ok", f"{project}, billed")


def _apis(needs: Needs, google: Google, project: str) -> Iterator[Finding]:
    rows = google.reader("serviceusage").pages(
        f"v1/projects/{project}/services", items="services", parameter="pageToken", filter="state:ENABLED", pageSize=200
    )
    enabled = {str(row.get("config", {}).get("name") or str(row.get("name", "")).rpartition("/")[2]) for row in rows}
    wanted = apis_of(needs)
    if missing := [api for api in wanted if api not in enabled]:
        fix = f"gcloud services enable {' '.join(missing)} --project={project}"
        yield wrong("apis", f"{len(missing)} of {len(wanted)} are off: {', '.join(missing)}", fix)
    else:
        yield Finding("apis", "ok", f"{len(wanted)} are on")


def zones_of(needs: Needs, machines: Machines) -> tuple[str, ...]:
    """The zones of a pool's machines: as the decision says, or as its node pool was registered."""
    if machines.zones:
        return machines.zones
    return tuple(
        dict.fromkeys(
            zone
            for pool in needs.of("gcp:container/nodePool:NodePool")
            if _machine_type(pool.inputs) == machines.instance_type
            for zone in pool.inputs.get("nodeLocations") or ()
            if isinstance(zone, str)
        )
    )


def _machine_type(inputs: Mapping[str, object]) -> object:
    config = inputs.get("nodeConfig")
    return config.get("machineType") if isinstance(config, Mapping) else None


def _type(google: Google, project: str, machines: Machines, zone: str) -> Iterator[Finding]:
    about = f"{machines.instance_type} in {zone}"
    compute = google.reader("compute")
    try:
        compute.get(f"compute/v1/projects/{project}/zones/{zone}/machineTypes/{machines.instance_type}")
    except CloudError as error:
        if error.reason != "missing":
            raise
        offered = zones_selling(google, project, machines.instance_type)
        nearby = [place for place in offered if place.startswith(f"{machines.region}-")]
        fix = (
            f"pulumi config set --path 'sizewell:zones[0]' {nearby[0]}"
            if nearby
            else f"size again elsewhere: it is sold in {', '.join(offered) or 'not a zone of this project'}"
        )
        yield wrong(about, f"({machines.pool}) is not sold there", fix)
        return
    yield Finding(about, "ok", f"({machines.pool}) is sold there")


def zones_selling(google: Google, project: str, instance_type: str) -> list[str]:
    """Every zone that sells a machine type to the project. CloudError where the answer is about another type."""
    path, zones = f"compute/v1/projects/{project}/aggregated/machineTypes", set()
    asked: list[str] = []
    token = ""
    while token not in asked:
        asked.append(token)
        following = {"pageToken": token} if token else {}
        page = google.reader("compute").get(path, filter=f"name={instance_type}", **following)
        if "items" not in page and page.get("kind") != "compute#machineTypeAggregatedList":
            raise CloudError("compute", "unanswered", "its answer is not the list of machine types")
        for place, listed in page.get("items", {}).items():
            for row in listed.get("machineTypes") or ():
                if row.get("name", instance_type) != instance_type:
                    detail = f"answers for {row['name']}, and was asked about {instance_type}"
                    raise CloudError("compute", "unanswered", detail)
                zones.add(place.removeprefix("zones/"))
        token = str(page.get("nextPageToken") or "")
    return sorted(zones)


def quotas(
    google: Google, project: str, region: str, local: list[Machines]
) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """What is said of each quota, and the pools that take of it."""
    rows = google.reader("compute").get(f"compute/v1/projects/{project}/regions/{region}").get("quotas", [])
    known = {row["metric"]: row for row in rows}
    overall = google.reader("compute").get(f"compute/v1/projects/{project}").get("quotas", [])
    known |= {row["metric"]: row for row in overall if row["metric"] == "GPUS_ALL_REGIONS"}
    wanted = {metric: count for (_, metric), count in demanded(local, "accelerators").items()}
    plain = [machines for machines in local if machines.managed == "raw" and machines.market == "on-demand"]
    gpus = sum(m.accelerators * m.count for m in plain if "GPU" in m.quota)
    if gpus:
        wanted["GPUS_ALL_REGIONS"] = gpus
    for metric, count in wanted.items():
        about, all_gpus = f"quota {metric} in {region}", metric == "GPUS_ALL_REGIONS"
        taking = plain if all_gpus else local
        pools = tuple(m.pool for m in taking if m.quota == metric or (all_gpus and "GPU" in m.quota))
        row = known.get(metric)
        if not _METRIC.fullmatch(metric) or row is None:
            detail = "is not in the region's quotas: family quotas are shown only by the console and Cloud Quotas"
            yield Finding(about, "note", detail), ()
            continue
        left = row["limit"] - row["usage"]
        sentence = f"{row['limit']:,.0f}, {row['usage']:,.0f} in use; the stack may grow to {count:,.0f}"
        if count > left:
            fix = f"raise {metric} in {region}: console.cloud.google.com/iam-admin/quotas?project={project}"
            yield wrong(about, sentence, fix), pools
        else:
            yield Finding(about, "ok", sentence), pools


def reservation(google: Google, project: str, machines: Machines, zone: str) -> Iterator[Finding]:
    """Whether the reservation that a pool names is in a zone, for its machines, with room for them."""
    yield from reserved(machines, zone, reservation_in(google, project, machines.reservation, zone))


def reservation_in(google: Google, project: str, path: str, zone: str) -> dict[str, Any]:
    """A reservation in a zone; {} where there is none. CloudError where the answer is no reservation, or another."""
    name = path.rpartition("/")[2]
    owner = path.split("/")[1] if path.startswith("projects/") else project
    try:
        row = google.reader("compute").get(f"compute/v1/projects/{owner}/zones/{zone}/reservations/{name}")
    except CloudError as error:
        if error.reason != "missing":
            raise
        return {}
    place = str(row.get("zone", zone)).rpartition("/")[2]
    counted = "count" in row.get("specificReservation", {"count": 0})
    if (row.get("name", name), place) != (name, zone) or "status" not in row or not counted:
        raise CloudError("compute", "unanswered", f"its answer is not the reservation {name} in {zone}")
    return row


def reserved(machines: Machines, zone: str, row: dict[str, Any]) -> Iterator[Finding]:
    """Whether a reservation in a zone is for a pool's machines, with room for them."""
    about = f"reservation {machines.reservation} in {zone}"
    fix = "name another reservation in the spec, and size again"
    if not row:
        yield wrong(about, f"({machines.pool}) does not exist in this zone", fix)
        return
    if "specificReservation" not in row:
        yield Finding(about, "note", "is of chips or several types, whose room is not checked")
        return
    kind = row["specificReservation"].get("instanceProperties", {}).get("machineType")
    free, faults = free_in(row), []
    if row.get("status") != "READY":
        faults.append(wrong(about, f"is {row.get('status')}", fix))
    if kind and kind != machines.instance_type:
        faults.append(wrong(about, f"is for {kind}, the pool needs {machines.instance_type}", fix))
    if free < machines.count:
        faults.append(wrong(about, f"has {free} free machines, the pool may grow to {machines.count}", fix))
    yield from faults or [Finding(about, "ok", f"ready, {free} machines free")]


def free_in(row: dict[str, Any]) -> int:
    """The machines of a reservation that are in no use."""
    specific = row["specificReservation"]
    return int(specific["count"]) - int(specific.get("inUseCount", 0))


def _rights(needs: Needs, google: Google, project: str) -> Iterator[Finding]:
    wanted, unjudged = rights.needed(kind for kind in needs.types if kind.startswith("gcp:"))
    answer = google.reader("cloudresourcemanager").query(
        f"v3/projects/{project}:testIamPermissions", {"permissions": wanted}
    )
    counted = f"{plural(len(wanted), 'permission')} tested, {plural(unjudged, 'resource type')} not checked"
    if denied := sorted(set(wanted) - set(answer.get("permissions", []))):
        fix = f"an administrator of {project} has to grant a role with: {', '.join(denied)}"
        yield wrong("rights", f"{len(denied)} of {counted}: missing {', '.join(denied)}", fix)
    else:
        yield Finding("rights", "ok", counted)


def _receivers(needs: Needs, google: Google, project: str) -> Iterator[Finding]:
    channels = needs.of("gcp:monitoring/notificationChannel:NotificationChannel")
    if not channels:
        return
    people = [channel for channel in channels if channel.inputs.get("type") != "pubsub"]
    if not people and not needs.of("gcp:pubsub/subscription:Subscription"):
        detail = f"{len(channels)} channels publish to topics without subscribers: notices are not delivered"
        yield wrong("receivers", detail, "set sizewell:notify")
        return
    rows = google.reader("monitoring").pages(
        f"v3/projects/{project}/notificationChannels", items="notificationChannels", parameter="pageToken"
    )
    names = {_channel(channel.inputs) for channel in channels}
    own = [row for row in rows if _channel(row) in names]
    there = {_channel(row) for row in own}
    faults = [
        (
            [row["displayName"] for row in own if row.get("verificationStatus") == "UNVERIFIED"],
            "not verified",
            "enter the code that Google sent",
        ),
        # `enabled` is a BoolValue: left out, the channel is on
        (
            [f"{row['displayName']} ({row['name']})" for row in own if row.get("enabled") is False],
            "switched off",
            f"gcloud beta monitoring channels update CHANNEL --enabled --project={project}",
        ),
        # none of them: the stack is not up yet
        (
            sorted(name for name, _ in names - there) if there else [],
            "no longer in the project",
            f"pulumi refresh -s {needs.stack}, then pulumi up",
        ),
    ]
    for who, what, fix in faults:
        if who:
            yield wrong("receivers", f"{what}: {', '.join(who)}", fix)
    if not any(who for who, _, _ in faults):
        yield Finding("receivers", "ok", plural(len(people) or len(channels), "channel"))


def _channel(row: Mapping[str, Any]) -> tuple[str, str]:
    """What tells a channel from those of other stacks: its display name, and the stack in its labels."""
    return str(row.get("displayName", "")), str((row.get("userLabels") or {}).get("sizewell-stack", ""))


def repositories_of(needs: Needs) -> list[dict[str, str]]:
    """The repositories of Artifact Registry that what runs is pulled from."""
    named = [str(needs.config.get("sizewell:registry") or "")]
    runs = needs.config.get("sizewell:run") or {}
    named += [str(run.get("image", "")) for run in runs.values() if isinstance(run, dict)]
    places = {}
    for text in named:
        match = _IMAGE.fullmatch(text) or _IMAGE.fullmatch(f"{text}/any")
        if match:
            place = {key: match[key] for key in ("location", "project", "repository")}
            places[tuple(place.values())] = place
    return list(places.values())


def _repository(google: Google, place: dict[str, str]) -> Iterator[Finding]:
    about = f"repository {place['repository']}"
    path = f"projects/{place['project']}/locations/{place['location']}/repositories/{place['repository']}"
    try:
        repository = google.reader("artifactregistry").get(f"v1/{path}")
    except CloudError as error:
        if error.reason != "missing":
            raise
        command = f"gcloud artifacts repositories create {place['repository']} --repository-format=docker"
        fix = f"{command} --location={place['location']} --project={place['project']}"
        yield wrong(about, f"{path} does not exist: nothing can be pulled from it", fix)
        return
    if repository.get("format") != "DOCKER":
        yield wrong(about, f"{path} contains {repository.get('format')}, not images", "name a repository of images")
    else:
        yield Finding(about, "ok", f"{path} is there")
