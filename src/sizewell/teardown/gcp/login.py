"""How a job of GitHub logs in to Google Cloud."""

from __future__ import annotations

from typing import Any, Final

from sizewell.teardown.login import ISSUER, Login


def _trust(subject: str) -> dict[str, Any]:
    return {
        "provider": {
            "oidc": {"issuerUri": ISSUER},  # without allowedAudiences: the provider's own name alone
            "attributeMapping": {"google.subject": "assertion.sub"},
            "attributeCondition": f"assertion.sub == '{subject}'",
        },
        "binding": {
            "on": "the service accounts that `identities` of teardown.yaml name",
            "role": "roles/iam.workloadIdentityUser",
            "members": [f"principal://iam.googleapis.com/POOL/subject/{subject}"],
        },
    }


LOGIN: Final = Login(
    audience="https://iam.googleapis.com/$GOOGLE_PROVIDER",
    settings={"GOOGLE_APPLICATION_CREDENTIALS": "/token/gcp.json"},
    variables={"GOOGLE_PROVIDER": "TEARDOWN_GOOGLE_PROVIDER"},
    prepares=(
        'jq -n --arg audience "//iam.googleapis.com/$GOOGLE_PROVIDER" \'{type: "external_account", $audience,\n'
        '  subject_token_type: "urn:ietf:params:oauth:token-type:jwt",\n'
        '  token_url: "https://sts.googleapis.com/v1/token", credential_source: {file: "/token/gcp"}}\' '
        "> token/gcp.json\n"
    ),
    trust=_trust,
    reads="GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
    deletes=(
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
        "GOOGLE_PROJECT",
        "GOOGLE_REGION",
        "CLOUDSDK_CONFIG",
        "CLOUDSDK_ACTIVE_CONFIG_NAME",
        "CLOUDSDK_CORE_PROJECT",
    ),
)
