from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import count, get

_CLASSES: Final = tuple(f"kubernetes:karpenter.k8s.aws/{version}:EC2NodeClass" for version in ("v1", "v1beta1"))


def karpenter_metadata(thing: Thing, _: Parameters) -> Verdict:
    """Nodes that Karpenter starts keep the machine's credentials from pods; this is the default.

    >>> from sizewell.policy.examples import thing
    >>> kind = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    >>> open_to_pods = {"spec": {"metadataOptions": {"httpTokens": "optional"}}}
    >>> karpenter_metadata(thing(type=kind, inputs=open_to_pods), {}).fix
    'set spec.metadataOptions.httpTokens to required, and httpPutResponseHopLimit to 1'
    """
    options = get(thing.inputs, "spec", "metadataOptions")
    tokens = get(options, "httpTokens", default="required")
    hops = count(get(options, "httpPutResponseHopLimit", default=1))
    if get(options, "httpEndpoint") == "disabled":
        return None
    if tokens == "optional" or (isinstance(hops, int) and hops > 1):
        return Violation(
            "every pod can read the machine's credentials from the metadata service",
            "set spec.metadataOptions.httpTokens to required, and httpPutResponseHopLimit to 1",
        )
    return Undetermined("the metadata options") if tokens is UNKNOWN or isinstance(hops, Unknown) else None


RULE = Rule(
    id="karpenter-metadata",
    area="safety",
    subject="things",
    prevents="pods that read the machine's credentials",
    judge=karpenter_metadata,
    clouds=("kubernetes",),
    types=_CLASSES,
)
