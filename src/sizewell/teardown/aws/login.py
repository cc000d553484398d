"""How a job of GitHub logs in to AWS."""

from __future__ import annotations

from typing import Any, Final

from sizewell.teardown.login import ISSUER, Login


def _trust(subject: str) -> dict[str, Any]:
    host = ISSUER.removeprefix("https://")
    return {
        "role": "trust policy of teardown-reads and of each teardown-deletes-ENVIRONMENT",
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": f"arn:aws:iam::ACCOUNT:oidc-provider/{host}"},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {"StringEquals": {f"{host}:aud": "sts.amazonaws.com", f"{host}:sub": subject}},
            }
        ],
    }


LOGIN: Final = Login(
    audience="sts.amazonaws.com",
    settings={"AWS_CONFIG_FILE": "/tmp/aws/config", "AWS_PROFILE": "teardown-reads"},  # noqa: S108
    variables={"AWS_PROFILES": "TEARDOWN_AWS_PROFILES", "AWS_REGION": "TEARDOWN_AWS_REGION"},
    trust=_trust,
    reads="AWS_PROFILE",
    deletes=(
        "AWS_PROFILE",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_ROLE_ARN",
        "AWS_ROLE_SESSION_NAME",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ),
)
