"""What a stack's configuration must not say: keys that nobody reads, and what contradicts the decision."""

import difflib
import re
from collections.abc import Mapping

import pulumi

from sizewell.components.access import access_faults, cluster_clouds
from sizewell.components.kubernetes_versions import SUPPORT_KEY, support_faults, version_faults
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sdk import configuration
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.stackname import ENVIRONMENT_KEY, ENVIRONMENTS, normal_environment

KEYS = (
    "environment", "accounts", "organization", "zones", "network", "deletionProtection", "kubeconfig", "cluster", "run",
    "images", "sagemaker", "hyperpod", "cloudRun", "vertex", "azureml", "registry", "amdDriverImage", "budgetStarts",
    "billingAccount", "fileAdmins", "access", "notify", "registries", "kubernetesVersion",
    "kubernetesSupport",
)  # fmt: skip
BY_POOL = ("images", "sagemaker", "hyperpod", "cloudRun", "vertex", "azureml")


def check_config(decision: Decision, settings: Settings) -> None:
    """ConfigError with all faults at once."""
    stated = configuration.stated()
    faults = [
        *_unknown(stated),
        *_unnamed(decision),
        *_environment(decision, stated),
        *_places(decision, settings, stated),
        *_accounts(decision, settings, stated),
        *_kubernetes_version(decision, settings, stated.get(SUPPORT_KEY)),
        *access_faults(cluster_clouds(decision), settings.access, own_network=not settings.network),
    ]
    if faults:
        raise ConfigError(faults, subject=f"configuration of {pulumi.get_stack()}")


def say_when_nothing_is_to_do(decision: Decision, kind: str, made: Mapping[str, object]) -> None:
    """A stack of checkpoints or of an end that has nothing to build says so, and why."""
    if made or kind not in ("ttl", "checkpoints", "images"):
        return
    why = {
        "ttl": "the decision never expires; set ttl in every spec of the stack to change that",
        "images": "the decision has no EKS cluster in a network without internet access",
        "checkpoints": "no workload of the decision writes checkpoints",
    }[kind]
    pulumi.log.warn(f"{kind}-{decision.stack} builds nothing: {why}")


def _unknown(stated: Mapping[str, object]) -> list[Fault]:
    faults = []
    for key in sorted(stated):
        space, _, name = key.partition(":")
        if space == "sizewell" and name not in KEYS:
            near = difflib.get_close_matches(name, KEYS, n=1)
            fix = f"did you mean sizewell:{near[0]}?" if near else f"one of {', '.join(KEYS)}"
            faults.append(Fault(path=key, message="is not a setting", fix=fix))
    return faults


def _unnamed(decision: Decision) -> list[Fault]:
    known = [pool_name(workload, pool) for workload in decision.workloads for pool in workload.pools]
    config = pulumi.Config("sizewell")
    return [
        Fault(
            path=f"sizewell:{section}.{name}",
            message=f"is not a pool of {decision.stack}",
            fix=f"one of {', '.join(known)}",
        )
        for section in BY_POOL
        if isinstance(named := config.get_object(section) or {}, dict)
        for name in named
        if name not in known
    ]


def _kubernetes_version(decision: Decision, settings: Settings, support: object) -> list[Fault]:
    """A stated version is one that each service has on which the stack builds a cluster, and still supports."""
    if not settings.kubernetes_version and support is None:
        return []
    pools = [pool for workload in decision.workloads for pool in workload.pools]
    services = {CLOUDS[cloud].cluster.name.lower() for cloud in cluster_clouds(decision)}
    if any(pool.managed == "hyperpod" for pool in pools):
        services = services - {"eks"} | {"hyperpod"}
    faults = [] if support is None else support_faults(str(support), sorted(services))
    if faults or not settings.kubernetes_version:
        return faults
    return version_faults(
        settings.kubernetes_version, sorted(services), decision.decided_on, settings.kubernetes_support
    )


def _environment(decision: Decision, stated: Mapping[str, object]) -> list[Fault]:
    """What the configuration states is what the decision was sized for, and what everything is built as."""
    word = str(stated.get(ENVIRONMENT_KEY) or "")
    if not word or normal_environment(word) == decision.environment:
        return []
    if normal_environment(word) not in ENVIRONMENTS:
        return [Fault(path=ENVIRONMENT_KEY, found=word, allowed=", ".join(ENVIRONMENTS))]
    message = f"is {word}, the decision was sized for {decision.environment}"
    fix = f"run `sizewell size --stack {decision.stack}`, review and commit the decision, or remove the key"
    return [Fault(path=ENVIRONMENT_KEY, message=message, fix=fix)]


def _places(decision: Decision, settings: Settings, stated: Mapping[str, object]) -> list[Fault]:
    """The decision says the regions: zones lie in them, and a provider's own region would be ignored."""
    pools = [pool for workload in decision.workloads for pool in workload.pools]
    regions = sorted({pool.region for pool in pools})
    faults = []
    for name, cloud in CLOUDS.items():
        key = cloud.regions.config_key
        decided = sorted({pool.region for pool in pools if pool.cloud == name})
        if decided and stated.get(key) and [stated[key]] != decided:
            fix = f"pulumi config rm {key}; to move, write the region into infra of the specs and size the stack again"
            message = f"is {stated[key]}, the decision says {', '.join(decided)}"
            faults.append(Fault(path=key, message=message, fix=fix))
    for number, zone in enumerate(settings.zones):
        named = re.fullmatch(
            r"[a-z]+(-[a-z]+)+-?\d+-?[a-z][a-z0-9-]*", zone
        )  # an id of AWS or a number of Azure is not
        if named and not any(zone.startswith(region) for region in regions):
            allowed = f"zones of {', '.join(regions)}, the decision's region"
            faults.append(Fault(path=f"sizewell:zones[{number}]", found=zone, allowed=allowed))
    return faults


def _accounts(decision: Decision, settings: Settings, stated: Mapping[str, object]) -> list[Fault]:
    """Every account is one of the cloud's; where a stack works in one, exactly one is named, in one place."""
    clouds = {pool.cloud for workload in decision.workloads for pool in workload.pools if not pool.adopted}
    if len(clouds) != 1:
        return []
    account_of = CLOUDS[clouds.pop()].account
    faults = [
        Fault(path=f"sizewell:accounts[{number}]", found=account, allowed=f"one of your {account_of.described}")
        for number, account in enumerate(settings.accounts)
        if not re.fullmatch(account_of.pattern, account)
    ]
    key = account_of.config_key  # a provider there works in exactly one
    if key and len(settings.accounts) > 1:
        accounts, word = ", ".join(settings.accounts), account_of.described.removesuffix("s")
        message = f"names {accounts}: a stack uses exactly one"
        faults.append(Fault(path="sizewell:accounts", message=message, fix=f"keep only the {word} of this stack"))
    if key and (account := stated.get(key)) and account not in settings.accounts[:1]:
        message = (
            f"is {account}, sizewell:accounts says {', '.join(settings.accounts) or 'none'}: only the latter is used"
        )
        fix = f"pulumi config rm {key}; pulumi config set --path 'sizewell:accounts[0]' with the right one"
        faults.append(Fault(path=key, message=message, fix=fix))
    return faults
