from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag, get

_VERTEX: Final = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"


def vertex_endpoint_public(thing: Thing, _: Parameters) -> Verdict:
    """A Vertex AI endpoint has a private address: on a public one a stolen token works from anywhere.

    >>> from sizewell.policy.examples import thing
    >>> vertex_endpoint_public(thing(type=_VERTEX), {}).fix
    'set enablePrivateServiceConnect to true'
    """
    connect = get(thing.inputs, "endpointConfig", "privateServiceConnectConfig", "enablePrivateServiceConnect")
    return require(
        flag(connect),
        message="the endpoint is open to the internet for anyone with a valid token",
        fix="set enablePrivateServiceConnect to true",
        unknown="who can reach the service",
    )


RULE = Rule(
    id="vertex-endpoint-public",
    area="safety",
    subject="things",
    prevents="requests with a stolen token at your cost",
    judge=vertex_endpoint_public,
    levels={"dev": "advisory"},
    clouds=("gcp",),
    types=(_VERTEX,),
)
