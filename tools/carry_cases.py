"""Carry measured figures into the project as cases: compact, one per line, with their sources.

    python tools/carry_cases.py FOLDER    reads FOLDER/*.json (lists of cases), writes them compact
    python tools/carry_cases.py           writes published/trainer.json from benchmarks/measured/trainer_h100.jsonl

Figures, models, hardware, workloads and sources are kept as published; addresses that follow from repository, commit
and path are left out. Parts of one publication are one source (`_PARTS`), and like rows of it share a weight.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.trainer_memory import EXPERTS, SHAPES, UNGATED

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src/sizewell/accuracy/published"
MEASURED = ROOT / "benchmarks/measured/trainer_h100.jsonl"
_DROPPED = frozenset({"split", "unseen_source", "verify"})
_PARTS = ("qwen-readme", "gist-deepspeed", "nim")  # what the source families of parts of one publication begin with
_FAMILIES = {"A100": "nvidia-ampere", "H100": "nvidia-hopper"}


def compact(case: dict[str, Any]) -> dict[str, Any]:
    """The case without what is empty or follows from the rest."""
    kept = {key: value for key, value in case.items() if key not in _DROPPED and value is not None}
    for part in ("model", "hardware", "workload", "also"):
        if part in kept:
            kept[part] = {key: value for key, value in kept[part].items() if value is not None}
    source = dict(kept["source"])
    source.pop("verify", None)
    if source.get("repo") and source.get("path") and source.get("commit"):
        source.pop("url", None)
    kept["source"] = {key: value for key, value in source.items() if value is not None}
    family = str(kept.get("source_family") or "")
    kept["source_family"] = next((part for part in _PARTS if family.startswith(f"{part}-")), family)
    kept["hw_family"] = kept.get("hw_family") or _FAMILIES.get(str(kept["hardware"]["device"]).split("-")[0], "")
    return kept


def weighted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of files that weigh none of them, each by the size of its group: no long table outvotes others."""
    if any(row.get("weight", 1) != 1 for row in rows):
        return rows
    of = Counter(row["group"] for row in rows)
    return [{**row, "weight": round(1 / of[row["group"]], 4)} for row in rows]


def measured(path: Path, family: str) -> Iterator[dict[str, Any]]:
    """Two cases of each run of the Trainer: what it took of the device at its peak, and the seconds of a step."""
    seen: set[tuple[str, ...]] = set()
    written: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if "error" in run or run["case"] in written:
            continue
        written.add(run["case"])
        for metric, value, unit in (
            ("peak_memory_per_device", round(run["peak_device"] / 1e9, 3), "GB"),
            ("step_time_s", run["step_s"], "s"),
        ):
            first = (run["model"], run["method"], str(run["zero"]), metric)
            yield {
                "id": f"h100-{run['case']}" + ("-s" if unit == "s" else ""),
                "gradeable": True,
                "core": first not in seen,
                "tier": "A",
                "kind": f"finetune_{run['method']}",
                "metric": metric,
                "value": value,
                "unit": unit,
                "also": {
                    "allocated_gb": round(run["peak_allocated"] / 1e9, 3),
                    "reserved_gb": round(run["peak_reserved"] / 1e9, 3),
                }
                if unit == "GB"
                else {},
                "model": _model(run["model"]),
                "hardware": {"device": "H100-SXM-80GB", "count": 1, "mem_gb": 80, "per_node": 1},
                "workload": _workload(run),
                "source": {
                    "title": "Runs of transformers' Trainer on one H100",
                    "path": str(path.relative_to(ROOT)),
                },
                "uncertainty": "seconds on a shared host, whose processors launch the kernels" if unit == "s" else "",
                "source_family": family,
                "hw_family": "nvidia-hopper",
                "group": f"{family}-{run['method']}-{metric}",
            }
            seen.add(first)


def _model(name: str) -> dict[str, Any]:
    if name == "gpt2-xl":
        return {"name": name}
    family, hidden, layers, heads, kv_heads, head_dim, ffn, vocab, tied = SHAPES[name]
    many, chosen = EXPERTS.get(name, (0, 0))
    experts = {"num_experts": many, "experts_per_tok": chosen, "moe_ffn": ffn} if many else {}
    gated = family not in UNGATED
    shape = {"layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim}
    return {"name": name, **shape, "ffn": ffn, "ffn_gated": gated, "vocab": vocab, "tied_embeddings": tied, **experts}


def _workload(run: dict[str, Any]) -> dict[str, Any]:
    by = run.get("by", "trainer")
    every = run["targets"] is None or isinstance(run["targets"], str)
    adapter = {"lora_rank": run["rank"], "lora_targets": "all linear" if every else "q and v"} if run["rank"] else {}
    return {
        "method": {"full": "Full finetune", "lora": "LoRA", "qlora": "QLoRA"}[run["method"]],
        "seq_len": run["seq"],
        "micro_batch": run["batch"] * (2 if by in ("dpo", "reward") else 1),
        "grad_accum": run["accum"],
        "precision": _precision(run),
        "parallelism": {"zero": run["zero"]} if run["zero"] else {},
        "activation_checkpointing": run["gc"],
        "optimizer": run["optim"],
        **({"quantization": "nf4-dq"} if run["method"] == "qlora" else {}),
        **adapter,
        **({"attention": "eager"} if run["attn"] == "eager" else {}),
        **({"preference": by} if by not in ("trainer", "sft") else {}),
        **({"packed": False} if run.get("varying") else {}),
        **({"compile": True} if run.get("compiled") else {}),
        "engine": _engine(run, by),
    }


def _engine(run: dict[str, Any], by: str) -> str:
    if run["zero"]:
        return "deepspeed"
    return "trl" if by != "trainer" else "liger" if run.get("liger") else "transformers"


def _precision(run: dict[str, Any]) -> str:
    computes = run.get("computes", "bf16")
    if computes != "bf16":
        return "autocast to fp16" if computes == "fp16" else "fp32"
    if run["zero"] or run["method"] == "qlora":
        return "bf16"
    if run["weights"] == "fp32":
        return "autocast to bf16"
    return "bf16" if run["method"] == "lora" else "bf16-true"  # PEFT makes adapters of 16-bit models in fp32


def main(folder: str = "") -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    if not folder:
        write("trainer.json", list(measured(MEASURED, "trainer-h100")))
        return
    for path in sorted(Path(folder).glob("*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(rows, list) and rows and "metric" in rows[0]:
            write(path.name.replace("_truth", ""), rows)


def write(name: str, rows: list[dict[str, Any]]) -> None:
    lines = [
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in weighted([compact(row) for row in rows])
    ]
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"{(OUT / name).relative_to(ROOT)}: {len(rows)} cases")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit("usage: python tools/carry_cases.py [FOLDER]")
    main(*sys.argv[1:])
