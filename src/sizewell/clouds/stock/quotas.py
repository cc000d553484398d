"""Quotas beside stock: what exceeds one cannot be had, whatever there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sizewell.clouds.preflight.findings import Finding
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock.rows import Answers, Question, Row

Said = Iterable[tuple[Finding, tuple[str, ...]]]  # of each quota, and the pools that take of it


def quota_questions(
    needs: Needs, rights: tuple[str, ...], ask: Callable[[str, list[Machines]], Said]
) -> dict[str, Question]:
    """For each region whether its quotas are large enough for the stack's pools there."""

    def short(region: str) -> list[tuple[str, str, tuple[str, ...]]]:
        said = ask(region, _local(needs, region))
        return [(row.detail, row.fix, pools) for row, pools in said if row.state == "wrong"]

    asked = [region for region in needs.regions if _local(needs, region)]
    return {
        _name(needs, region): Question("quotas", rights, lambda r=region: short(r))  # type: ignore[misc]
        for region in asked
    }


def _local(needs: Needs, region: str) -> list[Machines]:
    return [each for each in needs.machines if each.region == region and not each.fallback]


def _name(needs: Needs, region: str) -> str:
    """With the number of each, so that a kept answer is that of the same stack."""
    wanted = (f"{m.count} {m.market} {m.instance_type} ({m.pool} {m.reservation})" for m in _local(needs, region))
    return f"quotas of {region} of {needs.stack} for {', '.join(wanted)}"


def beyond(rows: Sequence[Row], machines: Machines, needs: Needs, got: Answers) -> list[Row]:
    """The rows of a pool, unavailable where one of its quotas is too small for the pools of the stack together."""
    said = got.get(_name(needs, machines.region))
    short = [] if machines.fallback or said is None else said.data or []
    for detail, fix, pools in short:
        if machines.pool in pools and said is not None:
            told = {"detail": f"beyond a quota: {detail}", "fix": fix, "sources": ("quotas",), "asked_at": said.at}
            return [
                row if row.state == "unavailable" else replace(row, state="unavailable", failed=False, **told)
                for row in rows
            ]
    return list(rows)
