from __future__ import annotations

from policy.rule import Parameters, Rule, Verdict, require
from resources.stackfacts import Thing
from resources.values import Flag, either, flag


def model_isolated(thing: Thing, _: Parameters) -> Verdict:
    """A served model runs in a private network: its container must not send prompts anywhere.

    >>> from policy.examples import thing
    >>> model_isolated(thing(type="aws:sagemaker/model:Model"), {}).fix
    'set vpcConfig, or enableNetworkIsolation'
    """
    isolated = flag(thing.inputs.get("enableNetworkIsolation"))
    private: Flag = thing.inputs.get("vpcConfig") is not None
    return require(
        either(isolated, private),
        message="the model's container reaches the internet: prompts and weights can leave",
        fix="set vpcConfig, or enableNetworkIsolation",
        unknown="the network isolation",
    )


RULE = Rule(
    id="model-isolated",
    area="safety",
    subject="things",
    prevents="prompts and weights that leave",
    judge=model_isolated,
    clouds=("aws",),
    types=("aws:sagemaker/model:Model",),
)
