"""One piece of a batch: read a shard of prompts, answer them all, write the answers once.

`python batch_infer.py --input s3://bucket/in --output s3://bucket/out --piece 3 --pieces 64 --model NAME -- ENGINE...`
The input is a folder of `*.jsonl`, a line a record: {"id": ..., "prompt": "..."}; record n belongs to piece n mod
pieces. The answers go to `OUTPUT/piece-00003-of-00064.jsonl`, put once: a piece that already exists is done, so a pod
that starts again repeats at most its own piece. What follows `--` are arguments of vLLM's LLM, as KEY=VALUE, and
max_tokens, the longest answer. A line of the answers is {"id", "answer", "finish_reason"}, "length" where the answer
was cut at max_tokens or max_model_len; or {"id", "error"} where the prompt is empty or too long.
Exit codes as those of training: 0 done, 64 wrong input, 69 the store did not respond.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import store


def records(folder: store.Store, piece: int, pieces: int) -> Iterator[dict[str, object]]:
    """The records of a piece, in the order of files and lines; every record is in exactly one piece."""
    number = 0
    for name in sorted(folder.list()):
        if not name.endswith(".jsonl"):
            continue
        for line in folder.get(name).decode().splitlines():
            if line.strip():
                if number % pieces == piece:
                    yield json.loads(line)
                number += 1


def engine(model: str, settings: dict[str, Any]) -> Callable[[list[str]], list[dict[str, object]]]:
    """A function from prompts to what is written of each."""
    if model == "stand-in":  # tries the way of the data without an accelerator
        return lambda prompts: [{"answer": f"answer to {prompt}", "finish_reason": "stop"} for prompt in prompts]
    from vllm import LLM, SamplingParams

    most = settings.pop("max_tokens", 256)
    llm = LLM(model=model, **settings)
    longest = settings.get("max_model_len") or llm.llm_engine.model_config.max_model_len
    print(f"answers of up to {most} tokens, up to {longest} with their prompts", flush=True)
    tokenizer = llm.get_tokenizer()

    def answers(prompts: list[str]) -> list[dict[str, object]]:
        tokens = [list(tokenizer.encode(prompt)) for prompt in prompts]
        # vLLM refuses a whole list for one prompt that it cannot take, so it gets none of those.
        right = [{"prompt_token_ids": each} for each in tokens if 0 < len(each) < longest]
        asked = SamplingParams(temperature=0, max_tokens=most)
        made = iter(llm.generate(right, asked) if right else [])
        return [_written(next(made)) if 0 < len(each) < longest else _refused(len(each), longest) for each in tokens]

    return answers


def _refused(tokens: int, longest: int) -> dict[str, object]:
    room = f"there is room for 1 to {longest - 1} (max_model_len={longest})"
    return {"error": f"the prompt has {tokens} tokens: {room}"}


def _written(output: Any) -> dict[str, object]:
    return {"answer": output.outputs[0].text, "finish_reason": output.outputs[0].finish_reason}


def setting(word: str) -> tuple[str, object]:
    """KEY=VALUE, the value as JSON where it is JSON.

    >>> setting("max_num_seqs=64"), setting("dtype=half")
    (('max_num_seqs', 64), ('dtype', 'half'))
    """
    key, _, value = word.partition("=")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="answer one piece of a batch")
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--piece", type=int, default=int(os.environ.get("JOB_COMPLETION_INDEX", "0")))
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("settings", nargs="*", type=setting, metavar="KEY=VALUE")
    args = parser.parse_args(words)
    try:
        return answer(args)
    except (store.RefusedError, store.MissingError, KeyError, json.JSONDecodeError) as wrong:
        print(f"wrong input: {type(wrong).__name__}: {wrong}", file=sys.stderr, flush=True)
        return 64
    except store.StoreError as error:
        print(f"the store did not respond: {error}", file=sys.stderr, flush=True)
        return 69
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"{error.filename or 'a file of this process'}: the disk is full", file=sys.stderr, flush=True)
        return 69


def answer(args: argparse.Namespace) -> int:
    """Do the piece, unless it is done."""
    source, target = store.connect(args.input), store.connect(args.output)
    name = f"piece-{args.piece:05}-of-{args.pieces:05}.jsonl"
    if name in target.list():
        print(f"{name} already exists", flush=True)
        return 0
    asked = list(records(source, args.piece, args.pieces))
    answers = engine(args.model, dict(args.settings))([record["prompt"] for record in asked]) if asked else []
    lines = [json.dumps({"id": record["id"], **said}) for record, said in zip(asked, answers, strict=True)]
    with contextlib.suppress(store.TakenError):  # another pod was faster with the same piece: its answers stand
        target.put(name, "".join(f"{line}\n" for line in lines).encode())
    cut = sum(said.get("finish_reason") == "length" for said in answers)
    without = sum("error" in said for said in answers)
    print(f"{name}: {len(lines)} records, {cut} answers cut, {without} records without an answer", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
