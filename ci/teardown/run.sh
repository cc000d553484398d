#!/bin/sh
# Starts `sizewell` with the arguments given. Only /tmp and the project's .sizewell are written to; the image's own files
# may be read-only. AWS_PROFILES is what stands in AWS_CONFIG_FILE: the identities that the task may become.
set -eu
export HOME=/tmp PULUMI_HOME=/tmp/pulumi XDG_CACHE_HOME=/tmp/cache PULUMI_SKIP_UPDATE_CHECK=true
mkdir -p "$PULUMI_HOME" "$XDG_CACHE_HOME"
ln -sfn "${SIZEWELL_PLUGINS:-/opt/plugins/plugins}" "$PULUMI_HOME/plugins"
if [ -n "${AWS_PROFILES:-}" ]; then
  mkdir -p "$(dirname "$AWS_CONFIG_FILE")"
  printf '%s' "$AWS_PROFILES" > "$AWS_CONFIG_FILE"
fi
# The image has no settings of its own: it takes those of a checkout that is mounted at /project, or those that were
# published last beside SIZEWELL_JOURNAL. Where they cannot be had, or are wrong, nothing runs.
cd /
if [ -e /project/Pulumi.yaml ]; then
  cd /project
else
  sizewell teardown fetch /tmp/project >&2
  cd /tmp/project
fi
exec sizewell "$@"
