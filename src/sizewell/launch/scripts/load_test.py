"""Load a served model as its decision expects it, and hold the answers against the promised latencies.

`python load_test.py --url http://chat --model chat --rate 4 --seconds 120 --input-tokens 1500 --output-tokens 300
--ttft 0.5 --tpot 0.05 --percentile 0.95`. Requests arrive at random (Poisson), whether earlier ones are answered or
not, as users do; a server that falls behind shows it. Prints one line of JSON. Exit code 0: every limit was kept;
1: one was broken or more than one request in a hundred failed; 64: wrong arguments. Only the standard library.

Without --shape the model is asked as OpenAI's API has it (/v1/completions, streamed): first token, each further one,
whole answer. With --shape it is asked as Triton's API has it, with zeros for a picture, and only the answer counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

FAILED_SHARE = 0.01  # of requests, that may fail


@dataclass(frozen=True)
class Answer:
    """One request: seconds to the first token, between tokens, to the end; or what went wrong."""

    ttft_s: float = 0.0
    tpot_s: float = 0.0
    e2e_s: float = 0.0
    tokens: int = 0
    fault: str = ""


def quantile(values: list[float], share: float) -> float:
    """The value that `share` of them do not exceed (nearest rank).

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0, 3.0, 4.0], 0.95)
    (2.0, 4.0)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def report(answers: list[Answer], *, seconds: float, percentile: float, limits: dict[str, float]) -> dict[str, object]:
    """Figures at the percentile, and which limits were broken."""
    good = [answer for answer in answers if not answer.fault]
    failed = len(answers) - len(good)
    figures = {
        name: quantile([getattr(answer, name) for answer in good], percentile) if good else math.inf
        for name in ("ttft_s", "tpot_s", "e2e_s")
    }
    broken = [f"{name} {figures[name]:.4g} over {most:g}" for name, most in limits.items() if figures[name] > most]
    if not answers or failed > FAILED_SHARE * len(answers):
        kinds = ", ".join(sorted({answer.fault for answer in answers if answer.fault})[:3])
        broken.append(f"{failed} of {len(answers)} requests failed: {kinds or 'none was sent'}")
    return {
        "requests": len(answers),
        "failed": failed,
        "requests_per_s": len(good) / seconds if seconds else 0.0,
        "tokens_per_s": sum(answer.tokens for answer in good) / seconds if seconds else 0.0,
        "percentile": percentile,
        **{name: None if math.isinf(value) else value for name, value in figures.items()},
        "limits": limits,
        "broken": broken,
        "passed": not broken,
    }


def body_of(args: argparse.Namespace, number: int) -> tuple[str, dict[str, object]]:
    """(path, JSON) of one request; no two prompts begin alike, so that no cache of prefixes answers."""
    if args.shape:
        shape = [int(side) for side in args.shape.split("x")]
        data = [0.0] * math.prod(shape)
        tensor = {"name": args.tensor, "shape": shape, "datatype": "FP32", "data": data}
        return f"/v2/models/{args.model}/infer", {"inputs": [tensor]}
    words = random.Random(number)  # noqa: S311
    prompt = [
        words.randrange(1000, 2000) for _ in range(max(1, args.input_tokens))
    ]  # tokens by number: exactly so many
    return "/v1/completions", {
        "model": args.model,
        "prompt": prompt,
        "max_tokens": max(1, args.output_tokens),
        "min_tokens": max(1, args.output_tokens),
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
    }


async def ask(url: str, path: str, body: dict[str, object], *, patience_s: float) -> Answer:
    """One request over a connection of its own."""
    start = time.perf_counter()
    try:
        return await asyncio.wait_for(_ask(url, path, body, start), patience_s)
    except TimeoutError:
        return Answer(fault="timeout")
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        return Answer(fault=type(error).__name__)


async def _ask(url: str, path: str, body: dict[str, object], start: float) -> Answer:
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if tls else 80), ssl=tls or None)
    try:
        data = json.dumps(body).encode()
        head = f"POST {parts.path.rstrip('/')}{path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        status = (await reader.readline()).split()
        if len(status) < 2 or status[1] != b"200":
            return Answer(fault=f"HTTP {status[1].decode() if len(status) > 1 else 'nothing'}")
        while (await reader.readline()).strip():
            pass
        streamed = bool(body.get("stream"))
        times: list[float] = []
        while line := await reader.readline():  # sizes of chunks are lines of their own and do not matter
            if streamed and line.startswith(b"data:") and b"[DONE]" not in line:
                times.append(time.perf_counter() - start)
        end = time.perf_counter() - start
    finally:
        writer.close()
    if streamed and not times:
        return Answer(fault="no tokens")
    first, last = (times[0], times[-1]) if times else (end, end)
    return Answer(
        ttft_s=first, tpot_s=(last - first) / max(1, len(times) - 1), e2e_s=last if times else end, tokens=len(times)
    )


async def load(args: argparse.Namespace) -> tuple[list[Answer], float]:
    """All requests of the test, and how long it took."""
    chance = random.Random(args.seed)  # noqa: S311
    start, due, tasks = time.perf_counter(), 0.0, []
    while True:
        due += chance.expovariate(args.rate)
        if due > args.seconds:
            break
        await asyncio.sleep(max(0.0, start + due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(args.url, *body_of(args, len(tasks)), patience_s=args.timeout)))
    answers = list(await asyncio.gather(*tasks))
    return answers, time.perf_counter() - start


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="load a served model and hold it against its promises")
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rate", type=float, required=True, help="requests per second")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds before, that do not count")
    parser.add_argument("--input-tokens", type=int, default=512)
    parser.add_argument("--output-tokens", type=int, default=256)
    parser.add_argument("--shape", default="", help="of a picture, as 1x3x224x224")
    parser.add_argument("--tensor", default="input", help="name of the picture's tensor")
    parser.add_argument("--ttft", type=float, help="seconds to the first token, at most")
    parser.add_argument("--tpot", type=float, help="seconds from token to token, at most")
    parser.add_argument("--latency", type=float, help="seconds to the end of the answer, at most")
    parser.add_argument("--percentile", type=float, default=0.95)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds after which a request has failed")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(words)
    if args.rate <= 0 or not 0 < args.percentile < 1:
        parser.error("--rate must be over 0, --percentile between 0 and 1")
    return args


def main(words: list[str] | None = None) -> int:
    try:
        args = arguments(words)
    except SystemExit as wrong:
        return 64 if wrong.code else 0
    limits = {"ttft_s": args.ttft, "tpot_s": args.tpot, "e2e_s": args.latency}
    if args.warm_up:
        asyncio.run(load(argparse.Namespace(**{**vars(args), "seconds": args.warm_up, "seed": args.seed + 1})))
    answers, seconds = asyncio.run(load(args))
    summary = report(
        answers,
        seconds=seconds,
        percentile=args.percentile,
        limits={name: most for name, most in limits.items() if most is not None},
    )
    print(json.dumps(summary), flush=True)
    return 0 if summary["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
