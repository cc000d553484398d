"""Which Kubernetes version a cluster gets, and what follows from it, by the table of `sizing.catalog.lifetimes`.

A version that is stated is built, and a change of it upgrades the cluster. One that is not is taken from the table when
the cluster is built, and left alone afterwards: what the cloud upgraded by itself is never asked back. What follows a
version follows the one that the cluster says it has.
"""

from collections.abc import Mapping
from datetime import date

import pulumi

from sizewell.components.faults import Faults
from sizewell.sizing.catalog.lifetimes import KubernetesVersion, ended, load, minor, number
from sizewell.sizing.errors import Fault

KEY = "sizewell:kubernetesVersion"


def default_version(service: str) -> KubernetesVersion:
    """What a cluster gets that names no version.

    >>> default_version("aks").ubuntu
    '24.04'
    """
    return load().default(service)


def check_version(faults: Faults, args: Mapping[str, object], service: str) -> None:
    """A `version` is one that the service is known to have; without a clock, whether it still has it is not asked."""
    if isinstance(args.get("version"), pulumi.Output):
        return
    known = load().versions(service)
    version = args.get("version", default_version(service).version)
    faults.must(
        minor(str(version)) in known,
        "version",
        f"must be the cluster's Kubernetes version, one of {', '.join(known)}, got {version!r}",
        fix="run `sizewell ages refresh` where the cloud has it",
    )


def following(service: str, version: str) -> KubernetesVersion:
    """The row of the version that a cluster runs; of the newest known one where the cloud has gone beyond the table."""
    known = load().versions(service)
    if row := known.get(minor(version)):
        return row
    newest = list(known.values())[-1]
    pulumi.log.warn(
        f"{service}: Kubernetes {version} is not in the table of versions: taken as {newest.version}; "
        "run `sizewell ages refresh`"
    )
    return newest


def version_faults(stated: str, services: list[str], decided_on: date) -> list[Fault]:
    """What is wrong with `sizewell:kubernetesVersion` for the services that a stack builds its clusters on.

    >>> version_faults("1.36", ["eks"], date(2026, 11, 26))
    []
    >>> version_faults("1.33", ["eks"], date(2026, 11, 26))[0].message
    'is 1.33, whose standard support on eks ended on 2026-07-29'
    """
    if not services:
        fix = f"pulumi config rm {KEY}"
        return [Fault(path=KEY, message="is given, and the stack builds no Kubernetes cluster", fix=fix)]
    faults = []
    for service in services:
        if service == "gke":
            message = "is given, and GKE's clusters follow the release channel REGULAR"
            faults.append(Fault(path=KEY, message=message, fix=f"pulumi config rm {KEY}"))
            continue
        known = load().versions(service)
        standing = [row.version for row in known.values() if not ended(row.supported_until, decided_on)]
        fix = f"pulumi config set {KEY} {load().default(service).version}; known of {service}: {', '.join(standing)}"
        row = known.get(minor(stated))
        if row is None:
            newer = number(stated)[:2] > number(list(known)[-1])
            more = ", or `sizewell ages refresh` where the cloud has it" if newer else ""
            message = f"is {stated!r}, which is no Kubernetes version of {service}"
            faults.append(Fault(path=KEY, message=message, fix=fix + more))
        elif ended(row.supported_until, decided_on):
            message = f"is {stated}, whose standard support on {service} ended on {row.supported_until}"
            faults.append(Fault(path=KEY, message=message, fix=fix))
    return faults
