from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get, items
from sizewell.sizing.catalog import load

_RUN: Final = "gcp:cloudrunv2/service:Service"


def endpoint_own_key(thing: Thing, _: Parameters) -> Verdict:
    """Volumes of endpoints and notebooks are encrypted with a customer-managed key.

    Serverless endpoints have no volume, and machines with disks of their own encrypt them by hardware and refuse a key.

    >>> from sizewell.policy.examples import thing
    >>> endpoint_own_key(thing(type="aws:sagemaker/notebookInstance:NotebookInstance"), {}).fix
    'set kmsKeyId'
    """
    if thing.type == _RUN:
        if thing.inputs.get("template") is UNKNOWN:
            return Undetermined("the key of its image")
        if get(thing.inputs, "template", "encryptionKey") is not None:
            return None
        return Violation("its image is not encrypted with a customer-managed key", "set template.encryptionKey")
    config = thing.type.endswith("EndpointConfiguration")
    prop = "kmsKeyArn" if config else "kmsKeyId"
    if thing.inputs.get(prop) is not None:
        return None
    variants = items(thing.inputs.get("productionVariants")) if config else ()
    if isinstance(variants, tuple) and variants and all(_keeps_nothing(variant) for variant in variants):
        return None
    return Violation("its volume is not encrypted with a customer-managed key", f"set {prop}")


def _keeps_nothing(variant: Any) -> bool:
    kind = get(variant, "instanceType")
    return isinstance(get(variant, "serverlessConfig"), dict) or (
        isinstance(kind, str) and load().says("aws", kind, "local-disk")
    )


RULE = Rule(
    id="endpoint-own-key",
    area="safety",
    subject="things",
    prevents="weights that leak with a volume",
    judge=endpoint_own_key,
    level="advisory",
    clouds=("aws", "gcp"),
    types=(
        _RUN,
        "aws:sagemaker/endpointConfiguration:EndpointConfiguration",
        "aws:sagemaker/notebookInstance:NotebookInstance",
        "aws:sagemaker/domain:Domain",
    ),
)
