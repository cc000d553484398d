"""One run for two clusters in order: a script that submits it to the first and, while that one's queue has no room for
so long, to the second. Pure.

For a baseline whose cluster can have no machines of another cloud, as CoreWeave's; where it can, one queue does this by
itself (`components/bursting.py`). The script is a shell's, as that for sbatch, and keeps no state of its own. What it
has done stands in the first cluster: before anything is made in the second, the run's Workload is deactivated there
(`spec.active: false`), which Kueue never admits again, and takes down where it was admitted in the meantime; then the
script waits for the last pod. So a script that was interrupted, or that two people start, goes on where it was, and
the run is in one place at a time.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

from sizewell.launch.jobs import QUEUE_LABEL
from sizewell.launch.launch import Launch
from sizewell.launch.manifests import as_yaml, manifests
from sizewell.sizing.errors import ConfigError, Fault

KINDS: Final = ("training", "fine-tuning")
STORE: Final = "SIZEWELL_CHECKPOINT_URI"
JOBSETS: Final = "jobsets.jobset.x-k8s.io"
WORKLOADS: Final = "workloads.kueue.x-k8s.io"
UNAVAILABLE: Final = 69


def script(first: Launch, second: Launch, *, after_s: int) -> str:
    """The script; ConfigError where the two cannot be the same run, or the first has no queue that could be full."""
    made = [manifests(launch) for launch in (first, second)]
    _possible((first, second), made)
    names = [launch.plan.stack for launch in (first, second)]
    mine, theirs = first.name, first.run.namespace
    owner = f"{{range .items[?(@.metadata.ownerReferences[0].name=='{mine}')]}}{{.metadata.name}}"
    state = "{.metadata.creationTimestamp}|{.spec.suspend}|{.status.terminalState}"
    age = "import sys, datetime as d; now = d.datetime.now(d.timezone.utc); since = sys.argv[1].replace('Z', '+00:00')"
    age += "; print(int((now - d.datetime.fromisoformat(since)).total_seconds()))"
    lines = [
        "#!/bin/bash",
        f"# {mine}: on {names[0]}, or where no room is within {after_s} s on {names[1]}; made by `sizewell launch`.",
        "# bash -s -- CONTEXT CONTEXT: kubectl's names of the two clusters. It may be interrupted and run again.",
        "set -uo pipefail",
        f"first=${{1:-{shlex.quote(names[0])}}}; second=${{2:-{shlex.quote(names[1])}}}; PAUSE=${{PAUSE:-15}}",
        'on() { kubectl --context "$@"; }',
        f'away() {{ echo "$first did not do that; nothing was changed: run this again" >&2; exit {UNAVAILABLE}; }}',
        f'state() {{ on "$first" get {JOBSETS} {mine} -n {theirs} --ignore-not-found -o jsonpath="{state}"; }}',
        "workload() {  # Kueue's record of the run, and whether it may be admitted",
        f'  on "$first" get {WORKLOADS} -n {theirs} -o jsonpath="{owner}|{{.spec.active}}{{end}}"',
        "}",
        "look() {",
        "  found=$(state) && record=$(workload) || return 1",
        "  IFS='|' read -r since suspended ended <<<\"$found\"; IFS='|' read -r name active <<<\"$record\"",
        "}",
        f'waited() {{ python3 -c "{age}" "$since"; }}',
        f'pods() {{ on "$first" get pods -n {theirs} -l jobset.sigs.k8s.io/jobset-name={mine} -o name; }}',
        *_documents("here", made[0]),
        *_documents("there", made[1]),
        "",
        "both() {  # whether the second has it, which it never has before the first gave it up",
        f'  taken=$(on "$second" get {JOBSETS} {second.name} -n {second.run.namespace} --ignore-not-found -o name) ||',
        f'    {{ echo "$second did not respond: nothing was changed" >&2; exit {UNAVAILABLE}; }}',
        '  [ -n "$taken" ] || return 1',
        '  if [ -n "$found" ] && [ "$active" != false ]; then',
        f'    echo "{mine} is on $first and on $second: delete one of the two" >&2; exit 1',
        "  fi",
        "}",
        "main() {  # read as a whole: nothing that it starts can take lines of a script that comes through a pipe",
        "  look || away",
        f'  if both; then echo "{second.name} is on $second"; exit 0; fi',
        '  if [ -z "$found" ]; then here | on "$first" apply -f - || away; fi',
        "  while true; do",
        "    look || away",
        f'    [ -n "$found" ] || {{ echo "{mine} was deleted from $first" >&2; exit 1; }}',
        f'    if [ -n "$ended" ]; then echo "{mine} ended on $first: $ended"; [ "$ended" = Completed ]; exit; fi',
        '    [ "$active" != false ] || break  # an earlier start of this script gave it up there',
        f'    if [ "$suspended" != true ]; then echo "{mine} runs on $first"; exit 0; fi',
        f'    if [ -n "$name" ] && [ "$(waited)" -ge {after_s} ]; then',
        f'      on "$first" patch {WORKLOADS} "$name" -n {theirs} --type merge \\',
        '        -p \'{"spec":{"active":false}}\' || away',
        "      break",
        "    fi",
        '    sleep "$PAUSE"',
        "  done",
        "  # Kueue may have admitted it a moment before: it is taken down then, and saves.",
        '  until look && [ "${suspended:-true}" = true ] && left=$(pods) && [ -z "$left" ]; do sleep "$PAUSE"; done',
        f'  there | on "$second" apply -f - || exit {UNAVAILABLE}',
        f'  echo "{second.name} is submitted to $second"',
        "}",
        "main </dev/null",
        "",
    ]
    return "\n".join(lines)


def _documents(name: str, objects: Sequence[dict[str, object]]) -> list[str]:
    return [f"{name}() {{", "  cat <<'MANIFESTS'", as_yaml(objects).rstrip("\n"), "MANIFESTS", "}"]


def _possible(both: Sequence[Launch], made: Sequence[list[dict[str, Any]]]) -> None:
    wrong: list[Fault] = []
    for launch, objects in zip(both, made, strict=True):
        if launch.plan.kind not in KINDS or not any(one["kind"] == "JobSet" for one in objects):
            message = (
                f"is {launch.plan.kind} by {launch.plan.scheduler}: only training and fine-tuning as a JobSet move"
            )
            wrong.append(
                Fault(path=f"{launch.plan.stack}: {launch.plan.name}", message=message, fix="leave --then out")
            )
    if wrong:
        raise ConfigError(wrong, subject="launch --then")
    first, second = both
    jobs = [next(one for one in objects if one["kind"] == "JobSet") for objects in made]
    if not jobs[0]["metadata"]["labels"].get(QUEUE_LABEL):
        message = "has no queue, which would say whether there is room"
        fix = "set sizewell:cluster.queue, or let the stack install Kueue (sizewell:cluster.operators)"
        wrong.append(Fault(path=f"{first.plan.stack}: {first.plan.name}", message=message, fix=fix))
    stores = [_variables(job).get(STORE, "") for job in jobs]
    if stores[0] != stores[1]:
        message = f"saves to {stores[1] or 'no store'}, and {first.plan.stack} to {stores[0] or 'no store'}"
        fix = "set sizewell:cluster.store of the adopted cluster to the other's store, and the same prefix"
        wrong.append(Fault(path=f"{second.plan.stack}: {second.plan.name}", message=message, fix=fix))
    if first.run.suspend:
        wrong.append(Fault(path=f"run.{first.plan.name}.suspend", message="keeps the run from its queue", fix="false"))
    if wrong:
        raise ConfigError(wrong, subject="launch --then")


def _variables(job: dict[str, Any]) -> dict[str, str]:
    pod = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return {one["name"]: one.get("value", "") for one in pod["containers"][0].get("env", ())}
