"""What groups of machines launch after a change of their template: not always what the template then says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from sizewell.preview.changes import changed
from sizewell.resources.aws_nodes import GROUP, LAUNCH_TEMPLATE
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.values import canonical, get

_OF_ITSELF: Final = {"tags", "tagsAll", "description", "name", "namePrefix", "defaultVersion", "updateDefaultVersion"}
_NAMES: Final = {"id", "name", "launchTemplateId", "launchTemplateName", "version"}  # of what names a template
_DEFAULT: Final = "$Default"
_INSTANCE: Final = "aws:ec2/instance:Instance"
_MANAGERS: Final = (
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
)
_INSTANCE_TEMPLATES: Final = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)


def with_launched(
    before: Plan | None, after: Plan, replaced: frozenset[str] | None
) -> tuple[Plan | None, Plan, tuple[str, ...]]:
    """Both sides with the versions of launch templates that the change leaves, as what refers to them launches them;
    and in words what is launched, and which machines stay until they are replaced.

    A change of a template makes a version. Who names the earlier one goes on launching that: it stands on both sides,
    so that its machines are priced and judged as they are.
    """
    if before is None:
        return before, after, ()
    changes = changed(before, after, replaced)
    old, new = before.by_urn(), after.by_urn()
    was = {
        urn: old[name]
        for urn, each in new.items()
        for name in (urn, *each.aliases)
        if urn in changes and changes[urn].kind == "update" and name in old
    }
    edited = {
        urn: was[urn] for urn, each in new.items() if urn in was and _is_template(each) and _differ(was[urn], each)
    }
    notes = [*_opportunistic(before, after)]
    if not edited:
        return before, after, tuple(notes)
    graph = Graph(after)
    kept: dict[str, RecordedResource] = {}
    launching: dict[str, RecordedResource] = {}
    for resource in after.resources:
        earlier = next((old[name] for name in (resource.urn, *resource.aliases) if name in old), None)
        for prop in resource.inputs if resource.type.startswith("aws:") else ():
            templates = graph.referenced(resource, prop, LAUNCH_TEMPLATE)
            for template in () if isinstance(templates, Unknown) else templates:
                if template.urn not in edited:
                    continue
                version, stays = _version(resource, earlier, prop, template, edited[template.urn])
                if not version:
                    if canonical(resource.type) == GROUP and earlier and not resource.inputs.get("instanceRefresh"):
                        notes.append(_stay(resource, "it has no instance refresh"))
                    continue
                copy = _copy(edited[template.urn], template, version, stays=stays)
                kept[copy.urn] = copy
                base = launching.get(resource.urn, resource)
                others = [urn for urn in base.property_dependencies.get(prop, ()) if urn != template.urn]
                depends = {**base.property_dependencies, prop: (copy.urn, *others)}
                launching[resource.urn] = replace(base, property_dependencies=depends)
                notes.append(_in_words(resource, template, version, stays=stays))
    after = replace(after, resources=(*(launching.get(each.urn, each) for each in after.resources), *kept.values()))
    return replace(before, resources=(*before.resources, *kept.values())), after, tuple(dict.fromkeys(notes))


def _is_template(resource: RecordedResource) -> bool:
    return canonical(resource.type) == LAUNCH_TEMPLATE


def _differ(was: RecordedResource, now: RecordedResource) -> bool:
    """Whether what two templates start differs, as far as both are known."""
    pairs = [(was.inputs.get(key), now.inputs.get(key)) for key in (was.inputs.keys() | now.inputs.keys()) - _OF_ITSELF]
    return any(UNKNOWN not in pair and pair[0] != pair[1] for pair in pairs)


def _version(
    resource: RecordedResource,
    earlier: RecordedResource | None,
    prop: str,
    template: RecordedResource,
    was: RecordedResource,
) -> tuple[str, bool]:
    """The version that is launched where it is not the template's newest, "" where it is or may be; and whether the
    contents are those before the change.
    """
    versions = _versions(resource.inputs.get(prop))
    if len(versions) != 1:
        return "", False
    version = next(iter(versions))
    before = _versions(earlier.inputs.get(prop)) if earlier is not None else set()
    if canonical(resource.type) == _INSTANCE and version and before == versions:
        return version, True  # a machine reads its template once, when it is made
    if version == _DEFAULT:
        moves = template.inputs.get("updateDefaultVersion"), template.inputs.get("defaultVersion")
        if moves[0] is UNKNOWN or moves[0] in (True, "true") or moves[1] != was.inputs.get("defaultVersion"):
            return "", False
        return version, earlier is None or before == versions
    if not version.isdigit():
        return "", False
    if before == versions:
        return version, True
    named = next(iter(before), "")
    return ("", False) if named.isdigit() and int(named) < int(version) else (version, False)


def _versions(value: object) -> set[str]:
    """The versions of templates that are named anywhere in a value; "" stands for one that is not known yet."""
    if isinstance(value, Mapping):
        if value.keys() & (_NAMES - {"version", "name"}) or value.keys() <= _NAMES:
            version = value.get("version")
            return {"" if version is UNKNOWN else str(version or _DEFAULT)}
        return set().union(*map(_versions, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_versions, value))
    return set()


def _copy(was: RecordedResource, now: RecordedResource, version: str, *, stays: bool) -> RecordedResource:
    label = "default version" if version == _DEFAULT else f"version {version}"
    inputs = was.inputs if stays else {**dict.fromkeys(was.inputs.keys() | now.inputs.keys(), UNKNOWN)}
    return replace(was, urn=f"{now.urn} ({label})", name=f"{now.name} ({label})", inputs=inputs, aliases=())


def _in_words(resource: RecordedResource, template: RecordedResource, version: str, *, stays: bool) -> str:
    if version == _DEFAULT:
        which = f"the default version of its launch template {template.name}"
        way = "set update_default_version=True on the template, or name another version, to launch what it says now"
    else:
        which, way = f"version {version} of its launch template {template.name}", "name another version to change them"
    if canonical(resource.type) == _INSTANCE and stays:
        which, way = f"launch template {template.name}", "replace it to change it"
        return (
            f"{resource.name} was launched from {which} as it was: the change of the template does not reach it; {way}"
        )
    if not stays:
        return f"{resource.name} launches {which}, whose contents this program does not state"
    return f"{resource.name} launches {which}, which the change leaves as it is: its machines stay the same; {way}"


def _stay(resource: RecordedResource, why: str) -> str:
    return (
        f"{resource.name}: machines that run stay as they are and are billed until somebody replaces them ({why}); "
        "the figures are for after that"
    )


def _opportunistic(before: Plan, after: Plan) -> Iterator[str]:
    """Groups of Google Cloud whose template changes and whose update policy replaces no machine by itself."""
    graphs, old = (Graph(before), Graph(after)), before.by_urn()
    for resource in graphs[1].of(*_MANAGERS):
        earlier = old.get(resource.urn)
        if earlier is None or get(resource.inputs, "updatePolicy", "type") in ("PROACTIVE", UNKNOWN):
            continue
        pairs = [
            [graph.referenced(each, prop, *_INSTANCE_TEMPLATES) for prop in ("versions", "instanceTemplate")]
            for graph, each in zip(graphs, (earlier, resource), strict=True)
        ]
        was, now = ([t for each in side if not isinstance(each, Unknown) for t in each] for side in pairs)
        if was and now and _differ(was[0], now[0]):
            yield _stay(resource, "its update policy is OPPORTUNISTIC")
