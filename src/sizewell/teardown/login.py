"""How a job of GitHub becomes somebody in a cloud, of which `teardown/<cloud>/login.py` says how. Pure.

GitHub mints a token for each audience; each cloud's SDK exchanges it: docs.github.com/actions/concepts/security/
openid-connect, cloud.google.com/iam/docs/workload-identity-federation-with-deployment-pipelines,
learn.microsoft.com/entra/workload-id/workload-identity-federation, pulumi.com/registry/packages/azure-native
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

ISSUER: Final = "https://token.actions.githubusercontent.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """On one cloud: the token, what in the container says where it lies, and who is trusted with it."""

    audience: str  # of the token; as the shell reads it
    settings: Mapping[str, str]  # of the container
    variables: Mapping[str, str]  # of the step: what the environment `teardown` has to name
    trust: Callable[[str], dict[str, Any]]  # subject of the token -> what the cloud's identities have to trust
    reads: str  # the setting of `identities` under which an account is read
    deletes: tuple[str, ...]  # those of the engine that say as whom and where it deletes; none is a secret
    prepares: str = ""  # before the container starts
