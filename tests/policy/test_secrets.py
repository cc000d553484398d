"""Which texts carry a secret: shapes that services publish, connections, named keys, words that only a machine makes up.

Both lists were written beside the rule from the services' documentation; the values are made up.
"""

from __future__ import annotations

import base64

import pytest

from sizewell.policy.examples import thing
from sizewell.policy.rules.secrets import secret_in_plain_text

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SECRETS = [
    "export AWS_ACCESS_KEY_ID=AKIAQ3EGRVX4ZJ7TPLKM",
    "curl -H 'PRIVATE-TOKEN: glpat-Xq8sT2vLm4ZpR7nKcW1d' https://gitlab.example.com",
    "git clone https://x:ghu_16C7e42F292c6912E7710c838347Ae178B4a@github.com/team/app",
    "xoxb-2487516903-2491837465012-Zk4VbtR7xQ2pLm9NcWdYs1Ha",
    "https://hooks.slack.com/services/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",
    "https://discord.com/api/webhooks/1042938475610293847/q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkEhGm6C",
    "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",
    "npm_q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3",
    "pypi-AgEIcHlwaS5vcmcCJDk5ZjYxM2Q4LTQ0",
    "dop_v1_2c8f1d9e7b6a5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d",
    "rk_live_51H8q8Zt4LmX0vKcR7pNw2YsHd9JfB",
    "AIzaSyA7dK29sLqPzXw83mVtYb5RcNf0GhJe14U",
    f"Authorization: Bearer {JWT}",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----",
    "postgresql://app:tR7xQ2pLm9Zk4Vb@db.internal:5432/app",
    "redis://:Zk4VbtR7xQ2pLm9@cache.internal:6379/0",
    "Endpoint=sb://t.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkE=",
    "https://team.blob.core.windows.net/c/f?sv=2024-11-04&sr=b&sig=q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkE%3D",
    "DD_API_KEY=9fceb02d0ae598e95dc970b74767f193",
    "q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1A",
    "serve --with Jf8Kq2XvZr5TnLw0PbYc7MdHs3GaEu9R --port 8000",
    base64.b64encode(b"#!/bin/sh\nexport X=Jf8Kq2XvZr5TnLw0PbYc7MdHs3GaEu9R\nserve\n").decode(),
]
PLAIN = [
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "registry.example/m@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-Ab12Cd",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKq8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkE ml@example.com",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "postgresql://app:${DB_PASSWORD}@db.internal:5432/app",
    "postgresql://app:$(DB_PASSWORD)@db.internal:5432/app",
    "https://sqs.us-east-1.amazonaws.com/123456789012/orders",
    "meta-llama/Meta-Llama-3.1-70B-Instruct",
    "HasBacklogWithoutCapacityOfTheEndpoint2TargetTracking",
    "pip install torch==2.5.1 --hash=sha256:71328e1bbe39d213b8721678f9dcac30dfc452a46d586f1d514a6aa0a99d4744",
    "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "google-site-verification=q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkE",
    "{{resolve:secretsmanager:prod/db:SecretString:password}}",
    base64.b64encode(b"#!/bin/bash\npip install torch\nsystemctl enable --now server\n").decode(),
    # a file in lines of base64, as scripts carry it
    "base64 -d <<'EOF' | tar -xz\nq8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkEq8Zt4LmX0vKcR7pNw2\nJf8Kq2XvZr5TnLw0PbYc7MdHs3GaEu9RJf8=\nEOF",
    '["tar -xz <<EOF", "q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1AzUo3WxVyPkEq8Zt4LmX0", "Jf8Kq2XvZr5TnLw0PbYc7MdHs3GaEu9RJf8=", "EOF"]',
    "us-docker.pkg.dev/team/app/server-of-the-team:2026-11-22-build1234",
    "s3://team-checkpoints/run-20261122T0300Z/step-00012000",
    "MODEL=mistralai/Mixtral-8x22B-Instruct-v0.1 TP=8 python -m vllm.entrypoints.openai.api_server",
]


def places(text: str) -> list[dict[str, object]]:
    return [
        {"environment": {"variables": {"UPSTREAM": text}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "m", "env": [{"name": "UPSTREAM", "value": text}]}]}}}},
        {"userData": f"#!/bin/sh\n{text}\n"},
    ]


@pytest.mark.parametrize("text", SECRETS, ids=[text[:24] for text in SECRETS])
def test_a_secret_is_seen_wherever_it_stands(text: str) -> None:
    for inputs in places(text)[: 2 if len(text.split()) == 1 and text.endswith("=") else 3]:
        assert secret_in_plain_text(thing(inputs=inputs), {}) is not None, inputs


@pytest.mark.parametrize("text", PLAIN, ids=[text[:24] for text in PLAIN])
def test_what_is_none_is_let_through(text: str) -> None:
    for inputs in places(text):
        assert secret_in_plain_text(thing(inputs=inputs), {}) is None, inputs


def test_a_key_of_hexadecimal_digits_is_one_by_its_name_alone() -> None:
    digits = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    assert secret_in_plain_text(thing(inputs={"environment": {"WANDB_API_KEY": digits}}), {}) is not None
    assert secret_in_plain_text(thing(inputs={"environment": {"TOKENIZER_REVISION": digits}}), {}) is None


def test_random_text_that_a_cloud_makes_up_is_no_free_text() -> None:
    assert secret_in_plain_text(thing(inputs={"hostedZone": "q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1A"}), {}) is None
    assert (
        secret_in_plain_text(thing(inputs={"settings": {"codeSha256": "q8Zt4LmX0vKcR7pNw2YsHd9JfB5gTe1A"}}), {}) is None
    )
