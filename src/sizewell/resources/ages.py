"""What of a plan's resources ages: their versions, until when each is supported, and what to do. Pure.

Read from the resources themselves, ours and anybody's: clusters, charts, add-ons, images of pods and of machines,
machine types, versions of Kubernetes's APIs, databases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Literal

from sizewell.resources.graph import Graph
from sizewell.resources.readers.images import LOOKUPS, looked_up, machine_images, machine_types
from sizewell.resources.readers.offers import DATABASES as MORE_DATABASES
from sizewell.resources.readers.offers import INSTEAD, MESH, engine_of, offers, system_instead
from sizewell.resources.readers.pods import volume_plugins
from sizewell.resources.recorded import Plan, RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get, items
from sizewell.sizing.catalog.lifetimes import (
    NEAR_DAYS,
    OLD_DAYS,
    KubernetesVersion,
    Lifetimes,
    Release,
    age_days,
    lasting_version,
    minor,
    number,
)
from sizewell.sizing.catalog.succession import EVERY, PLAIN, older, row_of, runtime_row
from sizewell.sizing.catalog.systems import VOLUME, ended_model, ended_service, removed, retired, system_of, title

SOON_DAYS: Final = 90
CONFIG: Final = "sizewell:kubernetesVersion"
IMAGE_KEYS: Final = ("image", "imageUri", "image_uri")
# Type without the version of the provider's module -> (service, input with its version).
CLUSTERS: Final = {
    "aws:eks/cluster:Cluster": ("eks", "version"),
    "azure-native:containerservice:ManagedCluster": ("aks", "kubernetesVersion"),
    "azure:containerservice/kubernetesCluster:KubernetesCluster": ("aks", "kubernetesVersion"),
    "gcp:container/cluster:Cluster": ("gke", "minMasterVersion"),
}
# Type -> (service, input with its version, input that names its cluster, type of that).
POOLS: Final = {
    "aws:eks/nodeGroup:NodeGroup": ("eks", "version", "clusterName", "aws:eks/cluster:Cluster"),
    "azure-native:containerservice:AgentPool": (
        "aks", "orchestratorVersion", "resourceName", "azure-native:containerservice:ManagedCluster",
    ),
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": (
        "aks", "orchestratorVersion", "kubernetesClusterId",
        "azure:containerservice/kubernetesCluster:KubernetesCluster",
    ),
    "gcp:container/nodePool:NodePool": ("gke", "version", "cluster", "gcp:container/cluster:Cluster"),
}  # fmt: skip
VERSIONS_OF_GKE: Final = "gcp:container/getEngineVersions:getEngineVersions"
HUB: Final = "docker.io"
OLDEST_NODES: Final = 3
"""Minor versions by which nodes may be behind their control plane (kubernetes.io/releases/version-skew-policy)."""
# Type -> (name of the rows, input with the version); {engine} is the input of that name.
DATABASES: Final = {
    "aws:rds/instance:Instance": ("aws:rds/{engine}", "engineVersion"),
    "aws:rds/cluster:Cluster": ("aws:rds/{engine}", "engineVersion"),
    "azure-native:dbforpostgresql:Server": ("azure/postgresql", "version"),
    "azure:postgresql/flexibleServer:FlexibleServer": ("azure/postgresql", "version"),
    "azure-native:dbformysql:Server": ("azure/mysql", "version"),
    "azure:mysql/flexibleServer:FlexibleServer": ("azure/mysql", "version"),
    "gcp:sql/databaseInstance:DatabaseInstance": ("gcp:sql/{engine}", "databaseVersion"),
    **MORE_DATABASES,
}
MODEL_SERVICES: Final = {"aws/bedrock": "Amazon Bedrock", "gcp/vertex": "Vertex AI"}  # name of the rows -> the service
NO_EXTENDED_SUPPORT: Final = "open-source-rds-extended-support-disabled"
# Type of a deployed model -> path of what says which.
MODELS: Final = {
    "azure-native:cognitiveservices:Deployment": ("properties",),
    "azure:cognitive/deployment:Deployment": (),
}
THEN: Final = {
    "eks": "then AWS upgrades the cluster by itself, or bills extended support at six times the fee",
    "hyperpod": "then AWS upgrades the cluster by itself, or bills extended support at six times the fee",
    "aks": "then Azure builds no such cluster, and upgrades those that stand without asking",
    "gke": "then Google upgrades the cluster by itself, maintenance exclusions or not",
}
OVER: Final = {  # once no support is left that the cluster may have
    "eks": "AWS builds no such cluster, and upgrades those that stand by itself",
    "hyperpod": "AWS builds no such cluster, and upgrades those that stand by itself",
    "aks": "Azure builds no such cluster, and upgrades those that stand without asking",
    "gke": "Google builds no such cluster, and upgrades those that stand by itself, maintenance exclusions or not",
}
STEPS: Final = {  # how a cluster that stands is taken through the versions between
    "eks": "aws eks update-cluster-version",
    "hyperpod": "aws eks update-cluster-version",
    "aks": "az aks upgrade",
    "gke": "gcloud container clusters upgrade {} --master --cluster-version VERSION",
}
STATED: Final = {"gke": "min_master_version"}  # the input with a cluster's version, where that is not its version

When = Literal["ended", "in 30 days", "in 90 days", "later", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aging:
    """One version in use, and until when it is supported."""

    resource: str  # its name
    what: str  # "Kubernetes 1.36 on eks", "chart keda 2.18.1"
    kind: str
    until: str  # YYYY-MM-DD; "" where nobody wrote it down
    when: When
    detail: str
    fix: str
    checked: str  # when the table's row was looked at; "" where there is none


def aging(resources: Iterable[RecordedResource], known: Lifetimes, on: date, *, stack: str = "") -> tuple[Aging, ...]:
    """Every version in use that is in the table, each once, soonest end first; a cluster's even where it is in none.

    `stack`: the sized stack that they are of; "" where a program of its own makes them.
    """
    found: dict[str, Aging] = {}
    graph = Graph(Plan(project="", stack=stack, resources=tuple(resources)))
    for resource in graph.plan.resources:
        for each in (
            *_of(resource, known, on, stack),
            *_of_nodes(graph, resource, known, on),
            *_volumes(graph, resource, known),
        ):
            found.setdefault(each.what, each)
    return tuple(sorted(found.values(), key=lambda each: (each.until or "9999", each.what)))


def pressing(of: Iterable[Aging]) -> tuple[Aging, ...]:
    """Those that ended or end within 90 days, clusters and models whose end nobody knows, and what does not fit."""
    return tuple(
        each
        for each in of
        if each.when not in ("later", "unknown")
        or (each.when == "unknown" and each.kind in ("kubernetes", "model", "pair"))
    )


Support = Literal["usual", "standard alone", "long-term"]
"""Which support a cluster has: what its cloud gives by itself, only the standard one, or that of AKS's plan for
long-term support and of GKE's Extended channel."""


def kubernetes(
    service: str,
    version: str,
    known: Lifetimes,
    on: date,
    *,
    stack: str,
    resource: str,
    support: Support = "usual",
    command: str = "",
) -> Aging:
    """A cluster's version; of a default that is not stated as of one that is.

    `stack`: the sized one that makes it, whose configuration sets it; "" where a program of its own does.
    `command`: the cluster as the cloud's own command names it.
    """
    rows = known.versions(service)
    row = rows.get(minor(version))
    what = f"Kubernetes {version} on {service}"
    if row is None and (oldest := _over_before(service, version, rows, on, support)):
        fix = _upgrade(service, version, rows, on, stack=stack, command=command)
        detail = f"{what}: support ended, as that of the newer {oldest.version} has; {OVER[service]}"
        return Aging(resource=resource, what=what, kind="kubernetes", until="", when="ended", detail=detail, fix=fix,
                     checked=oldest.checked)  # fmt: skip
    if row is None:
        detail = f"{what} is not in the table of versions"
        return Aging(resource=resource, what=what, kind="kubernetes", until="", when="unknown", detail=detail,
                     fix="sizewell ages refresh", checked="")  # fmt: skip
    until = row.supported_until
    if support == "long-term":
        until = row.extended_until
    when, fix = _when(until, on), _upgrade(service, version, rows, on, stack=stack, command=command)
    detail = f"{what}: {_ends(until, on)}"
    if when == "later" and (days := age_days(row.checked, on)) > OLD_DAYS:
        when, fix = "unknown", "sizewell ages refresh"  # ends move
        detail += f", as far as was known on {row.checked}, {days} days ago"
    if when == "ended":
        then, until = _ended(service, row, on, support)
        detail += then
        if service == "aks" and support == "usual" and _when(row.extended_until, on) not in ("ended", "unknown"):
            fix += f"; or its plan for long-term support, in the Premium tier, until {row.extended_until}"
    elif when in ("in 30 days", "in 90 days"):
        detail += f"; {'then AWS upgrades the cluster by itself' if support == 'standard alone' else THEN[service]}"
    return Aging(resource=resource, what=what, kind="kubernetes", until=until, when=when,
                 detail=detail, fix=fix if when != "later" else "", checked=row.checked)  # fmt: skip


def _over_before(
    service: str, version: str, rows: Mapping[str, KubernetesVersion], on: date, support: Support
) -> KubernetesVersion | None:
    """The oldest version of the table, where its last support is over and another version is older still."""
    oldest = next(iter(rows.values()), None)
    if oldest is None or not number(minor(version)) or number(minor(version)) >= number(oldest.version):
        return None
    extended = support == "long-term" or (service in ("eks", "hyperpod") and support == "usual")
    last = oldest.extended_until if extended else oldest.supported_until
    return oldest if _when(last, on) == "ended" else None


def _ended(service: str, row: KubernetesVersion, on: date, support: Support) -> tuple[str, str]:
    """What the end of a cluster's support means, and the day on which the last of it ended."""
    until = row.extended_until if support == "long-term" else row.supported_until
    if service not in ("eks", "hyperpod") or not row.extended_until:
        return f"; {OVER[service]}", until
    if _when(row.extended_until, on) == "ended":
        return f", extended support on {row.extended_until}; {OVER[service]}", row.extended_until
    if support == "standard alone":
        then = "AWS builds none with it, and upgrades one that stands by itself"
        return f"; its upgrade policy STANDARD has no extended support: {then}", until
    billed = f"extended support is billed at six times the fee until {row.extended_until}"
    return f"; {billed}, then AWS upgrades it by itself", until


def _upgrade(
    service: str, version: str, rows: Mapping[str, KubernetesVersion], on: date, *, stack: str, command: str
) -> str:
    """To which version a new cluster goes, and by which steps one that stands: one minor version at a time."""
    target = lasting_version(rows.values(), version, on)
    if target is None:
        return "sizewell ages refresh"
    where = f"pulumi config set -s {stack} {CONFIG}" if stack else f"set {STATED.get(service, 'its version')} to"
    to = f"{where} {target}, then pulumi up"
    (major, least), most = number(minor(version))[:2], number(target)[1]
    between = [f"{major}.{each}" for each in range(least + 1, most)]
    if not between:
        return to
    steps = f"takes each minor version by `{STEPS[service].format(command)}` before that: {', '.join(between)}"
    return f"a new cluster: {to}; one that stands {steps}"


_UNNAMED: Final = "CLUSTER --location LOCATION"


def _named(cluster: RecordedResource) -> str:
    """A cluster of GKE as gcloud names it: by the cloud's own name, which a new one with an automatic name has not yet.

    >>> _named(RecordedResource(urn="", type=VERSIONS_OF_GKE, name="c", inputs={"location": "us-central1"}))
    'CLUSTER --location us-central1'
    """
    name, location = (_first(cluster.outputs.get(key), cluster.inputs.get(key)) for key in ("name", "location"))
    return f"{name or 'CLUSTER'} --location {location or 'LOCATION'}"


def _of(resource: RecordedResource, known: Lifetimes, on: date, stack: str) -> Iterator[Aging]:
    type_ = canonical(resource.type)
    inputs = resource.inputs
    if type_ == VERSIONS_OF_GKE and isinstance(inputs.get("versionPrefix"), str):
        version = inputs["versionPrefix"].rstrip(".")
        if PLAIN.fullmatch(version) and "." in version:
            age = kubernetes("gke", version, known, on, stack=stack, resource=resource.name, command=_UNNAMED)
            yield replace(age, fix=age.fix.replace(STATED["gke"], "version_prefix"))
    elif type_ in CLUSTERS:
        service, key = CLUSTERS[type_]
        version = _first(resource.outputs.get(key), inputs.get(key))
        if version is not None:
            shown = _first(inputs.get("name"), inputs.get("resourceName"), resource.name)
            yield kubernetes(
                service, version, known, on, stack=stack, resource=shown or "", support=_support(service, inputs),
                command=_named(resource),
            )  # fmt: skip
        revisions = items(get(inputs, "serviceMeshProfile", "istio", "revisions"))
        for revision in () if isinstance(revisions, Unknown) else revisions:
            row = known.release(*MESH, revision) if isinstance(revision, str) else None
            for age in _release(resource, row, on):
                yield replace(age, fix="az aks mesh get-revisions --location REGION" if age.fix else "")
    elif type_ in DATABASES:
        row = _database(known, type_, inputs, on)
        if row is not None and inputs.get("engineLifecycleSupport") == NO_EXTENDED_SUPPORT:
            without = "with extended support disabled AWS builds none, and upgrades one that stands by itself"
            row = replace(row, note=without) if _when(row.supported_until, on) == "ended" else row
        for age in _release(resource, row, on):
            newer = _lasting(known, row, on) if row is not None and age.fix else ""
            yield replace(age, fix=age.fix.replace(", after", f" to {newer} or newer, after", 1) if newer else age.fix)
    elif type_ in MODELS:
        name, version = (get(inputs, *MODELS[type_], "model", key) for key in ("name", "version"))
        row = _row(known, "model", f"azure-openai/{name}", version, on)
        yield from _release(resource, row, on)
        if row is None and isinstance(name, str) and isinstance(version, str):
            what = f"model azure-openai/{name} {version}"
            detail = f"{what} is not in the table: until when Azure offers it is unknown"
            yield Aging(resource=resource.name, what=what, kind="model", until="", when="unknown", detail=detail,
                        fix="az cognitiveservices model list --location REGION", checked="")  # fmt: skip
    elif type_ == "aws:eks/addon:Addon":
        row = _row(known, "addon", inputs.get("addonName"), inputs.get("addonVersion"), on)
        yield from _release(resource, row, on)
    elif type_.startswith("kubernetes:"):
        if type_ in ("kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart"):
            yield from _release(resource, _chart(known, inputs, on), on)
        for image in images_in(inputs):
            yield from _release(resource, image_row(known, image, on), on)
        yield from _removed(resource, known)
        if type_.startswith("kubernetes:karpenter.k8s.aws/") and type_.endswith(":EC2NodeClass"):
            yield from _karpenter(resource, known, on)
    policy = type_.partition(":")[2].startswith("iam") or "olicy" in type_  # which may name what is used no more
    for model in () if policy else dict.fromkeys(_texts(inputs)):
        yield from _ended_model(resource, model, known, on)
    for kind, name, version in offers(resource):
        of = (each for each in known.releases if (each.kind, each.name) == (kind, name))
        yield from _release(resource, runtime_row(of, version, on), on)
        yield from _closed(resource, known.release("closed", name, version), f"{kind} {name} {version}", on)
    if type_.startswith(("aws:", "gcp:", "azure:", "azure-native:", "aws-native:")):
        cloud, whole = cloud_of(type_), type_.count(":") == 2
        if whole and (row := ended_service(cloud, type_, known)) is not None:
            (age,) = _release(resource, row, on)
            ends = age.detail.partition(": ")[2].replace("support ", "the service ", 1)
            yield replace(age, what=row.version, detail=f"{row.version}: {ends}")
        if whole and (row := ended_service(cloud, type_, known, "closed")) is not None:
            yield from _closed(resource, row, row.version, on)
        for image in set(looked_up(resource) if type_ in LOOKUPS else machine_images(inputs)):
            yield from _system(resource, image, known, on)
        for machine in set(machine_types(inputs)):
            yield from _retired(resource, machine, known, on)


def _closed(resource: RecordedResource, row: Release | None, what: str, on: date) -> Iterator[Aging]:
    """What a cloud makes no new one of, or soon, though those that stand may stay; said of what is new alone."""
    if row is None or not _is_new(resource):
        return
    until = row.supported_until
    when: When = _when(until, on) if until else "ended"
    if when != "later":
        detail = f"new {what}: none can be created " + (f"after {until}" if until else "any more")
        yield Aging(resource=resource.name, what=f"new {what}", kind=row.kind, until=until, when=when, detail=detail,
                    fix=row.note, checked=row.checked)  # fmt: skip


def _system(resource: RecordedResource, image: str, known: Lifetimes, on: date) -> Iterator[Aging]:
    """An image's operating system; of EKS's images of Amazon Linux 2 also the clusters that have none."""
    if (row := system_of(image, known, on)) is None:
        return
    (age,) = _release(resource, row, on)
    age = replace(age, fix=system_instead(canonical(resource.type), image) if age.fix else "")
    what = image if title(row) == image else f"{title(row)} ({image})"
    clusters = f"; Kubernetes {row.kubernetes.partition('..')[2]} was the last that had it" if row.kubernetes else ""
    yield replace(age, what=what, detail=f"{what}: {age.detail.partition(': ')[2]}{clusters}")


def _retired(resource: RecordedResource, machine: str, known: Lifetimes, on: date) -> Iterator[Aging]:
    """A machine type, or an attached accelerator, that a cloud retires."""
    if (row := retired(machine, known)) is None:
        return
    (age,) = _release(resource, row, on)
    tense = "retired since" if row.gone else "was to be retired on" if age.when == "ended" else "will be retired on"
    said = f"{machine}: {tense} {row.supported_until}" + ("" if row.gone else f", as was known on {row.checked}")
    yield replace(age, what=machine, detail=said, fix=row.note if age.fix else "")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, those within JSON too, as containers and state machines state theirs."""
    if isinstance(value, str):
        yield value
        try:
            value = json.loads(value) if value[:1] in ("[", "{") else None
        except ValueError:
            return
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(each)


def _ended_model(resource: RecordedResource, model: str, known: Lifetimes, on: date) -> Iterator[Aging]:
    """A model of a cloud's own service, wherever a resource names it: an agent, a profile, a function's environment."""
    if (row := ended_model(model, known)) is None:
        return
    (age,) = _release(resource, row, on)
    what = f"model {model.rpartition('/')[2]} of {MODEL_SERVICES[row.name]}"
    ends = age.detail.partition(": ")[2]
    yield replace(age, what=what, detail=f"{what}: {ends}" + ("; requests to it fail" if age.when == "ended" else ""))
    if row.name == "aws/bedrock" and age.when != "ended" and _is_new(resource) and "ModelThroughput" in resource.type:
        said = f"{resource.name}: {what} is a legacy model, of which AWS sells no new provisioned throughput"
        yield Aging(resource=resource.name, what=said, kind="pair", until="", when="unknown", detail=said,
                    fix=FIXES["model"], checked=row.checked)  # fmt: skip


def _is_new(resource: RecordedResource) -> bool:
    """Whether nothing stands of it yet, as far as its record shows."""
    return not resource.outputs


def _karpenter(resource: RecordedResource, known: Lifetimes, on: date) -> Iterator[Aging]:
    """Amazon Linux 2 in the node class of Karpenter, which takes EKS's images of it."""
    spec = resource.inputs.get("spec")
    terms = items(get(spec, "amiSelectorTerms"))
    aliases = [get(term, "alias") for term in (() if isinstance(terms, Unknown) else terms)]
    for named in (*aliases, get(spec, "amiFamily")):
        if isinstance(named, str) and named.partition("@")[0].lower() == "al2":
            for age in _system(resource, "AL2_x86_64", known, on):
                yield replace(age, what=named, detail=age.detail.replace("AL2_x86_64", f"{named} of Karpenter", 1))


def _removed(resource: RecordedResource, known: Lifetimes) -> Iterator[Aging]:
    """A kind of Kubernetes in a version of its API that is served no more."""
    api, _, kind = canonical(resource.type).partition(":")[2].rpartition(":")
    yield from _gone(resource, removed(api, kind, known), f"{api} of {kind}", "served it")


def _gone(resource: RecordedResource, row: Release | None, what: str, did: str) -> Iterator[Aging]:
    if row is not None:
        last = row.kubernetes.partition("..")[2]
        fix, _, gone = row.note.partition("; ")  # by a controller of its own
        gone = f"Kubernetes {last} was the last that {did}" if last else gone
        yield Aging(resource=resource.name, what=what, kind=row.kind, until="", when="ended", checked=row.checked,
                    detail=f"{what}: {gone}", fix=fix)  # fmt: skip


def _volumes(graph: Graph, resource: RecordedResource, known: Lifetimes) -> Iterator[Aging]:
    """Volumes of plugins that Kubernetes had in its own tree and has no more; none where all clusters have them yet."""
    versions = [number(minor(version)) for each in graph.of(*CLUSTERS) if (version := _version_of(each))]
    for plugin in volume_plugins(resource):
        row = removed(VOLUME, plugin, known)
        last = number(row.kubernetes.partition("..")[2]) if row is not None else ()
        if not versions or not last or max(versions) > last:
            yield from _gone(resource, row, f"volume {plugin}", "had its plugin, and no pod with it starts")


def _of_nodes(graph: Graph, resource: RecordedResource, known: Lifetimes, on: date) -> Iterator[Aging]:
    """Versions of nodes that differ from their control plane's: ended ones, and pairs that the cloud refuses."""
    type_, inputs = canonical(resource.type), resource.inputs
    release = _release_version(inputs)
    cluster: RecordedResource | None = resource
    if type_ in POOLS:
        service, key, link, kind = POOLS[type_]
        clusters = graph.referenced(resource, link, kind)
        cluster = clusters[0] if isinstance(clusters, tuple) and len(clusters) == 1 else None
        stated: dict[str, Any] = {resource.name: _first(release, resource.outputs.get(key), inputs.get(key))}
        version = inputs.get(key)
        if release and isinstance(version, str) and minor(version) != minor(release):
            what = f"release_version {release} of {resource.name}"
            detail = f"{what}: of Kubernetes {minor(release)}, beside version {version}: EKS refuses the pair"
            yield Aging(resource=resource.name, what=what, kind="kubernetes", until="", when="unknown", detail=detail,
                        fix=f"leave it out, or name one of {minor(version)}", checked="")  # fmt: skip
    elif type_ in CLUSTERS:
        service = CLUSTERS[type_][0]
        listed = items(inputs.get("agentPoolProfiles"))
        profiles = () if isinstance(listed, Unknown) else listed
        stated = {str(get(each, "name")): get(each, "orchestratorVersion") for each in profiles}
        if isinstance(inputs.get("nodeVersion"), str):
            stated[resource.name] = inputs["nodeVersion"]
    else:
        return
    control = None if cluster is None else _version_of(cluster)
    support = "usual" if cluster is None else _support(service, cluster.inputs)
    for name, version in stated.items():
        if not isinstance(version, str) or not number(minor(version)):
            continue
        nodes, what = number(minor(version)), f"Kubernetes {version} on the nodes of {name}"
        if control and (fault := _skew(nodes, number(minor(control)), control)):
            yield Aging(resource=name, what=what, kind="kubernetes", until="", when="unknown",
                        detail=f"{what}: {fault}", fix=f"set its version to {minor(control)}", checked="")  # fmt: skip
        elif control is None or nodes != number(minor(control)):
            age = kubernetes(service, version, known, on, stack="", resource=name, support=support)
            if age.when == "ended":
                detail = age.detail.replace(age.what, what, 1).partition(";")[0]
                newer = minor(control) if control else "its control plane's"
                yield replace(age, what=what, detail=detail, fix=f"set its version to {newer}")


def _release_version(inputs: Mapping[str, Any]) -> str:
    """Kubernetes of the machine image that an EKS node group states; "" where that says nothing of it, as with
    Bottlerocket, whose releases have numbers of their own.

    >>> _release_version({"releaseVersion": "1.33.5-20260101"})
    '1.33.5-20260101'
    >>> _release_version({"releaseVersion": "1.20.3-51709849", "amiType": "BOTTLEROCKET_x86_64"})
    ''
    """
    version = inputs.get("releaseVersion")
    if not isinstance(version, str) or str(inputs.get("amiType")).startswith("BOTTLEROCKET"):
        return ""
    return version if re.fullmatch(r"1\.\d+(\.\d+)?-\d[\d.]*", version) else ""


def _version_of(cluster: RecordedResource) -> str | None:
    """The version that a cluster runs, as its state or its program says; None where neither does."""
    key = CLUSTERS[canonical(cluster.type)][1]
    version = _first(cluster.outputs.get(key), cluster.inputs.get(key))
    return version if version is not None and number(minor(version)) else None


def _first(*values: object) -> str | None:
    """The first text that is known."""
    return next((value for value in values if isinstance(value, str) and value), None)


def _skew(nodes: tuple[int, ...], control: tuple[int, ...], runs: str) -> str:
    """What is wrong with nodes beside their control plane; "" where the cloud takes the pair.

    >>> _skew((1, 36), (1, 35), "1.35"), _skew((1, 33), (1, 36), "1.36")
    ('newer than its control plane, which is on 1.35: the cloud refuses such nodes', '')
    """
    if nodes > control:
        return f"newer than its control plane, which is on {runs}: the cloud refuses such nodes"
    if nodes[0] == control[0] and control[1] - nodes[1] > OLDEST_NODES:
        oldest = f"{control[0]}.{control[1] - OLDEST_NODES}"
        return f"too old for its control plane, which is on {runs} and takes {oldest} and newer: the cloud refuses them"
    return ""


def _support(service: str, inputs: Mapping[str, Any]) -> Support:
    """Which support a cluster asks for (docs.aws.amazon.com/eks/latest/userguide/extended-support-control.html;
    learn.microsoft.com/azure/aks/long-term-support; cloud.google.com/kubernetes-engine/docs/concepts/release-channels).

    >>> _support("aks", {"supportPlan": "AKSLongTermSupport", "sku": {"tier": "Premium"}}), _support("aks", {})
    ('long-term', 'usual')
    """
    if service == "eks":
        return "standard alone" if get(inputs, "upgradePolicy", "supportType") == "STANDARD" else "usual"
    if service == "gke":
        return "long-term" if get(inputs, "releaseChannel", "channel") == "EXTENDED" else "usual"
    return "long-term" if inputs.get("supportPlan") == "AKSLongTermSupport" else "usual"


def cluster_version(resource: RecordedResource) -> tuple[int, ...] | None:
    """The minor version that a program asks of a cluster; None where it asks for none, or leaves what runs."""
    if (of := CLUSTERS.get(canonical(resource.type))) is None:
        return None
    version = resource.inputs.get(of[1])
    if not isinstance(version, str) or not version or {of[1], "*"} & set(resource.ignore_changes):
        return None
    return number(minor(version)) or None


def _row(known: Lifetimes, kind: str, name: object, version: object, on: date) -> Release | None:
    if not (isinstance(name, str) and isinstance(version, str)):
        return None
    if kind == "model":  # whose versions are days and numbers, and none follows another
        return known.release(kind, name, version) or known.release(kind, name, EVERY)
    return row_of((each for each in known.releases if (each.kind, each.name) == (kind, name)), version, on)


def _chart(known: Lifetimes, inputs: Mapping[str, Any], on: date) -> Release | None:
    """The row of a chart, or that of the whole repository that it is from where its images come from there too."""
    chart, repo = inputs.get("chart"), get(inputs, "repositoryOpts", "repo")
    if not isinstance(chart, str):
        return None
    if (row := _row(known, "chart", chart.rpartition("/")[2], inputs.get("version"), on)) is not None:
        return row
    whole = f"{repo.rstrip('/')}/{chart}" if isinstance(repo, str) else chart
    whole = re.sub(r"^\w+://", "", whole).replace("registry-1.docker.io/", f"{HUB}/")
    values = inputs.get("values")
    if isinstance(values, Unknown) or get(values, "global", "imageRegistry") is not None or any(images_in(values)):
        return None
    rows = (each for each in known.releases if each.kind == "chart" and each.name.endswith("/*"))
    row = next((each for each in rows if whole.startswith(each.name[:-1])), None)
    return row and replace(row, name=whole, version=_first(inputs.get("version")) or EVERY)


def _database(known: Lifetimes, type_: str, inputs: Mapping[str, Any], on: date) -> Release | None:
    name, key = DATABASES[type_]
    version = inputs.get(key)
    if not isinstance(version, str):
        return None
    engine, version = engine_of(inputs, version)
    if "{engine}" in name and not isinstance(engine, str):
        return None
    rows = [row for row in known.releases if (row.kind, row.name) == ("database", name.format(engine=engine))]
    stated = next((row for row in rows if f"{version}.".startswith(f"{row.version}.")), None)
    leading = re.match(r"\d+(\.\d+)?", version)  # 5.7.mysql_aurora.2.11.1
    return stated or (older(rows, leading[0], on) if leading else None)


def _lasting(known: Lifetimes, row: Release, on: date) -> str:
    """The oldest newer version of a database that is supported for a year yet, else the newest; "" where none is."""
    newer = [
        each
        for each in known.releases
        if (each.kind, each.name) == (row.kind, row.name)
        and number(each.version) > number(row.version)
        and _when(each.supported_until, on) == "later"
    ]
    year = [each.version for each in newer if -age_days(each.supported_until, on) > 365]
    return min(year, key=number) if year else max((each.version for each in newer), key=number, default="")


def image_row(known: Lifetimes, image: str, on: date | None = None) -> Release | None:
    """The row of an image, wherever a mirror keeps it; with a day, of an older one by the next that ended before it.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> image_row(load(), "123456789012.dkr.ecr.us-east-1.amazonaws.com/mirror/kueue/kueue:v0.19.4").name
    'registry.k8s.io/kueue/kueue'
    """
    name, _, tag = image.partition("@")[0].rpartition(":")
    rows = []
    whole = name if "." in name.partition("/")[0] else f"{HUB}/{name}"
    for row in known.releases:
        if row.kind == "image" and row.name.endswith("/*"):  # of one registry, whose mirrors keep what it took away
            if whole.startswith(row.name[:-1]) and any(sign.isdigit() for sign in tag):
                return row
            continue
        path = row.name.partition("/")[2] if "." in row.name.partition("/")[0] else row.name
        if row.kind == "image" and (name == row.name or name.endswith(f"/{path}")):
            rows.append(row)
    exact = next((row for row in rows if row.version in (tag, EVERY)), None)
    return exact if exact is not None or on is None else older(rows, tag, on)


def images_in(value: Any, key: str = "") -> Iterator[str]:
    """Every image that a value names: whole, or as a repository with its tag.

    >>> list(images_in({"spec": {"image": {"repository": "a.b/c", "tag": "1"}}, "image": "d/e:2"}))
    ['a.b/c:1', 'd/e:2']
    """
    if isinstance(value, str):
        if key in IMAGE_KEYS:
            yield value
    elif isinstance(value, Mapping):
        repository, tag = value.get("repository"), _first(value.get("tag"), value.get("version"))
        if isinstance(repository, str) and isinstance(tag, str) and repository and tag:
            name = value.get("image")
            yield f"{repository}/{name}:{tag}" if isinstance(name, str) else f"{repository}:{tag}"
        for inner, each in value.items():
            yield from images_in(each, str(inner))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from images_in(each, key)


FIXES: Final = {
    "chart": "name a version that is supported; those of Sizewell's components are raised by upgrading Sizewell",
    "image": "name a version that is supported; those of Sizewell's components are raised by upgrading Sizewell",
    "addon": "aws eks describe-addon-versions, then addon_versions",
    "database": "raise {input}, after a backup",
    "model": "name a model and a version that its cloud still offers",
    "system": "take an image of a system that is supported",
    "machine": "name another machine type",
    **INSTEAD,
}


def _release(resource: RecordedResource, row: Release | None, on: date) -> Iterator[Aging]:
    if row is None:
        return
    when = _when(row.supported_until, on)
    whole = row.version == EVERY and row.kind in ("chart", "image")  # no version is supported any more
    what = f"{row.kind} {row.name}" + ("" if whole else f" {row.version}")
    ends = _ends(row.supported_until, on)
    if when == "ended" and not row.gone:
        ends = f"support was to end on {row.supported_until}, as was known on {row.checked}"
    _, stated = DATABASES.get(canonical(resource.type), ("", ""))
    fix = "no version of it is supported: take another in its place" if whole else FIXES[row.kind].format(input=stated)
    note = row.note
    if row.kind in ("sku", "service") and note.startswith(("take ", "leave ")):
        fix, note = note, ""
    detail = f"{what}: {ends}" + (f" ({note})" if note else "")
    yield Aging(resource=resource.name, what=what, kind=row.kind, until=row.supported_until, when=when, detail=detail,
                fix=fix if when not in ("later", "unknown") else "", checked=row.checked)  # fmt: skip


def _when(until: str, on: date) -> When:
    if not until:
        return "unknown"
    left = -age_days(until, on)
    if left < 0:
        return "ended"
    return "in 30 days" if left <= NEAR_DAYS else "in 90 days" if left <= SOON_DAYS else "later"


def _ends(until: str, on: date) -> str:
    """The end in words.

    >>> _ends("2026-12-02", date(2026, 11, 26)), _ends("2026-06-01", date(2026, 11, 26)), _ends("", date(2026, 11, 26))
    ('support ends in 6 days, on 2026-12-02', 'support ended on 2026-06-01', 'until when it is supported is unknown')
    """
    if not until:
        return "until when it is supported is unknown"
    left = -age_days(until, on)
    if left < 0:
        return f"support ended on {until}"
    days = "today" if left == 0 else "in 1 day" if left == 1 else f"in {left} days"
    return f"support ends {days}, on {until}"
