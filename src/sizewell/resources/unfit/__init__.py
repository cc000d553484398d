"""What of any program a cloud refuses, or runs in vain: machines without their driver, places and names that are none.

Pure. Only what is known is said: a value that is not known yet, or that no table has, is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sizewell.resources.ages import Aging
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.unfit import clusters, drivers, machines, names, networks, room, services, settings
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.lifetimes import Lifetimes


def refused(graph: Graph, catalog: Catalog) -> Iterator[tuple[RecordedResource, str, str]]:
    """Which resources a cloud refuses, with what is wrong and what to do: as certain as what the program states.

    What rests on a list that changes from month to month (releases, zones, sizes on sale) is in `unfit` alone.
    """
    for resource in graph.plan.resources:
        for what, fix in _refused(graph, resource, catalog):
            yield resource, what, fix


def _refused(graph: Graph, resource: RecordedResource, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    return (
        *machines.of_market(resource, catalog),
        *machines.of_google(resource, catalog),
        *machines.of_generation(resource, catalog),
        *services.of_images(resource),
        *services.of_hyperpod(graph, resource),
        *clusters.of_pools(resource),
        *clusters.of_services(graph, resource),
        *networks.of_cluster(graph, resource),
        *networks.of_peering(graph, resource),
        *networks.of_ranges(graph, resource),
        *networks.of_subnet(graph, resource),
        *networks.of_sizes(graph, resource),
        *networks.of_named(graph, resource),
        *networks.of_places(graph, resource),
        *room.of_one_zone(graph, resource),
        *settings.of(graph, resource),
        *names.of(resource),
    )


def unfit(graph: Graph, catalog: Catalog, known: Lifetimes, images: machines.Images, on: date) -> Iterator[Aging]:
    """What does not go together, resource by resource; `images` says what is known of a container's image."""
    for resource in (*graph.plan.resources, *graph.plan.lookups):
        said = (
            *_refused(graph, resource, catalog),
            *machines.of_image(graph, resource, catalog, known),
            *machines.of_azure(resource, catalog, known),
            *machines.of_migration(resource, catalog),
            *machines.of_plain(graph, resource, catalog),
            *machines.of_processor(resource, catalog),
            *machines.of_task(resource, images),
            *machines.of_family(resource, catalog, known),
            *services.of_units(resource),
            *services.of_window(resource, on),
            *services.of_hyperpod_version(graph, resource, known),
            *clusters.of_bursting(resource),
            *clusters.of_addons(graph, resource, known),
            *machines.of_endpoint(graph, resource, catalog, known, images),
            *drivers.of_operator(graph, resource, catalog, known),
            *networks.of_zones(graph, resource, catalog),
            *networks.of_numbered_zones(graph, resource, catalog),
            *networks.of_maintenance(resource),
            *room.of_pods_range(graph, resource),
            *room.of_nodes_subnet(graph, resource),
            *machines.of_pods(graph, resource, catalog, known, images),
        )
        for what, fix in said:
            detail = f"{resource.name}: {what}"
            yield Aging(resource=resource.name, what=detail, kind="pair", until="", when="unknown", detail=detail,
                        fix=fix, checked="")  # fmt: skip
