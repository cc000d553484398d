"""What people mean who write a value as another tool has it: the line to write instead, by key and by value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from sizewell.sizing.catalog import load
from sizewell.sizing.units import UnitError, amount, counted, period_s, rate_parts, show_count, show_duration
from sizewell.sizing.workload.devices import not_to_be_had, slice_meant
from sizewell.sizing.workload.load_pace import often_s
from sizewell.sizing.workload.load_words import length_s
from sizewell.sizing.workload.schedule import hours_meant, parse_schedule, time_between

_Way = Callable[[re.Match[str]], str]
_STEPS: Final = "generation and training in turn are not sized together: size the policy's training and its serving"


def _spelt(form: str) -> _Way:
    """A line with the groups of what was written in their places."""
    return lambda match: form.format(*("" if group is None else group for group in match.groups()))


def _per_token(match: re.Match[str]) -> str:
    return f"time per token: write {1000 / float(match[1]):g}ms" if float(match[1]) else ""


def _pace(match: re.Match[str]) -> str:
    return f"write tpot: {1000 / float(match[1]):.3g}ms" if float(match[1]) else ""


def _schedule(match: re.Match[str]) -> str:
    try:
        parse_schedule(match[0])
    except UnitError as error:
        if error.fix.startswith(("leave", "this is")):  # all week, or cron
            return error.fix
    hours, said = hours_meant(match[0])
    return f'write schedule: {{on: "{hours}"}}{said}'


def named(written: str) -> str:
    """The value of `accelerators` for a name, and for a name with a number as other tools write one.

    >>> named("H100"), named("H100:8"), named("1x A10G")
    ('[H100]', '{H100: 8}', '{A10G: 1}')
    >>> named("A100 or H100")
    '[A100, H100]'
    >>> named("RTX 4090"), in_place("RTX 4090")
    ('[L4, A10, A10G]', ', of as much memory as RTX 4090, which no cloud here sells')
    """
    several = re.split(r",? or |, ", written)
    if several[1:]:
        return f"[{', '.join(several)}]"
    name, number = counted(written)
    if wrong := not_to_be_had(name, load()):
        return f"[{wrong[1]}]"
    return f"{{{name}: {number}}}" if number else f"[{name}]"


def in_place(written: str) -> str:
    """Why `named` names other accelerators than what was written; "" where it does not."""
    name = counted(written)[0]
    return f", of as much memory as {name}, which no cloud here sells" if not_to_be_had(name, load()) else ""


def _slice(match: re.Match[str]) -> str:
    meant = slice_meant(match[0], load())
    return f"write resources: {{{meant.replace('},', '}},', 1)}" if meant else ""


def _tpu_slice(match: re.Match[str]) -> str:
    if meant := slice_meant(match[0], load()):
        return f"write {meant}"
    generation = re.sub(r"^v5(?:lite|litepod)?$", "v5e", match[1])
    return f"write tpu: {{type: {generation}}}, with topology: 4x4"


def _budget(match: re.Match[str]) -> str:
    sign = re.match(r"\s*(US ?\$|USD|[$€£¥]|[A-Z]{3}(?![A-Za-z]))?\s*", match[0])
    number, rest = amount(match[0][sign.end() :] if sign else match[0])
    after = re.fullmatch(r"(USD|(?:US )?dollars?|[$€£¥]|euros?|[A-Z]{3})?\s*(?:(?:/|an?|per)\s*(\w+))?", rest)
    if not number or not after:
        return ""
    currency = (sign[1] if sign else "") or after[1] or "$"
    if not re.fullmatch(r"US ?\$|USD|\$|(?:US )?dollars?", currency):
        return "prices are in USD: convert it, and write budget: {monthly: AMOUNT USD}, or per_run"
    per = "per_run" if re.search(r"run|job", after[2] or "") else "monthly"
    month, seconds = period_s("month"), period_s(after[2] or "month") or period_s("month")
    if seconds != month:
        return f"write budget: {{monthly: {float(number) * month / seconds:.0f} USD}}, {number} a {after[2]}"
    return f"write budget: {{{per}: {number.normalize():f} USD}}"


_PERIODS: Final = (
    (r"month(?:_\w+)?|monthly_\w+", "month"), ("day|daily", "day"), ("week|weekly", "week"),
    ("year|yearly|annual|annually", "year"), (r"job|run_\w+", "run"),
)  # fmt: skip


def _budget_of(period: str, match: re.Match[str]) -> str:
    """As `_budget`, of an amount whose key says of what it is."""
    return _budget(re.match("(.*)", f"{match[0]} per {period}"))  # type: ignore[arg-type]


def _amount(match: re.Match[str]) -> str:
    """An amount of a budget with its period behind it, which its key says already."""
    meant = re.search(r": (\d[\d.]* USD)\}", _budget(match))
    return f"write {meant[1]}" if meant else ""


def _things(written: str) -> tuple[str, str]:
    """A whole number of things as a spec counts them, and the things; "" where it is none, or one of a unit.

    >>> _things("50 thousand rows"), _things("20k"), _things("5 hours"), _things("4x A10G")
    (('50k', 'rows'), ('20k', ''), ('', 'hours'), ('', 'x A10G'))
    """
    number, things = amount(written)
    named = re.fullmatch(r"(?:[a-z]{3,}(?: [a-z]+)*)?", things, re.IGNORECASE) and not period_s(things)
    if not named or not number or number != int(number):
        return "", things
    plain = written.strip().removesuffix(things).strip()
    return (plain if re.fullmatch(r"\d+(?:\.\d+)?[kKMBT]?", plain) else show_count(int(number))), things


def _records(match: re.Match[str]) -> str:
    number, _, seconds = rate_parts(match[0])
    if seconds >= 60 and number == int(number):
        return f"write records: {show_count(int(number))}, every: {show_duration(seconds)}"
    whole, things = _things(match[0])
    return f"write {whole}" if whole and not things.startswith("token") else ""


def _samples(match: re.Match[str]) -> str:
    whole, things = _things(match[0])
    if things.startswith("token"):
        return f"write tokens: {whole}, in place of samples" if whole else ""
    return f"write {whole}" if whole else ""


def _tokens(match: re.Match[str]) -> str:
    whole, things = _things(match[1])
    return f"write {whole}" if whole and not things else ""


def _with_point(match: re.Match[str]) -> str:
    """A comma where other languages have the point; numbers in words are read by their own field."""
    return "" if amount(match[0])[1] != match[3].strip() else f"write {match[1]}.{match[2]}{match[3]}"


def _mean(match: re.Match[str]) -> str:
    mean = (float(match[1]) + float(match[2])) / 2
    return f"write {mean:g}, the mean; daily is for how far the busiest hour is above it"


def _geforce(match: re.Match[str]) -> str:
    return f"write {named(f'RTX {match[0]}')}{in_place(f'RTX {match[0]}')}"


def _geforce_for_memory(match: re.Match[str]) -> str:
    """The number of a card in the place of memory; "" where none has it."""
    card = f"RTX {match[0]}"
    return f"write accelerators: {named(card)}{in_place(card)}; gpu is memory" if not_to_be_had(card, load()) else ""


def _every(match: re.Match[str]) -> str:
    seconds = often_s(match[0])
    return f"write {show_duration(round(seconds))}" if seconds >= 1 else ""


def _span(match: re.Match[str]) -> str:
    span = time_between(match[0])
    return f"write {span}" if span else ""


def _interval(match: re.Match[str]) -> str:
    seconds = length_s(match[1] or match[2])
    return f"write checkpoint: {{interval: {show_duration(round(seconds))}}}" if seconds >= 1 else ""


_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_START: Final = "22:00"  # of a night whose beginning is not stated


def _until(match: re.Match[str]) -> str:
    span = time_between(f"{_START} - {match[1] if re.search(':|m', match[1]) else match[1] + ':00'}")
    return f"write {span}, if it starts at {_START}: it is said as how long it may take" if span else ""


def _until_end(match: re.Match[str]) -> str:
    names = {"w": "week", "m": "month", "q": "quarter", "y": "year"}
    days = round(period_s(names.get(match[1].lower(), match[1])) / 86_400)
    return f"write {days}d, if it starts now: it is said as how long it may take"


def _in_words(match: re.Match[str]) -> str:
    """A length of time in words: two weeks, three days, a month, a week and a half."""
    words = re.sub(rf"\b({'|'.join(_NUMBERS)})\b", lambda each: str(_NUMBERS.index(each[1].lower()) + 1), match[1],
                   flags=re.IGNORECASE)  # fmt: skip
    seconds = length_s(re.sub(r"[-_]", " ", words))
    return f"write {show_duration(round(seconds))}" if seconds >= 1 else ""


def _years(match: re.Match[str]) -> str:
    return "1y" if match[1] else "3y"


def _square(match: re.Match[str]) -> str:
    return _side(int(match[1]) * int(match[2]))


def _side(pixels: float) -> str:
    return f"write {math.sqrt(pixels):.0f}, the side of a square of as many pixels"


_TYPOGRAPHIC: Final = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb"
_N: Final = r"(\d+(?:\.\d+)?)"
_HOURS: Final = r"(\d+[kM]?) ?h(?:ours?)?(?: ?(?:a|per|/) ?day| daily)?"  # a batch is done every day by default
_PACE: Final = r"(?:tokens_per_s(?:ec(?:ond)?)?|tps|tok_s)"
_DEVICE: Final = (
    r"(?!\d+ ?[KMGT]i?B\b)(?:\d+ ?x? ?)?(?!x ?\d)"  # a size is none
    r"[A-Za-z]+(?:[ -][A-Za-z]+)*[ -]?\d+\w*(?:[ -]\w+)*(?:(?:[:*]| ?x ?)\d+)?"
)
_YEARS: Final = r"(?:(1|a|one|12)|3|three|36)[ _-]*(?:y|yrs?|years?|m|mo|months?)"
_RESERVED: Final = (
    r"(?:reserved(?:_instances?)?|commitment|commit(?:ted)?(?:_use)?(?:_discount)?|cud|ri|savings_plans?)"
)
_ON_CPUS: Final = "write resources: {{accelerators: [cpu]}}"
_WAYS: Final[tuple[tuple[str, str, _Way], ...]] = (
    (r"(?:resources\.)?(?:gpus?|accelerators?|devices?)", r"(?:none|no|\[\]|false|0|(?:on )?cpu(?:s|[-_ ]only)?)",
     _spelt(_ON_CPUS)),
    (r"(?:resources\.)?(?:gpus?|accelerators?)", r"(?:auto|any|default|all|\*)",
     _spelt("leave it out: which are used, and how many, is found")),
    (r"(?:resources\.)?(?:cpu|cpus|cpu_only|only_cpu|no_gpus?|use_cpu)", r"(?:true|yes|only)", _spelt(_ON_CPUS)),
    (r"(?:resources\.)?(?:cpu_only|only_cpu|no_gpus?|use_cpu)", r"(?:false|no)", _spelt("leave it out")),
    (r"slo\.percentile", r"(?:0?\.|p?)(\d\d)(?:th)?", _spelt("write p{0}")),
    (r"slo\.(?:ttft|tpot|latency)|traffic\.think_time", rf"{_N} ?(?:msecs?|milli(?:second)?s?)", _spelt("write {0}ms")),
    (r"slo\.(?:ttft|tpot|latency)|traffic\.think_time", rf"{_N} ?(?:secs?|seconds?)", _spelt("write {0}s")),
    (r"slo\.tpot", rf"{_N} ?(?:tok|tokens|t)(?:/s|ps| per second)", _per_token),
    (r"traffic", rf"{_N} ?(?:rps|qps|req(?:uests)?/s|/s)?", _spelt("write traffic: {{rps: {0}}}")),
    (r"slo", r"(\d+(?:\.\d+)?(?:ms|s))", _spelt("write slo: {{latency: {0}}}")),
    (r"budget", r"[^{]*", _budget),
    (r"data", r"((?:s3|gs|az|abfss|hf|https)://\S+)", _spelt('write data: {{location: "{0}"}}')),
    (r"batch", r"(\d+[kMB]?)(?: records)?", _spelt("write batch: {{records: {0}, window: 8h}}")),
    (r"idle|checkpoint", r"True", _spelt("leave it out: it is on by default")),
    (r"checkpoint", r"False", _spelt("leave it out: a run without checkpoints starts again from nothing")),
    (r"traffic\.rps", rf"{_N} ?(?:rps|qps|req(?:uest)?s?(?: ?/ ?s(?:ec(?:ond)?)?| per second))", _spelt("write {0}")),
    (r"traffic\.requests", rf"({_N} ?[kKmM]?)",
     _spelt("write rps: {0}/d, if they are those of a day; or {0}/h of an hour")),
    (r"capacity\.savings_plan(?:\.term)?", _YEARS, lambda match: f"write {_years(match)}"),
    (rf"(?:capacity\.)?{_RESERVED}", _YEARS, lambda match: f"write capacity: {{savings_plan: {_years(match)}}}"),
    (rf"(?:capacity\.)?{_RESERVED}", r"true|yes",
     _spelt("write capacity: {{savings_plan: 1y}}, or 3y; what is reserved already is {{reservation: ID}}")),
    (r"ttl", r"(\d+)", _spelt("write {0}d")),
    (r"deadline|batch\.window|ttl|idle\.\w+|checkpoint\.interval",
     r"(\d+) ?(w|d|h|m|s)(?:eek|ay|our|r|in|inute|ec|econd)s?", _spelt("write {0}{1}")),
    (r"batch\.window", r".*\d.*[-,a-z].*\d.*(?<=[\d'\]}mM])", _span),
    (r"deadline|batch\.window", r"(?:tomorrow|today|one day|a day|1 day)", _spelt("write 1d")),
    (r"deadline|batch\.window",
     r"(?:(?:until|till|by|before|tomorrow|at|next morning) )+(\d{1,2}(?::\d\d)? ?(?:[ap]m)?)", _until),
    (r"deadline|batch\.window", r"(\d{1,2}(?::\d\d)? ?[ap]m)(?: tomorrow)?", _until),
    (r"deadline|batch\.window|ttl",
     r"(?:by |before |the |until )*(?:end of (?:the )?|eo)(week|month|quarter|year|w|m|q|y)", _until_end),
    (r"resources\.nodes", r"0", _spelt("write 1")),
    (r"model\.(?:weights|kv)", r"(?:none|no|off|auto|default|false)",
     _spelt("leave it out: as the model is published is the default")),
    (r"resources\.tpu", r"(?:tpu-?)?v5", _spelt("write tpu: {{type: v5e}}, with topology: 4x4; v5p is the larger one")),
    (r"resources\.tpu", r"(?:tpu-?)?(v5(?:lite|e|litepod)|v\d\w*)-\d+", _tpu_slice),
    (r"resources\.tpu", r"(?:tpu-?)?v5(?:lite|e|litepod)", _spelt("write tpu: {{type: v5e}}, with topology: 4x4")),
    (r"resources(?:\.gpus?)?", r"(?:tpu-?)?v\d\w*-\d+", _slice),
    (r"data\.location", r"([a-z0-9][a-z0-9.-]+(?:/\S*)?)", _spelt('write "s3://{0}", or with gs:// or az://')),
    (r"team", r"([a-z0-9-]+)", _spelt("write owner: {0}")),
    (r"resources", _DEVICE,
     lambda match: f"write resources: {{accelerators: {named(match[0])}}}{in_place(match[0])}"),
    (r"resources\.accelerators", r"\d{4}", _geforce),
    (r"schedule", r"[^{\[]*", _schedule),
    (r"(?:resources\.)?on_?demand", r"(?:true|yes|only)", _spelt("write spot_policy: on-demand")),
    (r"(?:resources\.)?on_?demand", r"(?:false|no|never)", _spelt("leave it out: spot_policy says what is bought")),
    (r"checkpoint(?:ing|s)?", r"(?:every )(.*)|(\d+ ?[a-z]+)", _interval),
    (r"checkpoint", r"(\d+[smhd])", _spelt("write checkpoint: {{interval: {0}}}")),
    (r"capacity", r"block", _spelt("write capacity: {{block: {{duration: 72h}}}}")),
    (r"capacity", r"(?:flex[-_]start|dws)", _spelt("write capacity: {{flex_start: true}}")),
    (r"capacity", r"(?:reserved|reservation)", _spelt("write capacity: {{reservation: ID}}, as the cloud names it")),
    (r"deadline|batch\.window|ttl", r"\d{4}-\d\d-\d\d.*", _spelt("write how long from the start, such as 3d")),
    (r"batch\.every", r"(?:(?:every|each|on|all) )?(?:week|work(?:ing)?|business) ?-?days?",
     _spelt("write 1d, which counts the weekend too")),
    (r"batch\.every", r"(?:every |a |1 )?(?:weekly|week)", _spelt("write 1w")),
    (r"batch\.every", r"(?!\d+[smhdw]$).*", _every),
    (r"batch\.window", r"(?:nightly|daily|overnight)", _spelt("write window: 8h; once a day is the default of every")),
    (r"ttl|deadline", r"(?:never|none|no|unlimited)", _spelt("leave it out")),
    (r"resources\.nodes", r"\[?(\d+)(?:-| to |, )(\d+)\]?", _spelt("write {0}..{1}")),
    (r"resources\.accelerators", r"\{'([\w. -]+)': (\d+)\b.*", _spelt("write one with its number: {{{0}: {1}}}")),
    (r"resources\.accelerators", r"\{.*", _spelt("write one with its number, as {{H100: 8}}")),
    (r"resources\.tpu", r"(?:tpu-?)?(v\d\w*)(?:-\d+)?", _spelt("write tpu: {{type: {0}}}, with topology: 4x4")),
    (r"resources\.(?:ram|host_memory|system_memory|host_ram|vcpus?|cpu_cores|cores|cpu_count|num_cpus)", r".*",
     _spelt("leave it out: processors and their memory come with the machine; `instance_type:` names one")),
    (r"resources\.gpus", rf"{_N} ?x", _spelt("write {0}")),
    (r"resources\.gpu", rf"{_N} ?x", _spelt("write gpus: {0}; gpu is memory")),
    (r"resources\.gpus?", r"(\d+ ?[GT]i?B(?:\.\.(?:\d+ ?[GT]i?B)?)?):(\d+(?:\.\.\d*)?)",
     _spelt("write gpu: {0}, gpus: {1}")),
    (r"resources\.gpus?", r"([A-Za-z][\w-]*):(\d+GB):(\d+(?:\.\.\d*)?)",
     _spelt("write accelerators: [{0}-{1}], gpus: {2}")),
    (r"resources\.gpus?", r"([A-Za-z][\w-]*):(\d+\.\.\d*)", _spelt("write accelerators: [{0}], gpus: {1}")),
    (r"resources\.gpu", _DEVICE,
     lambda match: f"write accelerators: {named(match[0])}{in_place(match[0])}; gpu is memory"),
    (r"resources\.gpu", r"\d{4}", _geforce_for_memory),
    (r"resources\.gpus", _DEVICE, lambda match: f"write accelerators: {named(match[0])}{in_place(match[0])}"),
    (r"resources\.tpu\.type", r"\d+x\d+(?:x\d+)?", _spelt("swap type and topology")),
    (r"resources\.tpu\.topology", r"v\d\w*", _spelt("swap type and topology")),
    (r"spot_policy", r"(?:yes|true|only|always|preemptible)", _spelt("write spot")),
    (r"spot_policy", r"(?:no|false|never|ondemand|on_demand)", _spelt("write on-demand")),
    (r"training\.method", r"(?:ppo|grpo|rlhf|rloo|rl)", _spelt(_STEPS)),
    (r"training\.method", r"(?:sft|pretrain|pre-training|full-?fine-?tuning|fft)", _spelt("write full")),
    (r"model\.params", r"\d+x\d+b", _spelt("write all and those of a token, as params: 47B, active_params: 13B")),
    (rf"slo\.(?:(?:min|decode|output)_)*{_PACE}(?:_(?:per_)?(?:user|request|stream|sequence))?", _N, _pace),
    (r"training\.lora", r"True", _spelt("write method: lora")),
    (r"training\.lora", r"False|None", _spelt("leave it out: its method says what is trained")),
    (r"deadline", r"overnight|(?:a|one) night", _spelt("write 8h")),
    (r"deadline", r"(\d+)-\d\d(?::\d\d)*", _spelt("write {0}d")),
    (r"deadline", r"0?(\d+):\d\d:\d\d", _spelt("write {0}h")),
    (r"traffic\.rps", rf"{_N} ?(?:-|to|\.\.) ?{_N}", _mean),
    (r"audio", _HOURS, _spelt("write batch: {{records: {0}, audio_per_record: 1h, window: 8h}}, with your own window")),
    (r"batch\.audio", r"(\d{4,}|\d+[kM]) ?m(?:in(?:ute)?s?)?", _spelt("write records: {0}, audio_per_record: 1m")),
    (r"batch\.records", r"(.*)", _records),
    (r"training\.samples", r"(.*)", _samples),
    (r"batch\.audio", _HOURS, _spelt("write records: {0}, audio_per_record: 1h")),
    (r".*\.resolution", r"(\d+) ?x ?\1(?: ?px| ?pixels?)?", _spelt("write {0}")),
    (r".*\.resolution", r"(\d+) ?[x*] ?(\d+)(?: ?px| ?pixels?)?", _square),
    (r".*\.resolution", r"(\d+) ?(?:px|pixels?)", _spelt("write {0}")),
    (r".*\.resolution", r"(\d{3,4})[pi]", lambda match: _side(int(match[1]) ** 2 * 16 / 9)),  # rows of a wide picture
    (r".*\.resolution", rf"{_N} ?(?:MP|megapixels?)", lambda match: _side(float(match[1]) * 1e6)),
    (r".*tokens|.*tokens_per_record|training\.(?:sequence_length|global_batch)", r"(.*?) ?(?:tokens?|tok)", _tokens),
    (r"engine\.name", r"(vllm|sglang|tensorrt-llm|llama\.cpp|megatron|deepspeed)(?:==|@|:|-)v?(\d[\w.]*)",
     _spelt("write engine: {{name: {0}, version: {1}}}")),
    (r"engine\.name", r".*/.*:.*", _spelt("write its name: vllm; the image is given to sizewell launch")),
    (r"engine\.name", r"(?:tgi|text-generation-inference|triton-vllm|lmdeploy|mlc|ollama|ray-?llm)",
     _spelt("name vllm, or leave it out: it is neither predicted nor launched")),
    (r"(?:traffic|slo|idle|checkpoint|training)\.\w+|model\.params|deadline|batch\.window|ttl|budget\.\w+",
     r"(\d+),(\d{1,2}|\d{4,})( ?[a-zA-Z/]*)", _with_point),
    (r"budget\.currency", r"(?:USD|US ?\$|\$|(?:US )?dollars?)", _spelt("leave it out: amounts are in USD")),
    (r"budget\.currency", r".*", _spelt("prices are in USD: convert the amounts, and leave it out")),
    *((rf"budget\.(?:per_|a_)?(?:{words})", r"(.*)", partial(_budget_of, period)) for words, period in _PERIODS),
    (r"budget\.(?:max(?:imum)?|limit|total|cap|amount|ceiling|hard_limit|usd|value)", r"(.*)", _budget),
    (r"budget\.monthly", r".*(?:/|\bper\b|\ban?\b|monthly).*", _amount),
    (r"budget\.per_run", r".*(?:/|\bper\b|\ban?\b|\beach\b) ?(?:run|job).*", _amount),
    (r"budget\..*", rf"\$ ?{_N}", _spelt("write {0} USD")),
    (r"budget\..*", rf"(?:[€£¥] ?{_N}|{_N} ?[€£¥])", _spelt("prices are in USD: convert it")),
    (r"deadline|batch\.window|ttl|idle\.\w+|checkpoint\.interval",
     r"(?:within |in |every |about |~ ?)?([^\d{\[].*|.*\d.* .*)", _in_words),
)  # fmt: skip


def way_out(path: str, written: object) -> str:
    """The line to write in place of a value that cannot be read; "" where nothing is known of it.

    >>> way_out("slo.percentile", 99), way_out("slo.tpot", "20 tok/s"), way_out("resources.nodes", [1, 8])
    ('write p99', 'time per token: write 50ms', 'write 1..8')
    """
    text = str(written).strip()
    if isinstance(written, str) and (plain := text.strip(_TYPOGRAPHIC)) != text:
        return f"write {plain} (its quotation marks are typographic ones, which are part of the value)"
    for where, pattern, way in _WAYS:
        if re.fullmatch(where, path) and (match := re.fullmatch(pattern, text, re.IGNORECASE)):
            return way(match)
    return ""
