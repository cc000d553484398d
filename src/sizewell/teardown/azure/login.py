"""How a job of GitHub logs in to Azure."""

from __future__ import annotations

from typing import Any, Final

from sizewell.teardown.login import ISSUER, Login


def _trust(subject: str) -> dict[str, Any]:
    return {
        "federated_credential": {
            "on": "the managed identities that `identities` of teardown.yaml name",
            "issuer": ISSUER,
            "subject": subject,
            "audiences": ["api://AzureADTokenExchange"],
        }
    }


LOGIN: Final = Login(
    audience="api://AzureADTokenExchange",
    settings={
        "AZURE_FEDERATED_TOKEN_FILE": "/token/azure",
        "ARM_OIDC_TOKEN_FILE_PATH": "/token/azure",
        "ARM_USE_OIDC": "true",
    },
    variables={
        "AZURE_TENANT_ID": "TEARDOWN_AZURE_TENANT_ID",
        "AZURE_CLIENT_ID": "TEARDOWN_AZURE_CLIENT_ID",
        "ARM_TENANT_ID": "TEARDOWN_AZURE_TENANT_ID",
        "ARM_SUBSCRIPTION_ID": "TEARDOWN_AZURE_SUBSCRIPTION_ID",
    },
    trust=_trust,
    reads="AZURE_CLIENT_ID",
    deletes=(
        "AZURE_CLIENT_ID",
        "AZURE_TENANT_ID",
        "AZURE_CONFIG_DIR",
        "AZURE_FEDERATED_TOKEN_FILE",
        "ARM_CLIENT_ID",
        "ARM_TENANT_ID",
        "ARM_SUBSCRIPTION_ID",
        "ARM_ENVIRONMENT",
        "ARM_USE_MSI",
        "ARM_USE_OIDC",
        "ARM_OIDC_TOKEN_FILE_PATH",
        "ARM_CLIENT_CERTIFICATE_PATH",
    ),
)
