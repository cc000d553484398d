"""What the training scripts share: settings, signals and deadline, the loop that saves and resumes, exit codes."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import errno
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from checkpoint import Block, Comm, Manifest, load, save
from store import RefusedError, Store, StoreError, connect

DONE, WRONG_INPUT, STORE_DOWN, AGAIN, OVER = 0, 64, 69, 75, 76
TRIES = 3  # saves that may fail one after another before the run ends
ALL_LINEAR = "all-linear"  # peft's word for every matrix but the output head
# What other models of transformers have where Llama has these (models/*/modeling_*.py of transformers 5.24): one matrix
# that several are parts of, else another name. What is too short to be told apart has its parent's name before it.
_WHOLE = ("qkv_proj", "query_key_value", "Wqkv", "c_attn")
ELSEWHERE = {
    "q_proj": _WHOLE,
    "k_proj": _WHOLE,
    "v_proj": _WHOLE,
    "o_proj": ("out_proj", "attn.c_proj", "self_attn.dense", "attention.dense", "self_attention.dense"),
    "gate_proj": ("gate_up_proj",),
    "up_proj": ("gate_up_proj", "dense_h_to_4h", "fc1", "fc_in", "c_fc"),
    "down_proj": ("dense_4h_to_h", "fc2", "fc_out", "mlp.c_proj"),
}
MARGIN = 1.2  # a save is tried where the last one took less than the time left, with this to spare


class WrongInputError(Exception):
    """A setting that cannot be: exit code 64, no repetition mends it."""


def _setting(default: Any, text: str, *choices: str) -> Any:
    return field(default=default, metadata={"help": text, "choices": choices or None})


@dataclass(frozen=True)
class Settings:
    """Every setting of a run: `--name-of-it`, or SIZEWELL_NAME_OF_IT in the environment."""

    checkpoint_uri: str = _setting("", "where this run's checkpoints go; the same prefix resumes it")
    lock_days: int = _setting(0, "on gs://: nothing saved is deleted sooner; other stores lock by themselves")
    checkpoint_interval_s: float = _setting(900.0, "seconds between saves")
    checkpoint_steps: int = _setting(0, "also save every so many steps; 0: by time only")
    grace_s: float = _setting(30.0, "seconds from SIGTERM or notice to the end of the machine")
    deadline: str = _setting("", "ISO time before which the run saves and ends")
    time_limit_s: float = _setting(0.0, "seconds of running, over all starts, after which it saves and ends; 0: none")
    notice_file: str = _setting("", "a file that counts as SIGTERM once it exists")
    data: str = _setting("synthetic", "folder of token shards (path or URI), or synthetic")
    data_cache: str = _setting("", "where shards of a store are copied to")
    model: str = _setting("", "Hugging Face model: name, folder or config.json; empty: the built-in transformer")
    dimensions: str = _setting("layers=2,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=256", "of the built-in transformer")
    method: str = _setting(
        "pretrain", "pretrain: weights at random; full, lora: from the model's", "pretrain", "full", "lora"
    )
    lora_rank: int = _setting(16, "rank of the adapters of --method lora")
    lora_targets: str = _setting(
        ALL_LINEAR, "matrices with adapters: all-linear, or names of modules, as q_proj,v_proj"
    )
    precision: str = _setting("bf16", "of the computation; weights and optimizer state are fp32", "bf16", "fp32")
    sequence_length: int = _setting(1024, "tokens of a sample")
    samples_per_step: int = _setting(8, "samples of an optimizer step, over all processes")
    steps: int = _setting(1000, "optimizer steps of the run")
    micro_batch: int = _setting(1, "samples at once on a device")
    tensor: int = _setting(1, "devices that split each matrix")
    pipeline: int = _setting(1, "must be 1 here")
    context: int = _setting(1, "must be 1 here")
    expert: int = _setting(1, "must be 1 here")
    zero_stage: int = _setting(3, "0 copies everything, 1 and 2 keep whole weights between passes, 3 shards them")
    shard_group: int = _setting(0, "devices that share one sharded copy; 0: all")
    no_sync: int = _setting(0, "1: reduce sharded gradients in the last micro-batch alone, whole until then")
    checkpointing: str = _setting("none", "of activations", "none", "selective", "full")
    learning_rate: float = _setting(3e-4, "peak of the schedule")
    warmup_steps: int = _setting(100, "steps to the peak; after it a cosine to a tenth")
    weight_decay: float = _setting(0.1, "of matrices")
    clip: float = _setting(1.0, "largest norm of the gradient; 0: none")
    dropout: float = _setting(0.0, "of the built-in transformer")
    seed: int = _setting(0, "of weights, order of samples and dropout")
    log: str = _setting("", "file that gets one JSON line per step")

    def sizes(self) -> dict[str, int]:
        """The dimensions of the built-in transformer, by name, with what follows from the others filled in.

        >>> Settings(dimensions="layers=2,hidden=64,heads=4,vocab=256").sizes()["ffn"]
        256
        """
        given = self.dimensions or Settings.dimensions
        try:
            sizes = {key.strip(): int(value) for key, value in (each.split("=") for each in given.split(","))}
        except ValueError:
            raise WrongInputError(f"dimensions {given!r}: write layers=2,hidden=64,heads=4,vocab=256") from None
        known = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab")
        wrong = [key for key in sizes if key not in known or sizes[key] < 1]
        missing = [key for key in ("layers", "hidden", "heads", "vocab") if key not in sizes]
        if wrong or missing:
            raise WrongInputError(
                f"dimensions {given!r}: wrong {wrong}, missing {missing}; there are {', '.join(known)}"
            )
        sizes.setdefault("kv_heads", sizes["heads"])
        sizes.setdefault("head_dim", sizes["hidden"] // sizes["heads"])
        sizes.setdefault("ffn", 4 * sizes["hidden"])
        if sizes["heads"] % sizes["kv_heads"] or sizes["head_dim"] % 2:
            raise WrongInputError(f"dimensions {given!r}: kv_heads must divide heads, and head_dim must be even")
        return sizes

    def identity(self) -> dict[str, object]:
        """What makes it this run: a checkpoint with another value is of another run."""
        kept = ("data", "sequence_length", "model", "dimensions", "method", "seed")
        if self.method == "lora":
            kept = (*kept, "lora_rank")
            if self.lora_targets != ALL_LINEAR:  # what is not named is in no checkpoint of before it could be chosen
                kept = (*kept, "lora_targets")
        return {key: getattr(self, key) for key in kept if not (key == "dimensions" and self.model)}

    def adapted(self, matrices: Iterable[str]) -> str | list[str]:
        """What peft's `target_modules` is, of a model with these matrices; q_proj and its like are found under the
        model's own names. peft itself passes over a name that it does not find as long as it finds another, and would
        train less than was asked for.
        """
        if self.lora_targets == ALL_LINEAR:
            return ALL_LINEAR
        names = [f".{name}" for name in matrices]
        wanted = [each.strip() for each in self.lora_targets.split(",") if each.strip()]
        found = {
            each: next(
                (own for own in (each, *ELSEWHERE.get(each, ())) if any(n.endswith(f".{own}") for n in names)), ""
            )
            for each in wanted
        }
        there = {name.rpartition(".")[2] for name in names}
        if missing := [each for each, own in found.items() if not own] or (not wanted and ["nothing"]):
            raise WrongInputError(
                f"lora_targets {self.lora_targets!r}: no matrix of this model is named {', '.join(missing)}; there are "
                f"{', '.join(sorted(there))}, and {ALL_LINEAR} for all but the output head"
            )
        return list(dict.fromkeys(found.values()))

    def rate(self, step: int) -> float:
        """Learning rate of a step: linear to the peak, then a cosine to a tenth of it."""
        import math

        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        share = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        return self.learning_rate * (0.55 + 0.45 * math.cos(math.pi * min(1.0, share)))


def read_settings(argv: Sequence[str] | None = None) -> Settings:
    """Settings from arguments and environment; WrongInputError with all faults at once."""
    parser = argparse.ArgumentParser(
        description="Train; resume from the newest checkpoint of the same prefix.", allow_abbrev=False
    )
    for each in fields(Settings):
        parser.add_argument(
            f"--{each.name.replace('_', '-')}", help=f"{each.metadata['help']} (default {each.default!r})"
        )
    given, wrong = {}, []
    parsed, unknown = parser.parse_known_args(argv)
    wrong += [f"{word}: no such argument" for word in unknown if word.startswith("--")]
    wrong += [f"{word}: an argument without a name" for word in unknown if not word.startswith("--")]
    for each in fields(Settings):
        text = getattr(parsed, each.name)
        origin = f"--{each.name.replace('_', '-')}"
        if text is None:
            origin = f"SIZEWELL_{each.name.upper()}"
            text = os.environ.get(origin) or None
        if text is None:
            continue
        try:
            given[each.name] = type(each.default)(text)
        except ValueError:
            wrong.append(f"{origin}: must be a number, got {text!r}")
            continue
        choices = each.metadata["choices"]
        if choices and text not in choices:
            wrong.append(f"{origin}: must be one of {', '.join(choices)}, got {text!r}")
        low = 0 if each.name in ("checkpoint_steps", "zero_stage", "shard_group", "warmup_steps", "seed") else 1
        if isinstance(each.default, int) and given[each.name] < low:
            wrong.append(f"{origin}: must be {low} or more, got {text}")
    settings = Settings(**given)
    if not settings.checkpoint_uri:
        wrong.append(
            "SIZEWELL_CHECKPOINT_URI: is missing; a run without a store would start from nothing after every stop"
        )
    wrong += [
        f"{name}: {getattr(settings, name)}: these scripts split by data and tensor; a layout with {name} "
        "parallelism needs Megatron-LM, torchtitan or MaxText in its place"
        for name in ("pipeline", "context", "expert")
        if getattr(settings, name) > 1
    ]
    if settings.deadline:
        try:
            _moment(settings.deadline)
        except ValueError:
            wrong.append(f"SIZEWELL_DEADLINE: must be an ISO time as 2026-11-21T18:00:00Z, got {settings.deadline!r}")
    if wrong:
        raise WrongInputError("\n".join(wrong))
    return settings


def _moment(text: str) -> float:
    moment = dt.datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


class Stop:
    """Whether this process was told to end, how long it has left. SIGTERM sets a flag; the loop asks between steps."""

    def __init__(self, settings: Settings) -> None:
        self._grace_s = settings.grace_s
        self._notice = Path(settings.notice_file) if settings.notice_file else None
        self._deadline = _moment(settings.deadline) if settings.deadline else None
        self._limit_s = settings.time_limit_s
        self._began, self._ran_before_s = time.monotonic(), 0.0
        self._ends: float | None = None
        self.why = ""
        self.over = False  # the time is up: starting again would not help
        self.listen()

    def listen(self) -> None:
        """Hear SIGTERM, again if need be: what is started later may have put a handler of its own in place."""
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self._told("SIGTERM")

    def _told(self, why: str) -> None:
        if self._ends is None:
            self._ends, self.why = time.time() + self._grace_s, why

    def resumed(self, ran_s: float) -> None:
        """So many seconds of this run were used up by its earlier starts, as far as they were saved."""
        self._ran_before_s = ran_s

    def ran_s(self) -> float:
        """Seconds that this run has taken over all its starts; waiting for machines is none of them."""
        return self._ran_before_s + time.monotonic() - self._began

    def asked(self, ahead_s: float = 0.0) -> bool:
        """Whether to end now; `ahead_s`: what one more step and a save take, so that a deadline is met."""
        if self._notice is not None and self._notice.exists():
            self._told(f"notice in {self._notice}")
        if self._deadline is not None and self._ends is None and time.time() + ahead_s >= self._deadline:
            self._ends, self.why, self.over = self._deadline, "deadline", True
        if self._limit_s and self._ends is None and self.ran_s() + ahead_s >= self._limit_s:
            left_s = max(0.0, self._limit_s - self.ran_s())
            self._ends, self.why, self.over = time.time() + left_s, f"time limit of {self._limit_s:g} s", True
        return self._ends is not None

    def left_s(self) -> float:
        return float("inf") if self._ends is None else self._ends - time.time()


class Job(Protocol):
    """What a framework brings: its state as blocks, and one step."""

    def blocks(self) -> list[Block]:
        """The whole training state that this process holds."""

    def resumed(self, step: int) -> None:
        """The blocks were written; `step` optimizer steps are in them."""

    def step(self, step: int, first_sample: int) -> float:
        """One optimizer step on samples first_sample..; the mean loss over all processes."""

    def describe(self) -> dict[str, object]:
        """What else has to be the same in a run that resumes: size of the data, of the model."""


def train(settings: Settings, job: Job, comm: Comm, store: Store, stop: Stop) -> int:
    """Resume, train, save; the exit code."""
    say = _sayer(comm)
    identity = settings.identity() | job.describe()
    blocks = job.blocks()
    began = time.monotonic()
    manifest = load(store, comm, blocks, say, lambda candidate: _check(candidate, identity))
    step, sample = (manifest.meta["step"], manifest.meta["next_sample"]) if manifest else (0, 0)
    job.resumed(step)
    stop.resumed(manifest.meta.get("ran_s", 0.0) if manifest else 0.0)
    if manifest:
        say(
            f"resumed {manifest.name}: step {step}, sample {sample}, saved by {manifest.world} "
            f"processes, in {time.monotonic() - began:.1f} s"
        )
    else:
        say(f"no checkpoint at {store.uri}: starting")
    _sign_in(store, comm, settings, step)
    save_s = step_s = 0.0
    failed = 0
    saved_at = time.monotonic()
    saved = step
    while step < settings.steps:
        if comm.most(int(stop.asked(step_s + save_s * MARGIN))):
            why = stop.why or "another process was told to end"
            code = OVER if comm.most(int(stop.over)) else AGAIN
            if step == saved:
                say(f"{why}: ends at step {step}, which is saved")
                return code
            if comm.most(int(save_s * MARGIN > stop.left_s())):
                say(
                    f"{why}: a save took {save_s:.0f} s and {stop.left_s():.0f} s are left: "
                    f"ends at step {step}, saved is {saved}"
                )
                return code
            _save(settings, job, comm, store, step, sample, identity, stop.ran_s())
            say(f"{why}: saved step {step}, ends")
            return code
        now = time.monotonic()
        try:
            loss = job.step(step, sample)
        except WrongInputError as error:  # found in a sample that this process alone has seen
            error.args = (f"process {comm.rank}: {error}",)
            raise
        step, sample = step + 1, sample + settings.samples_per_step
        step_s = time.monotonic() - now
        _log(settings, comm, step, loss, step_s)
        due = time.monotonic() - saved_at >= settings.checkpoint_interval_s and comm.rank == 0
        due = due or (settings.checkpoint_steps and step % settings.checkpoint_steps == 0) or step == settings.steps
        if comm.most(int(due)):
            now = time.monotonic()
            try:
                manifest = _save(settings, job, comm, store, step, sample, identity, stop.ran_s())
            except RefusedError:
                raise
            except StoreError as error:
                failed += 1
                say(f"step {step} was not saved ({failed} of {TRIES}): {error}")
                if failed == TRIES or step == settings.steps:
                    raise
                saved_at = time.monotonic() - settings.checkpoint_interval_s + min(30.0, settings.checkpoint_interval_s)
                continue
            failed, saved, saved_at, save_s = 0, step, time.monotonic(), time.monotonic() - now
            size = sum(part.bytes for part in manifest.parts)
            say(f"saved step {step}: {size / 1e9:.3f} GB in {len(manifest.parts)} parts, {save_s:.1f} s")
    say(f"done: {step} steps, {sample} samples")
    return DONE


def _save(  # noqa: PLR0917
    settings: Settings,
    job: Job,
    comm: Comm,
    store: Store,
    step: int,
    sample: int,
    identity: dict[str, object],
    ran_s: float,
) -> Manifest:
    meta = {
        "step": step,
        "ran_s": round(ran_s, 1),
        "next_sample": sample,
        "run": identity,
        "settings": asdict(settings),
    }
    return save(store, comm, step, job.blocks(), meta)


def _check(manifest: Manifest, identity: dict[str, object]) -> None:
    there = manifest.meta.get("run", {})
    other = [
        f"{key} was {there.get(key)!r}, is {value!r}" for key, value in identity.items() if there.get(key) != value
    ]
    if other:
        raise RefusedError(
            f"{manifest.name} is of another run: {'; '.join(other)}. Use another prefix, or that run's settings"
        )


def _sign_in(store: Store, comm: Comm, settings: Settings, step: int) -> None:
    """One small object per start: shows in the first minute, not at the first save, that this identity may write."""
    outcome = b""
    if comm.rank == 0:
        name = f"runs/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(4).hex()}.json"
        try:
            started = {"from_step": step, "world": comm.size, "settings": asdict(settings)}
            store.put(name, json.dumps({"schema": "sizewell.run-start/1", **started}).encode())
        except StoreError as error:
            outcome = json.dumps([isinstance(error, RefusedError), str(error)]).encode()
    outcome = comm.gather(outcome)[0]
    if outcome:
        final, text = json.loads(outcome)
        raise (RefusedError if final else StoreError)(text)


def _sayer(comm: Comm) -> Callable[[str], None]:
    def say(text: str) -> None:
        if comm.rank == 0:
            print(text, flush=True)

    return say


def _log(settings: Settings, comm: Comm, step: int, loss: float, step_s: float) -> None:
    if comm.rank:
        return
    print(f"step {step}: loss {loss:.4f}, {step_s:.3f} s", flush=True)
    if settings.log:
        tokens = settings.samples_per_step * settings.sequence_length
        line = {"step": step, "loss": loss, "step_s": round(step_s, 4), "tokens_per_s": round(tokens / step_s, 1)}
        with Path(settings.log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main(body: Callable[[Settings, Store, Stop], int]) -> int:
    """Run `body` with settings, store and stop; errors become one message and an exit code."""
    try:
        settings = read_settings()
        stop = Stop(settings)
        code = body(settings, connect(settings.checkpoint_uri, lock_days=settings.lock_days), stop)
    except (WrongInputError, RefusedError) as error:
        return _ends(error, WRONG_INPUT)
    except StoreError as error:
        return _ends(error, STORE_DOWN)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = error.filename or "a file of this process"
        return _ends(OSError(f"process {os.environ.get('RANK', '0')}: {where}: the disk is full"), STORE_DOWN)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    return code


def _ends(error: Exception, code: int) -> int:
    if os.environ.get("RANK", "0") == "0" or str(error).startswith("process "):  # else process 0 says the same
        print(error, file=sys.stderr, flush=True)
    return code
