"""Kueue on a Kubernetes cluster of any origin: a queue for each pool, and the operators of jobs of several machines."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.kubernetes import objects
from sizewell.components.kubernetes.args import QueueingArgs
from sizewell.components.kubernetes.checks import check_queueing
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.kubernetes.operators import release
from sizewell.components.owned import Owned


class Queueing(Owned):
    """Jobs wait until all of their machines are free or have started; no queue admits more than the pool has.

    Pools that share a queue are filled in order: a job goes to the next pool if the ones before have no room. A quota
    is the pool's maximum, so the autoscaler starts no machine that the queue never fills. A job that names
    sizewell-low, sizewell-medium or sizewell-high goes before those below it, and takes their machines if it has to.
    """

    queues: pulumi.Output[list[str]]
    """Names of the queues: the label kueue.x-k8s.io/queue-name of a job."""
    releases: pulumi.Output[list[str]]
    """Names of the Helm releases."""

    def __init__(self, name: str, args: QueueingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_queueing(name, args)
        super().__init__(name, args, opts, kind="queue")
        provider = provider_of(self, name, args)
        mirror = args.get("registry", "")
        jobs = [
            release(self, name, operator, provider, registry=mirror) for operator in args.get("operators", ["jobset"])
        ]
        queue = release(
            self, name, "kueue", provider, after=jobs, registry=mirror
        )  # it looks for the kinds of jobs when it starts
        for priority, value in objects.PRIORITIES.items():
            self.make(
                kubernetes.scheduling.v1.PriorityClass,
                f"{name}-{priority}",
                metadata={"name": priority},
                value=value,
                global_default=False,
                description="Priority in a queue; above 0, the priority of jobs without one",
                opts=pulumi.ResourceOptions(provider=provider),
            )
        before: list[pulumi.Resource] = [queue]
        for manifest in objects.manifests(args):
            made = self._custom(name, manifest, provider, before)
            if manifest["kind"] != "LocalQueue":
                before.append(made)
        self.queues = pulumi.Output.from_input(list(dict.fromkeys(map(objects.queue_of, args["flavors"]))))
        self.releases = pulumi.Output.all(*[release.name for release in (*jobs, queue)])
        self.register()

    def _custom(
        self, owner: str, manifest: dict[str, Any], provider: kubernetes.Provider, after: list[pulumi.Resource]
    ) -> kubernetes.apiextensions.CustomResource:
        metadata = manifest["metadata"]
        where = f"-{metadata['namespace']}" if "namespace" in metadata else ""
        return self.make(
            kubernetes.apiextensions.CustomResource,
            f"{owner}-{manifest['kind'].lower()}-{metadata['name']}{where}",
            api_version=manifest["apiVersion"],
            kind=manifest["kind"],
            metadata=metadata,
            spec=manifest["spec"],
            opts=pulumi.ResourceOptions(provider=provider, depends_on=list(after)),
        )
