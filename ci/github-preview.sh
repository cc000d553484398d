#!/usr/bin/env bash
# The steps of action.yml. Everything that a pull request chose comes in through the environment, never as script text.
set -euo pipefail

bin="$HERE/.venv/bin"
if [[ -n "${PROJECT_PYTHON:-}" ]]; then # relative to the project; a virtual environment's Python stands beside its commands
  bin="$(cd "$(dirname "$PROJECT_PYTHON")" && pwd)"
fi

case "$1" in
  key)
    # An environment is reused where its path, its interpreter and what is installed in it are the same.
    version="$(python3 -c 'import platform, sys; print(sys.prefix, platform.platform(), sys.version)')"
    digest="$(printf '%s\n' "$HERE" "$version" | cat - "$HERE"/requirements/*.txt "$HERE/pyproject.toml" | sha256sum)"
    printf 'key=sizewell-%s\n' "${digest%% *}" >> "$GITHUB_OUTPUT"
    ;;

  setup)
    if [[ -z "${PROJECT_PYTHON:-}" ]]; then
      # the checkout is newer than what the cache brought back, which was made of the same files
      [[ "${CACHE_HIT:-}" != true || ! -e "$HERE/.venv/.setup-done" ]] || touch "$HERE/.venv/.setup-done"
      make --quiet -C "$HERE" setup
    else
      "$bin/python" -P -m pip install --quiet --disable-pip-version-check "$HERE"
    fi
    ;;

  reason)
    # Who may let a change pass: somebody who may write here and did not ask for it, for this commit alone, in a comment
    # `/sizewell unblock COMMIT REASON`.
    reason="$("$bin/python" -P -m sizewell.preview.comment reason --repository "$GITHUB_REPOSITORY" --number "$NUMBER" \
      --commit "${COMMIT:-}" --requested-by "${REQUESTED_BY:-}")" || reason=""
    printf 'reason=%s\n' "${reason//[$'\r\n']/ }" >> "$GITHUB_OUTPUT"
    ;;

  preview)
    directory="$(mktemp -d "${RUNNER_TEMP:-/tmp}/sizewell-preview-XXXXXX")"
    printf 'directory=%s\n' "$directory" >> "$GITHUB_OUTPUT"
    read -r -a stacks <<< "${STACKS:-}"
    options=()
    if [[ -n "${PLAN:-}" ]]; then # the engine has said what stands and what will
      read -r -a plans <<< "$PLAN"
      for plan in "${plans[@]}"; do options+=("--plan=$plan"); done
      [[ -z "${BASE:-}" ]] || options+=("--judge=$BASE")
    elif [[ -n "${BASE:-}" ]]; then
      options+=("--base=$BASE")
    fi
    [[ "${CHECK_DECISIONS:-true}" != true ]] || options+=("--check-decisions")
    [[ "${NEW_ONLY:-false}" != true ]] || options+=("--new-only")
    [[ -z "${GUARDRAILS:-}" ]] || options+=("--guardrails=$GUARDRAILS")
    [[ -z "${USAGE:-}" ]] || options+=("--usage=$USAGE")
    [[ -z "${DISCOUNTS:-}" ]] || options+=("--discounts=$DISCOUNTS")
    [[ -z "${REASON:-}" ]] || options+=("--unblock=$REASON")
    code=0
    "$bin/sizewell" preview "${options[@]}" --format json --output "$directory/preview.json" -- "${stacks[@]}" || code=$?
    [[ "$code" != 0 || -s "$directory/preview.json" ]] || code=69 # the program ended the process: nothing is judged
    printf 'exit-code=%s\n' "$code" >> "$GITHUB_OUTPUT"
    if [[ ! -s "$directory/preview.json" ]]; then
      echo "::error::sizewell preview has no result (exit code $code); its message is above"
      exit "$code"
    fi
    "$bin/python" -P -m sizewell.preview.render "$directory/preview.json" \
      --markdown "$directory/preview.md" --html "$directory/preview.html" --focus "$directory/preview.csv"
    cat "$directory/preview.md" >> "$GITHUB_STEP_SUMMARY"
    ;;

  comment)
    options=()
    [[ "${READ_ONLY:-false}" != true ]] || options+=(--read-only)
    "$bin/python" -P -m sizewell.preview.comment post --repository "$GITHUB_REPOSITORY" --number "$NUMBER" \
      --body "$DIRECTORY/preview.md" "${options[@]}"
    ;;

  result)
    [[ "${CODE:-0}" == 0 ]] || echo "::error::the preview ends with exit code $CODE; the summary says why"
    exit "${CODE:-0}"
    ;;

  *)
    echo "usage: $0 key | setup | reason | preview | comment | result" >&2
    exit 64
    ;;
esac
