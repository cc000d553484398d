"""The labelled timelines as documents: `timelines.yaml` says what is left out there."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "timelines.yaml").read_text(encoding="utf-8"))


def time(minutes: float) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


def document(case: dict[str, Any]) -> dict[str, Any]:
    """The JSON document of one case."""
    counted = case.get("counted", [[-480, 0, ["a", "b"]]])
    devices = [f"{machine}/{number}" for machine in "ab" for number in range(4)]
    guard = {
        "signal": case.get("signal", "accelerator_utilization"),
        "window_s": 60 * case.get("window_m", 45),
        "grace_s": 60 * case.get("grace_m", 60),
        "action": case.get("action", "scale-to-zero"),
    }
    jobs = [
        {"name": job["name"], "state": job["state"], "since": time(job.get("until", job["since"]))}
        for job in case.get("jobs", [])
    ]
    requests = case.get("requests")
    pool = {
        "name": "train",
        "accelerators_per_machine": 4,
        "counted": [{"start": time(a), "end": time(b), "machines": names} for a, b, names in counted],
        "nodes_min": case.get("nodes_min", 0),
        "capacity": case.get("capacity", "on-demand"),
        "guard": guard,
        "utilization_percent": {
            **samples(case["use"], devices, case.get("lost", {})),
            **samples(case.get("more", {}), list(case.get("more", {})), {}),
        },
        "period_s": case.get("period_s", 60),
        "power_w": samples(case.get("power", {}), devices, {}),
        "processes": samples(case.get("processes", {}), devices, {}),
        "memory_percent": samples(case.get("memory", {}), devices, {}),
        "sm_percent": samples(case.get("sm", {}), devices, {}),
        "idle_power_w": case.get("idle_power_w"),
        "requests_per_s": None if requests is None else [[time(a), time(b), value] for a, b, value in requests],
        "jobs": jobs,
        "queue": case.get("queue", "asked"),
        "late_s": 60 * case.get("late_m", 0),
        "saves": [time(save) for save in case.get("saves", [])],
        "parts": [time(part) for part in case.get("parts", [])],
        "notices": notices(case.get("notices", [-70])),
        "wakes": [time(wake) for wake in case.get("wakes", [])],
        "emptied": [time(at) for at in case.get("emptied", [])],
        "episodes": episodes(case.get("episodes", [])),
        "contradictions": [{**each, "at": time(each["at"])} for each in case.get("contradictions", [])],
        "uncounted": [time(at) for at in case.get("uncounted", [])],
        "usd_per_hour": 31.4,
    }
    if "checkpoint_interval_m" in case:
        pool["checkpoint_interval_s"] = 60 * case["checkpoint_interval_m"]
    return {
        "schema": "sizewell.timeline/1",
        "stack": case.get("stack_name", "dev-aws"),
        "environment": case.get("environment", "dev"),
        "created": time(case.get("created", min(-43200, counted[0][0]))),
        "expires_at": case.get("expires_at"),
        "protected": case.get("protected"),
        "leases": case.get("leases", []),
        "notices": notices(case.get("stack_notices", [])),
        "receivers": case.get("receivers"),
        "updates": [
            {
                "by": "ana@laptop",
                **each,
                "since": time(each["since"]),
                **({"until": time(each["until"])} if "until" in each else {}),
            }
            for each in case.get("updates", [])
        ],
        "updated": [time(update) for update in case.get("updated", [])],
        "pending": case.get("pending", []),
        "dependents": case.get("dependents", []),
        "unproved": case.get("unproved", ""),
        "episodes": episodes(case.get("stack_episodes", [])),
        "pools": [pool],
        "steps": [NOON.isoformat()],
    }


def episodes(given: list[list[float]]) -> list[dict[str, str]]:
    return [{"since": time(since), "until": time(until)} for since, until in given]


def notices(given: list[Any]) -> list[Any]:
    """Minutes, or {at: minutes, due: minutes, about, heard}."""
    return [
        {key: time(value) if key in ("at", "due") else value for key, value in notice.items()}
        if isinstance(notice, dict)
        else time(notice)
        for notice in given
    ]


def samples(use: dict[str, Any], devices: list[str], lost: dict[str, float]) -> dict[str, list[Any]]:
    """The samples of each accelerator: what is said of it, of its machine or of all, in that order."""
    made: dict[str, list[Any]] = {}
    for device in devices:
        runs = next((use[key] for key in keys(device) if key in use), None)
        share = next((lost[key] for key in keys(device) if key in lost), 0.0)
        if runs is not None:
            said = [[time(a), time(b), value] for a, b, value in runs if a < b]  # a drawn run may be of no length
            made[device] = thinned(runs, share) if share else said
    return made


def keys(device: str) -> tuple[str, str, str]:
    return device, f"{device.partition('/')[0]}/*", "*"


def thinned(runs: list[Any], share: float) -> list[Any]:
    """Single samples, of which a share is missing, spread evenly."""
    count = itertools.count(1)
    return [
        [time(minute), value]
        for start, end, value in runs
        for minute in range(start, end)
        for number in [next(count)]
        if int(number * share) == int((number - 1) * share)
    ]
