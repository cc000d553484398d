"""What secrets look like, in whatever text they stand."""

from __future__ import annotations

import re
from typing import Final

SHAPES: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:hf_|gh[oprsu]_|github_pat_|gl(?:pat|rt|dt)-|sk-proj-|sk-ant-|sk-or-|[rs]k_live_|xox[baprs]-|AIza|nvapi-"
    r"|npm_|pypi-|dop_v1_|shpat_)[A-Za-z0-9_-]{16,}"
    r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=]{40,}"
    r"|[?&]sig=[A-Za-z0-9%+/]{30,}"
    r"|hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"
    r"|discord(?:app)?\.com/api/webhooks/\d{10,}/[A-Za-z0-9_-]{30,}"
    r"|\bBearer\s+eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|aws_secret_access_key\s*[=:]\s*[A-Za-z0-9/+]{32,}",
    re.IGNORECASE,
)
# A connection that carries its password; a placeholder stands in brackets or behind a dollar or percent sign.
CONNECTION: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,64}:([^\s:/@$<>{}%]{6,128})@[\w.-]+", re.IGNORECASE
)
