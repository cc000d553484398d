from __future__ import annotations

from policy.rule import Parameters, Rule, Verdict, Violation
from resources.stackfacts import Thing


def endpoint_own_key(thing: Thing, _: Parameters) -> Verdict:
    """Volumes of endpoints and notebooks are encrypted with a key of one's own.

    >>> from policy.examples import thing
    >>> endpoint_own_key(thing(type="aws:sagemaker/notebookInstance:NotebookInstance"), {}).fix
    'set kmsKeyId'
    """
    prop = "kmsKeyArn" if thing.type.endswith("EndpointConfiguration") else "kmsKeyId"
    if thing.inputs.get(prop) is not None:
        return None
    return Violation("weights lie on its volume under a key that nobody here can refuse", f"set {prop}")


RULE = Rule(
    id="endpoint-own-key",
    area="safety",
    subject="things",
    prevents="weights that leak with a volume",
    judge=endpoint_own_key,
    level="advisory",
    clouds=("aws",),
    types=(
        "aws:sagemaker/endpointConfiguration:EndpointConfiguration",
        "aws:sagemaker/notebookInstance:NotebookInstance",
        "aws:sagemaker/domain:Domain",
    ),
)
