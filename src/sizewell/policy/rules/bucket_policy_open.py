from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Grant

_OPEN: Final = ("*", "AWS:*")


def bucket_policy_open(grant: Grant, _: Parameters) -> Verdict:
    """A resource policy that allows everybody opens what public-access blocks were meant to close.

    >>> from sizewell.policy.examples import grant
    >>> bucket_policy_open(grant(principal="*", actions=("s3:GetObject",)), {}).fix
    'name the principals, or add a condition on the organization'
    """
    if grant.effect != "Allow" or grant.conditions:
        return None
    if isinstance(grant.principal, Unknown):
        return Undetermined("the policy")
    if grant.principal not in _OPEN:
        return None
    return Violation(
        "everybody on the internet may use it, at your cost",
        "name the principals, or add a condition on the organization",
    )


RULE = Rule(
    id="bucket-policy-open",
    area="safety",
    subject="grants",
    prevents="data and queues open to everybody",
    judge=bucket_policy_open,
    clouds=("aws",),
    types=(
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:sqs/queuePolicy:QueuePolicy",
        "aws:sns/topicPolicy:TopicPolicy",
        "aws:ecr/repositoryPolicy:RepositoryPolicy",
        "aws:kms/key:Key",
    ),
)
