"""How a job of GitHub logs in to Nimbus."""

from __future__ import annotations

from typing import Final

from sizewell.teardown.login import ISSUER, Login

LOGIN: Final = Login(
    audience="nimbus.example",
    settings={"NIMBUS_TOKEN": "/token/nimbus"},
    variables={},
    trust=lambda subject: {"issuer": ISSUER, "subject": subject},
    reads="NIMBUS_ROLE",
    deletes=("NIMBUS_ROLE", "NIMBUS_PROJECT"),
)
