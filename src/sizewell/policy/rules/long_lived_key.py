from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Thing

_KEYS: Final = (
    "aws:iam/accessKey:AccessKey",
    "aws:iam/userLoginProfile:UserLoginProfile",
    "aws:iam/serviceSpecificCredential:ServiceSpecificCredential",
    "aws:lightsail/bucketAccessKey:BucketAccessKey",
    "gcp:serviceaccount/key:Key",
    "gcp:storage/hmacKey:HmacKey",
    "gcp:projects/apiKey:ApiKey",
    "azuread:index/applicationPassword:ApplicationPassword",
    "azuread:index/servicePrincipalPassword:ServicePrincipalPassword",
)


def long_lived_key(thing: Thing, _: Parameters) -> Verdict:
    """No long-lived keys are created: roles and federation give credentials for an hour.

    >>> from sizewell.policy.examples import thing
    >>> long_lived_key(thing(type="aws:iam/accessKey:AccessKey"), {}).fix
    'use a role, workload identity or federation instead, and delete the key'
    """
    del thing
    return Violation(
        "the key is valid anywhere until it is deleted, and is stored in the stack's state",
        "use a role, workload identity or federation instead, and delete the key",
    )


RULE = Rule(
    id="long-lived-key",
    area="safety",
    subject="things",
    prevents="stolen keys that stay valid",
    judge=long_lived_key,
    types=_KEYS,
)
