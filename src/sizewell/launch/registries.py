"""How a machine logs in to its cloud's own registry with the identity that it has there: lines of a shell. Pure."""

from __future__ import annotations

from typing import Final

from sizewell.sizing.providers.cloud import PerCloud

LOGINS: Final = PerCloud[tuple[str, ...]](
    aws=(
        "login() {  # ECR: the machine's role",
        '  [[ "$image" =~ ^([0-9]+\\.dkr\\.ecr\\.([a-z0-9-]+)\\.amazonaws\\.com(\\.cn)?)/ ]] || return 0',
        '  aws ecr get-login-password --region "${BASH_REMATCH[2]}" |',
        '    docker login --username AWS --password-stdin "${BASH_REMATCH[1]}" >/dev/null',
        "}",
    ),
    azure=(
        "login() {  # ACR: the machine's identity, exchanged for a token of the registry",
        '  [[ "$image" =~ ^([a-z0-9]+\\.azurecr\\.io)/ ]] || return 0',
        "  local host=${BASH_REMATCH[1]} imds=http://169.254.169.254/metadata/identity/oauth2/token token",
        "  token=$(curl -sf -H Metadata:true --noproxy '*' \\",
        '    "$imds?api-version=2018-02-01&resource=https://management.azure.com/" | jq -r .access_token) &&',
        '    token=$(curl -sf --data-urlencode "grant_type=access_token" --data-urlencode "service=$host" \\',
        '      --data-urlencode "access_token=$token" "https://$host/oauth2/exchange" | jq -r .refresh_token) &&',
        "    docker login --username 00000000-0000-0000-0000-000000000000 --password-stdin \\",
        '      "$host" <<<"$token" >/dev/null',
        "}",
    ),
    gcp=(
        "login() {  # Artifact Registry: the machine's service account",
        '  [[ "$image" =~ ^([a-z0-9-]+-docker\\.pkg\\.dev)/ ]] || return 0',
        "  curl -sf -H Metadata-Flavor:Google --noproxy '*' \\",
        "    http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token |",
        "    jq -r .access_token | docker login --username oauth2accesstoken --password-stdin \\",
        '      "https://${BASH_REMATCH[1]}" >/dev/null',
        "}",
    ),
)
