from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Pool


def public_address(pool: Pool, _: Parameters) -> Verdict:
    """Accelerator machines have no public address: it is billed, and reachable from the internet.

    >>> from sizewell.policy.examples import pool
    >>> public_address(pool(accelerator="l4", public_address=True), {}).fix
    'give the machines no public address; use a NAT gateway or endpoints'
    """
    if pool.accelerated is False and pool.environment != "prod":
        return None
    return forbid(
        pool.public_address,
        message="every machine has a public address, which is exposed and billed by the hour",
        fix="give the machines no public address; use a NAT gateway or endpoints",
        unknown="whether the machines get public addresses",
    )


RULE = Rule(
    id="public-address",
    area="safety",
    subject="pools",
    prevents="machines reachable from the internet",
    judge=public_address,
)
