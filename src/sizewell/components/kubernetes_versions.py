"""Which Kubernetes version a cluster gets, and what follows from it, by the table of `sizing.catalog.lifetimes`.

A version that is stated is built, and a change of it upgrades the cluster. One that is not is taken from the table when
the cluster is built, and left alone afterwards: what the cloud upgraded by itself is never asked back. What follows a
version follows the one that the cluster says it has.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Literal, get_args

import pulumi

from sizewell.components.bounds import OneOf
from sizewell.components.faults import Faults
from sizewell.sizing.catalog.lifetimes import KubernetesVersion, ended, lasting_version, load, minor, number
from sizewell.sizing.errors import Fault

KEY = "sizewell:kubernetesVersion"
SUPPORT_KEY = "sizewell:kubernetesSupport"
Support = Literal["standard", "extended"]
SUPPORTS = get_args(Support)
SUPPORT = OneOf(SUPPORTS)
_GKE = "is given, and GKE's clusters follow the release channel REGULAR"
FORMS = {  # as the services take a version; AKS takes a patch release too
    "eks": re.compile(r"\d+\.\d+"),
    "hyperpod": re.compile(r"\d+\.\d+"),
    "aks": re.compile(r"\d+\.\d+(\.\d+)?"),
}

# What happens to a cluster once the support that it is built with has ended.
_EKS = "AWS builds none, and upgrades one that stands by itself"
BY_ITSELF = {"eks": _EKS, "hyperpod": _EKS, "aks": "Azure builds none, and upgrades those that stand without asking"}


def default_version(service: str) -> KubernetesVersion:
    """What a cluster gets that names no version.

    >>> default_version("aks").ubuntu
    '24.04'
    """
    return load().default(service)


def check_version(faults: Faults, args: Mapping[str, object], service: str, *, builds: bool = False) -> None:
    """A `version` is one that the service is known to have.

    `builds`: of the cluster itself, which the cloud takes only in its own form, and only while it is supported, as far
    as the table knows by the day on which it was looked at: there is no clock. What follows a cluster follows what the
    cluster says.
    """
    if isinstance(args.get("version"), pulumi.Output):
        return
    known = load().versions(service)
    version = str(args.get("version", default_version(service).version))
    support: Support = "extended" if args.get("support") == "extended" else "standard"
    row = known.get(minor(version))
    open_to = [name for name, each in known.items() if not builds or not _ended(each, support)]
    faults.must(
        row is not None and (not builds or FORMS[service].fullmatch(version) is not None),
        "version",
        f"must be the cluster's Kubernetes version, one of {', '.join(open_to)}, got {args.get('version')!r}",
        fix=f"set version to {_meant(service, version, open_to)}, or run `sizewell ages refresh` where the cloud has a "
        "newer one",
    )
    if row is not None and builds:
        longer = support == "standard" and not _ended(row, "extended")
        faults.must(
            not _ended(row, support),
            "version",
            f"is {version}, whose {support} support on {service} ended on {row.until(support)}; {BY_ITSELF[service]}",
            fix=f"one of {', '.join(open_to)}; of a standing cluster the one that it runs"
            + (f', or support "extended" until {row.extended_until}, which is billed' if longer else ""),
        )
        if not row.built and not _ended(row, "standard"):
            newest = default_version(service).version
            pulumi.log.warn(
                f"{faults.subject}: version {version} on {service} is newer than what the components that go onto it "
                f"are known to run on: they are installed as on {newest}"
            )


def _meant(service: str, stated: str, open_to: Sequence[str]) -> str:
    """The version to take instead of one in another form: the minor that was written, as a control plane never goes
    back to an older one; where that is not open, what a cluster gets that names none.

    >>> _meant("eks", "v1.36.2", ["1.35", "1.36", "1.37"])
    '1.36'
    """
    written = re.match(r"v?(\d+\.\d+)(?!\d)", stated.strip(), re.IGNORECASE)
    return written[1] if written and written[1] in open_to else default_version(service).version


def _ended(row: KubernetesVersion, support: Support) -> bool:
    return ended(row.until(support), date.fromisoformat(row.checked))


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


def support_faults(stated: str, services: list[str]) -> list[Fault]:
    """What is wrong with `sizewell:kubernetesSupport` for the services that a stack builds its clusters on.

    >>> support_faults("extended", ["eks", "aks"])
    []
    >>> support_faults("extended", ["gke"])[0].message
    "is given, and GKE's clusters follow the release channel REGULAR"
    """
    if stated not in SUPPORTS:
        return [Fault(path=SUPPORT_KEY, found=stated, allowed=" or ".join(SUPPORTS))]
    fix = f"pulumi config rm {SUPPORT_KEY}"
    if not services:
        return [Fault(path=SUPPORT_KEY, message="is given, and the stack builds no Kubernetes cluster", fix=fix)]
    return [Fault(path=SUPPORT_KEY, message=_GKE, fix=fix)] if "gke" in services else []


def version_faults(stated: str, services: list[str], decided_on: date, support: Support = "standard") -> list[Fault]:
    """What is wrong with `sizewell:kubernetesVersion` for the services that a stack builds its clusters on.

    >>> version_faults("1.36", ["eks"], date(2026, 11, 26))
    []
    >>> version_faults("1.33", ["eks"], date(2026, 11, 26))[0].message.partition("; ")[0]
    'is 1.33, whose standard support on eks ended on 2026-07-29'
    >>> version_faults("1.33", ["eks"], date(2026, 11, 26), "extended")
    []
    """
    if not services:
        fix = f"pulumi config rm {KEY}"
        return [Fault(path=KEY, message="is given, and the stack builds no Kubernetes cluster", fix=fix)]
    faults = []
    for service in services:
        if service == "gke":
            faults.append(Fault(path=KEY, message=_GKE, fix=f"pulumi config rm {KEY}"))
            continue
        known = load().versions(service)
        standing = [row.version for row in known.values() if not ended(row.until(support), decided_on)]
        lasting = lasting_version(known.values(), stated, decided_on) or load().default(service).version
        fix = f"pulumi config set {KEY} {lasting}; known of {service}: {', '.join(standing)}"
        row = known.get(minor(stated)) if FORMS[service].fullmatch(stated) else None
        if row is None:
            newer = minor(stated) not in known and number(stated)[:2] > number(list(known)[-1])
            more = ", or `sizewell ages refresh` where the cloud has it" if newer else ""
            message = f"is {stated!r}, which is no Kubernetes version of {service}"
            faults.append(Fault(path=KEY, message=message, fix=fix + more))
        elif ended(row.until(support), decided_on):
            ended_on = f"{support} support on {service} ended on {row.until(support)}"
            message = f"is {stated}, whose {ended_on}; {BY_ITSELF[service]}"
            fix += "; of a standing cluster the one that it runs"
            # what ended since the decision does not help, whenever that was made
            if support == "standard" and not ended(row.extended_until, max(decided_on, datetime.now(UTC).date())):
                fix += f", or pulumi config set {SUPPORT_KEY} extended, which is billed, until {row.extended_until}"
            faults.append(Fault(path=KEY, message=message, fix=fix))
    return faults
