"""What a command line runs: which model, by which software, with which options that decide memory and time.

Options are those of vLLM 0.11, SGLang 0.5, TGI 3, text-embeddings-inference, transformers, TRL, LLaMA-Factory and
Megatron, and of `docker run`, from their documentation as it was known in 2026-11.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.sizing.workload.foreign.draft import Draft
from sizewell.sizing.workload.model import projections
from sizewell.sizing.workload.precision import STORED
from sizewell.sizing.workload.software import PREFERENCES

ACCEPTANCE: Final = "50%"  # that an imported spec begins with: a placeholder, as the load is
_SPECULATIVE: Final = ("speculative-config", "speculative-algorithm", "speculative-model")
_DRAFT_MODELS: Final = ("speculative-model", "speculative-draft-model-path", "speculative-draft-model")
SHELLS: Final = ("sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash")


@dataclass(frozen=True, slots=True)
class Server:
    """A program that serves a model: how a line begins that starts it, its images, a spec's `engine`."""

    called: str
    line: str
    image: str
    engine: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A row of options.csv: options of servers and trainers that a spec has no key for, and why it needs none."""

    options: tuple[str, ...]
    way: str
    source: str


_SERVERS: Final = (
    Server("vLLM", r"\bvllm\s+serve\b|\bvllm\.entrypoints\.[\w.]*api_server\b", "vllm", "vllm"),
    Server("SGLang", r"\bsglang\.launch_server\b|\bsglang\s+serve\b", "sglang", "sglang"),
    Server("text-embeddings-inference", r"\btext-embeddings-router\b", "text-embeddings-inference",
           "text-embeddings-inference"),
    Server("TGI", r"\btext-generation-launcher\b", "text-generation-inference"),
    Server("TensorRT-LLM", r"\btrtllm-serve\b", "tensorrt-llm", "tensorrt-llm"),
    Server("llama.cpp", r"\bllama-server\b", "llama.cpp", "llama.cpp"),
    Server("Ollama", r"\bollama\s+(?:run|pull|serve)\b", "ollama"),
    Server("LMDeploy", r"\blmdeploy\s+serve\s+api_server\b", "lmdeploy"),
    Server("NIM", r"(?!)", "nvcr.io/nim/"),
    Server("LMI", r"(?!)", "djl-inference"),
    Server("speaches", r"\bspeaches\b", "speaches"),
    Server("Whisper", r"\b(?:faster-whisper-server|whisper-ctranslate2|insanely-fast-whisper|whisper-server)\b|"
           r"\bwhisperx\b|"
           r"\bwhisper\s+\S+\.(?:mp3|mp4|m4a|wav|flac|ogg)\b", "whisper"),
)  # fmt: skip
_HEAR: Final = ("speaches", "Whisper")
_RECOGNIZER_VARIABLES: Final = ("WHISPER__MODEL", "WHISPER_MODEL", "ASR_MODEL", "WHISPER_MODEL_NAME", "PRELOAD_MODELS",
                                "MODEL_ID", "MODEL_NAME", "MODEL")  # fmt: skip
_RECOGNIZERS: Final = (  # of the catalog, by the sizes that other programs' names say
    (r"distil", "distil-whisper/distil-large-v3"),
    (r"turbo", "openai/whisper-large-v3-turbo"),
    (r"large", "openai/whisper-large-v3"),
)
KNOWN: Final = ", ".join(server.called for server in _SERVERS)
_DOCKER: Final = re.compile(r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?run\b")
_FLAGS: Final = frozenset(
    [
        "d",
        "i",
        "t",
        "it",
        "itd",
        "dit",
        "ti",
        "P",
        "rm",
        "privileged",
        "init",
        "detach",
        "tty",
        "interactive",
        "read-only",
        "no-healthcheck",
    ]
)
_TRAINERS: Final = (
    (r"\b(?:pretrain_(?:gpt|llama|bert|mamba|mixtral|moe)|megatron\w*_(?:pretraining|train))\w*\.py\b", "megatron"),
    (r"\baxolotl\b", "axolotl"),
    (r"\bllamafactory-cli\b|\bllama_factory\b", "llama-factory"),
    (r"\btrl\s+(?:sft|dpo|kto|reward)\b", "trl"),
    (r"\btune\s+run\b", "torchtune"),
    (r"\bdeepspeed\b", "deepspeed"),
    (r"\btorchrun\b|\baccelerate\s+launch\b|\btorch\.distributed\b", ""),
    (r"\b(?:train|finetune|fine_tune|sft|run_clm|pretrain)\w*\.py\b", ""),
)  # fmt: skip
_NOTEBOOKS: Final = re.compile(r"\bjupyter(?:-?lab|-?notebook)?\b|\bcode-server\b")
_MODEL_OPTIONS: Final = (
    "model", "model-path", "model-id", "model-name-or-path", "model-name", "base-model", "hf-repo", "hf", "hfr",
    "model-tag", "pretrained-model-name-or-path", "model-source", "model-url", "mu",
)  # fmt: skip
_MODEL_VARIABLES: Final = ("MODEL_ID", "MODEL_NAME", "MODEL", "HF_MODEL_ID", "HF_MODEL", "MODEL_PATH", "VLLM_MODEL")
# Variables that are a server's options, by how their names begin: of llama.cpp (its tools/server/README.md), of the
# images of vLLM and SGLang for SageMaker and of LMI (aws.github.io/deep-learning-containers, docs.djl.ai), of Ollama.
_OPTION_VARIABLES: Final = ("LLAMA_ARG_", "SM_VLLM_", "SM_SGLANG_", "OPTION_", "OLLAMA_", "HF_MODEL_")
# Servers whose launcher reads each of its options under the option's own name, in capitals: TGI and TEI, and the
# image of vLLM that RunPod has.
_OWN_NAMES: Final = ("TGI", "text-embeddings-inference", "vLLM")
_HUB_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS: Final[Mapping[str, str]] = {
    "awq": "int4", "awq-marlin": "int4", "gptq": "int4", "gptq-marlin": "int4", "marlin": "int4", "w4a16": "int4",
    "fp8": "fp8", "fp8-per-tensor": "fp8", "fp8-per-block": "fp8", "fp8-per-channel": "fp8",
    "bitsandbytes": "int4", "bitsandbytes-nf4": "int4", "eetq": "int8", "w8a8-int8": "int8", "int8": "int8",
}  # fmt: skip
_PRECISIONS: Final[Mapping[str, str]] = {
    "half": "fp16",
    "float16": "fp16",
    "fp16": "fp16",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float32": "fp32",
}
_OPTIMIZERS: Final[Mapping[str, str]] = {
    "adamw-torch": "adamw", "adamw-torch-fused": "adamw", "adamw-hf": "adamw", "adamw": "adamw",
    "adamw-bnb-8bit": "adamw-8bit", "adamw-8bit": "adamw-8bit", "paged-adamw-8bit": "adamw-8bit",
    "adafactor": "adafactor", "lion": "lion", "sgd": "sgd", "adam": "adam", "muon": "muon",
}  # fmt: skip
_LENGTHS: Final = (
    "max-seq-length", "max-length", "seq-length", "sequence-len", "sequence-length", "cutoff-len", "block-size",
    "model-max-length", "max-seq-len", "seq-len", "encoder-seq-length",
)  # fmt: skip
_SPLITS: Final = (
    "tensor-parallel-size", "tp", "tp-size", "pipeline-parallel-size", "pp", "pp-size", "data-parallel-size", "dp",
    "dp-size", "num-shard", "expert-parallel-size", "ep-size", "tensor-model-parallel-size",
    "pipeline-model-parallel-size", "context-parallel-size", "expert-model-parallel-size",
)  # fmt: skip


def is_known(text: str) -> bool:
    """Whether a text starts one of the servers, also by its image, a trainer or a notebook.

    >>> [is_known(text) for text in ("docker run --gpus all vllm/vllm-openai --model a/b", "torchrun train.py", "ls")]
    [True, True, False]
    """
    joined = re.sub(r"\\\s*\n", " ", text)
    if any(re.search(server.line, joined) for server in _SERVERS) or _NOTEBOOKS.search(joined):
        return True
    if any(re.search(pattern, joined) for pattern, _ in _TRAINERS):
        return True
    runs = [line.lower() for line in joined.splitlines() if _DOCKER.search(line)]
    return any(server.image in line for line in runs for server in _SERVERS)


def lines_of(commands: object, environment: Mapping[str, str]) -> list[list[str]]:
    """The words of each command: of a script, of a list of lines, or of the words that a container starts with."""
    if commands is None:
        return []
    if isinstance(commands, str):
        return [words for line in _logical(commands) for words in _split(line, environment)]
    words = [str(word) for word in commands] if isinstance(commands, Iterable) else [str(commands)]
    if words and words[0] in SHELLS and len(words) > 1:
        return lines_of(words[-1], environment)
    return [[_with_values(word, environment) for word in words]]


def _logical(script: str) -> list[str]:
    return re.sub(r"\\\s*\n", " ", script).splitlines()


def _split(line: str, environment: Mapping[str, str]) -> list[list[str]]:
    """One line's commands; a line that no shell's grammar of words fits is taken by its spaces."""
    lexer = shlex.shlex(_with_values(line, environment), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        words = list(lexer)
    except ValueError:
        words = line.split()
    commands: list[list[str]] = [[]]
    for word in words:
        if word and not word.strip("();<>|&"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def assigned(script: str) -> dict[str, str]:
    r"""The variables that a shell's script sets, also arrays and what is added to one; with those before in each.

    >>> assigned('N=24\nexport ARGS="--num-layers $N"\nARGS+=" --bf16"\nMORE=(\n  --lr 3e-4 # as usual\n)')
    {'N': '24', 'ARGS': '--num-layers 24 --bf16', 'MORE': '--lr 3e-4'}
    """
    values: dict[str, str] = {}
    joined = re.sub(r"\\\s*\n", " ", script)
    form = r"""(?:^|[\s;])(\w+)(\+?)=(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|\(([^)]*)\)|([^\s;]*))"""
    for name, added, *forms in re.findall(form, joined):
        text = re.sub(r"(?m)(?:^|\s)#.*$", "", forms[2]) if forms[2] else next(filter(None, forms), "")
        value = " ".join(_with_values(text, values).split())
        values[name] = f"{values[name]} {value}" if added and name in values else value
    return values


def _with_values(text: str, environment: Mapping[str, str]) -> str:
    """Variables by their values, where the file states them; as they are written elsewhere.

    >>> _with_values("${MODEL} $(PORT) ${RANK:-0} $X", {"MODEL": "a/b", "PORT": "80"})
    'a/b 80 0 $X'
    >>> _with_values('train.py "${ARGS[@]}"', {"ARGS": "--lr 1"})
    'train.py --lr 1'
    """

    def value(match: re.Match[str]) -> str:
        name = match["name"] or match["plain"] or match["kubernetes"] or match["array"]
        usual = match["usual"]
        return environment.get(name) or (match[0] if usual is None else usual)

    form = r"\"?\$\{(?P<array>\w+)\[[@*]\]\}\"?|"
    form += r"\$\{(?P<name>\w+)(?::?-(?P<usual>[^}]*))?\}|\$\((?P<kubernetes>\w+)\)|\$(?P<plain>[A-Za-z_]\w*)"
    return re.sub(form, value, text)


def unpacked(draft: Draft) -> None:
    """What a container runs in place of the command that starts it, with its image, variables and GPUs."""
    for index, words in enumerate(draft.commands):
        if not _DOCKER.search(" ".join(words)) or "run" not in words:
            continue
        rest = words[words.index("run") + 1 :]
        variables: dict[str, str] = {}
        entry: list[str] = []
        while rest and rest[0].startswith("-"):
            name, given, value = rest.pop(0).lstrip("-").partition("=")
            if not given and name not in _FLAGS and rest:
                value = rest.pop(0)
            if name in ("e", "env") and "=" in value:
                variables[value.partition("=")[0]] = value.partition("=")[2]
            elif name == "entrypoint":
                entry = [value]
            elif name == "gpus" and (listed := re.search(r"device=([\w,-]+)", value) or re.fullmatch(r"(\d+)", value)):
                count = listed[1] if listed[1].isdigit() and "device" not in value else len(listed[1].split(","))
                draft.leave(
                    f"--gpus {value}", f"{count} of which accelerator stands nowhere: any that fits may be chosen"
                )
        if rest:
            draft.image, draft.environment = rest[0], {**draft.environment, **variables}
            draft.commands[index] = [*entry, *rest] if not entry else [*entry, *rest[1:]]
            return


def options_of(words: list[str]) -> dict[str, list[str]]:
    """Options by their names without dashes; `_` and `-` are one, sections before a point are left out. Values up to
    the next option.

    >>> options_of("train.py --training.seq_len 4096 model.num_layers=12 +trainer.max_steps=9".split())
    {'seq-len': ['4096'], 'num-layers': ['12'], 'max-steps': ['9']}
    >>> options_of("vllm serve a/b --tensor-parallel-size=4 --lora_modules x=1 y=2 -q awq --trust".split())
    {'tensor-parallel-size': ['4'], 'lora-modules': ['x=1', 'y=2'], 'q': ['awq'], 'trust': []}
    """
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if re.match(r"--?[A-Za-z]|\+{0,2}[A-Za-z]\w*(?:\.\w+)+=", word):
            name, given, value = word.lstrip("-+").partition("=")
            name = name.replace("_", "-").rpartition(".")[2]
            options[name] = [value] if given else []
        elif name:
            options[name].append(word)
    return options


class _Asked(dict[str, list[str]]):
    """Options, and which of them somebody has looked at."""

    def __init__(self, options: Mapping[str, list[str]]) -> None:
        super().__init__(options)
        self.seen: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.seen.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> list[str]:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a mapping."""
        self.seen.add(name)
        return super().get(name, default)


def _leave_rest(draft: Draft, options: _Asked) -> None:
    """Name every option that no reader looks at, and those that say how much there is or how it is split."""
    for name, values in options.items():
        way = _ways().get(name, "")
        if (name in options.seen and not way) or any(f"--{name}" in where for where, _ in draft.left):
            continue
        if way == _FOUND and draft.devices:  # which are taken over
            continue
        if name == "m" or (name in options.seen and not way.startswith(_HOW_MANY)):  # of python
            continue
        dashed = f"--{name}" if name[1:] else f"-{name}"
        shown = f"{dashed} {values[0]}" if values and len(values[0]) < 30 else dashed
        draft.leave(shown, re.sub("^leave it out: (?:it )?", "", way) or "does not decide what is needed")


_HOW_MANY: Final = "leave it out: how many"
_FOUND: Final = "leave it out: how many are needed is found"


def read_commands(draft: Draft, where: str) -> None:
    """What the draft's commands and image say of the model, the software and the run."""
    lines = [" ".join(words) for words in draft.commands]
    if any(re.search(r"\brun[_-]batch\b", line) for line in lines):  # over a file of requests, which ends
        draft.work = "batch"
    for server in _SERVERS:
        run = next((index for index, line in enumerate(lines) if re.search(server.line, line)), None)
        by_image = server.image in draft.image.lower()
        if run is None and not by_image:
            continue
        if run is not None:
            words = _behind(server.line, draft.commands[run])
        else:
            own = next((words for words in draft.commands if draft.image in words), None)
            words = [word for each in ([own] if own else draft.commands) for word in each if word != draft.image]
        draft.work = draft.work or "service"
        if server.engine:
            draft.take("engine", server.engine, where if run is not None else "image")
        elif server.called in _HEAR:
            draft.leave(server.called, "is no engine of a spec: what it runs is predicted")
        elif server.called != "Ollama":
            draft.leave(server.called, "is no engine of a spec: predicted as vLLM")
        else:
            draft.leave(
                "Ollama", "is no engine of a spec: predicted as vLLM, with 16-bit weights unless you state others"
            )
        options = _Asked(options_of(words))
        _served(draft, server, words, where, options)
        _leave_rest(draft, options)
        return
    for pattern, engine in _TRAINERS:
        words = next((words for words, line in zip(draft.commands, lines, strict=True) if re.search(pattern, line)), [])
        if words:
            draft.work = "training"
            if engine:
                draft.take("engine", engine, where)
            options = _Asked(options_of(words))
            _trained(draft, options, where, words)
            _leave_rest(draft, options)
            return
    if any(_NOTEBOOKS.search(line) for line in lines) or "jupyter" in draft.image.lower():
        draft.work = "notebook"
        return
    for words in draft.commands:
        options = _Asked(options_of(words))
        _model(draft, options, where)
        if draft.model:
            _leave_rest(draft, options)
    _model_of_environment(draft)


def hears(draft: Draft, model: str, where: str) -> None:
    """A recognizer of speech by the name that its program has for it, as that of the catalog that is nearest."""
    draft.work, draft.hears = draft.work or "service", True
    named = next((each for pattern, each in _RECOGNIZERS if re.search(pattern, model.lower())), "")
    if model and not named:
        draft.leave(f"model {model}", "is no model of the catalog: the large one is written, which needs more")
    elif not model:
        draft.leave("model", "stands nowhere: the large one is written")
    draft.model = named or "openai/whisper-large-v3"
    draft.taken.append(("model", where))


def _served(
    draft: Draft, server: Server, words: list[str], where: str, options: dict[str, list[str]] | None = None
) -> None:
    options = options_of(words) if options is None else options
    if server.called in _HEAR:
        variable = next((name for name in _RECOGNIZER_VARIABLES if draft.environment.get(name)), "")
        stated = _one(options, *_MODEL_OPTIONS, "m") or draft.environment.get(variable, "")
        hears(draft, stated, where if not variable else f"the variable {variable}")
        if not re.search(server.line, " ".join(words)) and any("." in word for word in _positional(words)):
            draft.leave("its recordings", "state how many and how long: batch: {records: 100k, audio_per_record: 5m}")
        return
    _model(draft, options, where)
    if server.called == "llama.cpp":
        _model(draft, {"model": options.get("m", [])}, where)
        options |= {long: options[short] for short, long in _SHORT if short in options}
    for option, (variable, value) in _of_variables(draft.environment, server.called).items():
        if option not in options:  # a command line wins
            options[option] = [value]
            _model(draft, {option: [value]}, f"the variable {variable}")
    file = _one(options, "hf-file", "hff")
    if file.endswith(".gguf") and draft.model:  # of a repository with several
        draft.model = f"{draft.model.partition(':')[0]}/{file}"
    if server.called == "NIM" and not draft.model:
        draft.model = re.sub(r"[:@].*", "", draft.image.rpartition("/nim/")[2])
        draft.taken.append(("model", "the image"))
    if not draft.model:
        before = [word for word in _positional(words) if word != "serve"]
        bare = next(iter(before), "")
        if server.called == "Ollama":  # a server without a model, which another line loads
            found = re.search(
                r"ollama\s+(?:run|pull)\s+([\w.:/-]+)", " ".join(w for c in draft.commands for w in (*c, ";"))
            )
            bare = found[1] if found else ""
        if bare:
            draft.model = bare
            draft.taken.append(("model", where))
    _model_of_environment(draft)
    weights = _one(options, "quantization", "q", "quantize").replace("_", "-")
    if weights in _WEIGHTS:
        draft.take("model.weights", _WEIGHTS[weights], f"{where}: quantization {weights}")
    elif weights:
        draft.leave(f"--quantization {weights}", "state what the weights are stored in: model: {name, weights: int4}")
    for name, stored in (("load-in-4bit", "int4"), ("load-in-8bit", "int8")):
        if _on(options, name):
            draft.take("model.weights", stored, f"{where}: --{name}")
    kv = _one(options, "kv-cache-dtype")
    if kv.startswith("fp8"):
        draft.take("model.kv", "fp8", f"{where}: --kv-cache-dtype")
    _precision(draft, options, where)
    if "enable-lora" in options or "lora-modules" in options:
        count = _number(_one(options, "max-loras")) or 1
        adapters: dict[str, int] = {"count": max(len(options.get("lora-modules", [])), count)}
        if rank := _number(_one(options, "max-lora-rank")):
            adapters["rank"] = rank
        draft.take("model.adapters", adapters, f"{where}: --enable-lora")
    limits = ("max-model-len", "context-length", "max-total-tokens", "max-seq-len", "ctx-size", "num-ctx")
    if length := _one(options, *limits):
        name = next(each for each in limits if each in options)
        draft.leave(f"--{name} {length}", "is a limit; memory and time follow from the means under traffic")
    for name in ("parallel", "n-parallel", "num-parallel"):
        if name in options:
            draft.leave(f"--{name} {_one(options, name)}", "how many requests run at once follows from memory and slo")
    for name in ("cache-type-k", "kv-cache-type"):
        if _one(options, name) not in ("", "f16", "bf16"):
            draft.leave(f"--{name} {_one(options, name)}", "16 bits are predicted; model: {kv: fp8} holds as 8 bits do")
    for name in ("enable-prefix-caching", "enable-prefix-cache"):
        if name in options:
            draft.leave(f"--{name}", "state how much of a prompt is repeated: traffic.prefix: 50%")
    _speculative(draft, options, where)
    _splits(draft, options)
    parts = (_number(_one(options, *names)) or 1 for names in _OF_A_REPLICA)
    each = (draft.devices or 0) / draft.machines
    if (_number(_one(options, "nnodes", "num-nodes")) or 1) > 1 or (draft.machines > 1 and prod(parts) > each > 0):
        where = f"a replica on several machines of {', '.join(draft.asked)}".removesuffix(" of ")
        draft.leave(where, "a replica is sized on one machine: any accelerator with the memory for it may be chosen")
        draft.asked.clear()


_OF_A_REPLICA: Final = (("tensor-parallel-size", "tp", "tp-size"), ("pipeline-parallel-size", "pp", "pp-size"))


_SHORT: Final = (("c", "ctx-size"), ("np", "parallel"), ("ctk", "cache-type-k"))  # of llama.cpp


def _of_variables(environment: Mapping[str, str], called: str) -> dict[str, tuple[str, str]]:
    """The options that variables state: the variable and its value, by the option's name.

    >>> _of_variables({"LLAMA_ARG_HF_REPO": "a/b", "PATH": "/bin"}, "llama.cpp")
    {'hf-repo': ('LLAMA_ARG_HF_REPO', 'a/b')}
    >>> _of_variables({"QUANTIZE": "awq", "PORT": "80"}, "TGI")
    {'quantize': ('QUANTIZE', 'awq'), 'port': ('PORT', '80')}
    """
    options: dict[str, tuple[str, str]] = {}
    for variable, value in environment.items():
        prefix = next((each for each in _OPTION_VARIABLES if variable.startswith(each)), "")
        if prefix or (called in _OWN_NAMES and variable.isupper() and variable.replace("_", "").isalpha()):
            options.setdefault(variable.removeprefix(prefix).lower().replace("_", "-"), (variable, value))
    return options


def _precision(draft: Draft, options: Mapping[str, list[str]], where: str) -> None:
    stated = _one(options, "dtype", "torch-dtype", "precision") or ("fp16" if _on(options, "fp16") else "")
    stated = stated.rpartition(".")[2]  # torch.bfloat16
    precision = _PRECISIONS.get(stated)
    if precision and precision != "bf16":
        draft.take("model.precision", precision, f"{where}: --dtype")
    elif not precision and stated in STORED:
        draft.take("model.weights", stated, f"{where}: --dtype")


def _on(options: Mapping[str, list[str]], *names: str) -> bool | None:
    """Whether a switch is on; None where it is not stated."""
    stated = next((options[name] for name in names if name in options), None)
    if stated is None:
        return None
    return not stated or stated[0].lower() not in ("false", "no", "0", "off", "none", "null")


def _speculative(draft: Draft, options: Mapping[str, list[str]], where: str) -> None:
    """A draft model or n-grams, as vLLM's and SGLang's options have them. What is accepted stands in no command."""
    name = next((each for each in _SPECULATIVE if each in options), None)
    if name is None:
        return
    try:
        said = json.loads(_one(options, "speculative-config") or "{}")
    except ValueError:
        said = None
    if not isinstance(said, dict):
        draft.leave(f"--{name}", "is no JSON object")
        return
    algorithm = _one(options, "speculative-algorithm").lower()
    model = str(said.get("model") or _one(options, *_DRAFT_MODELS))
    method = str(said.get("method") or algorithm or ("draft_model" if model else ""))
    if model in ("ngram", "[ngram]"):  # as vLLM's releases before 0.9 have it
        method = "ngram"
    if method not in ("draft_model", "standalone", "ngram") or not (model or method == "ngram"):
        draft.leave(
            f"--{name} {method}".rstrip(),
            "draft models and n-grams are predicted, what is trained into the model is not",
        )
        return
    stated = said.get("num_speculative_tokens")
    tokens = _number(str(stated or "") or _one(options, "num-speculative-tokens", "speculative-num-steps"))
    value: dict[str, Any] = {"draft": "ngram" if method == "ngram" else model}
    value |= {"tokens": tokens} if tokens else {}
    draft.take("traffic.speculative", {**value, "acceptance": ACCEPTANCE}, f"{where}: --{name}")


def _figures(draft: Draft, options: Mapping[str, list[str]], where: str) -> None:
    """The dimensions of a model that the options describe, as Megatron, GPT-NeoX, NeMo and nanoGPT make one."""
    from sizewell.sizing.workload.hf_config import dimension_names

    figures: dict[str, Any] = {}
    for dimension, names in dimension_names().items():
        if dimension != "positions" and (number := _number(_one(options, *(each.replace("_", "-") for each in names)))):
            figures[dimension] = number
    if not {"layers", "hidden"} <= figures.keys():
        return
    if figures.get("kv_heads", 0) >= figures.get("heads", 0) or _on(options, "group-query-attention") is False:
        figures.pop("kv_heads", None)
    figures["gated"] = bool(_on(options, "swiglu", "use-swiglu", "glu-activation"))
    draft.figures = figures
    draft.tokenizer = _one(options, "tokenizer-model", "tokenizer-name-or-path", "hf-tokenizer-path", "tokenizer")
    draft.taken.append(("model", f"{where}: its dimensions"))


def _begins(draft: Draft, options: Mapping[str, list[str]], words: list[str]) -> bool:
    """Whether a training starts from nothing: a described model, or one by name whose script says so."""
    continued = {"finetune", "pretrained-checkpoint", "init-checkpoint", "restore-from-path"} & options.keys()
    load, save = _one(options, "load"), _one(options, "save")
    if continued or (load and save and load != save) or _one(options, "init-from") not in ("", "scratch", "resume"):
        return False
    scripts = re.search(r"\bpretrain\w*\.py\b|\btorchtitan\b|_pretraining\.py\b", " ".join(words))
    return bool(draft.figures) or (scripts is not None and not {"model-name-or-path", "base-model"} & options.keys())


def _trained(draft: Draft, options: dict[str, list[str]], where: str, words: Iterable[str] = ()) -> None:
    if not _one(options, *(name for name in _MODEL_OPTIONS if name != "model-name")):
        _figures(draft, options, where)
    if not draft.figures:
        _model(draft, options, where)
        _model_of_environment(draft)
    if not draft.model and (flavor := _one(options, "flavor")):  # torchtitan: --model.name llama3 --model.flavor 8B
        draft.model = f"{_one(options, 'name')}-{flavor}"
        draft.taken.append(("model", where))
    draft.from_nothing = _begins(draft, options, [*words])
    if (recomputed := _on(options, "gradient-checkpointing")) is not None:
        draft.take("training.activation_checkpointing", "full" if recomputed else "none", where)
    elif (way := _one(options, "recompute-granularity")) in ("full", "selective"):
        draft.take("training.activation_checkpointing", way, where)
    elif (recomputed := _on(options, "recompute-activations")) is not None:  # of Megatron: those of attention alone
        draft.take("training.activation_checkpointing", "selective" if recomputed else "none", where)
    if (packed := _on(options, "packing", "sample-packing")) is not None:
        draft.take("training.packed", packed, where)
    if length := _number(_one(options, *_LENGTHS)):
        draft.take("training.sequence_length", length, where)
    if steps := _number(_one(options, "max-steps", "train-iters", "num-train-steps", "max-iters", "steps")):
        draft.take("training.steps", steps, where)
    elif samples := _number(_one(options, "train-samples")):
        draft.take("training.samples", samples, where)
    elif epochs := _number(_one(options, "num-train-epochs", "num-epochs", "epochs")):
        draft.take("training.epochs", epochs, where)
    stated = _one(options, "adapter", "finetuning-type", "peft")
    quantized = _on(options, "load-in-4bit", "use-qlora", "qlora") or _one(options, "quantization-bit") == "4"
    adapters = _on(options, "use-peft", "use-lora", "lora") or {"lora-r", "lora-rank"} & options.keys()
    preferred = next((word for word in (_one(options, "stage", "rl")).split() if word in PREFERENCES), "")
    if preferred:
        draft.take("training.method", preferred, where)
    elif quantized or adapters or stated in ("lora", "qlora"):
        draft.take("training.method", "qlora" if quantized or stated == "qlora" else "lora", where)
    if quantized or adapters or stated in ("lora", "qlora"):
        shape: dict[str, Any] = {"rank": rank} if (rank := _number(_one(options, "lora-r", "lora-rank"))) else {}
        if targets := _adapted(draft, options):
            shape["targets"] = targets
        if shape:
            draft.take("training.lora", shape, where)
    elif not draft.from_nothing and (
        draft.figures or _one(options, *_MODEL_OPTIONS)
    ):  # the whole recipe stands in the command
        draft.take("training.method", "full", f"{where}: no option for adapters")
    optimizer = _one(options, "optim", "optimizer").replace("_", "-")
    if optimizer in _OPTIMIZERS:
        draft.take("training.optimizer", _OPTIMIZERS[optimizer], f"{where}: --optim")
    _precision(draft, options, where)
    each = _number(
        _one(
            options,
            "per-device-train-batch-size",
            "micro-batch-size",
            "batch-size",
            "local-batch-size",
            "train-micro-batch-size-per-gpu",
        )
    )
    tokens = draft.values.get("training.sequence_length")
    whole = _number(_one(options, "effective-batch-size", "train-batch-size", "global-batch-size", "total-batch-size"))
    if whole and tokens:
        draft.take("training.global_batch", whole * tokens, f"{where}: batch x sequence")
        return
    if whole:
        draft.leave(f"batch of {whole}", "state the tokens of a step: training.global_batch")
        return
    accumulated = _number(_one(options, "gradient-accumulation-steps")) or 1
    devices = draft.devices or _started(options)
    if "n-embd" in options:  # nanoGPT's accumulation is that of all devices together, of a default of its own
        devices = min(devices, 1) if "gradient-accumulation-steps" in options else 0
    if each and tokens and devices:
        draft.take("training.global_batch", each * accumulated * devices * tokens, f"{where}: batch x devices")
    elif each:
        draft.leave(f"batch of {each} a device", "state the tokens of a step: training.global_batch")
    _splits(draft, options)


def _started(options: Mapping[str, list[str]]) -> int:
    """The processes that a launcher starts, each with a device; 0 where it does not say."""
    if whole := _number(_one(options, "num-processes")):
        return whole
    each, nodes = _number(_one(options, "nproc-per-node")), _number(_one(options, "nnodes")) or 1
    return each * nodes if each else 0


def _splits(draft: Draft, options: Mapping[str, list[str]]) -> None:
    split = [f"--{name} {options[name][0]}" for name in _SPLITS if options.get(name) and options[name][0].isdigit()]
    if split:
        draft.leave(", ".join(split), "how the model is split follows from the machines that are chosen")


def _model(draft: Draft, options: Mapping[str, list[str]], where: str) -> None:
    stated = _one(options, *_MODEL_OPTIONS)
    if stated and not draft.model:
        draft.model = stated
        draft.taken.append(("model", where))


def _model_of_environment(draft: Draft) -> None:
    for name in _MODEL_VARIABLES:
        if not draft.model and _HUB_NAME.fullmatch(draft.environment.get(name, "")):
            draft.model = draft.environment[name]
            draft.taken.append(("model", f"the variable {name}"))


def _behind(line: str, words: list[str]) -> list[str]:
    """The words that follow the program which a server's line names.

    >>> _behind("vllm serve", ["exec", "vllm", "serve", "a/b", "--tp", "2"])
    ['a/b', '--tp', '2']
    """
    ends = (index for index in range(1, len(words) + 1) if re.search(line, " ".join(words[:index])))
    return words[next(ends, 0) :]


def read_settings(draft: Draft, options: dict[str, list[str]], where: str) -> None:
    """What the settings of a training say, and which of them decide nothing."""
    _trained(draft, options, where)
    for name, way in ((name, _ways().get(name, "")) for name in options):
        if way.startswith("leave it out: "):
            draft.leave(name.replace("-", "_"), way.removeprefix("leave it out: "))


def option_meant(where: str, key: str, section: Mapping[str, Any], *, trains: bool, devices: int | None) -> str:
    """What to write for an option of a server or a trainer that stands as a key of a spec; "" where it is none.

    `section` is the mapping that has it. What an import takes over or leaves because of it is what it means.

    >>> option_meant("", "max_model_len", {"max_model_len": 32768}, trains=False, devices=None)
    'leave it out: it is a limit; memory and time follow from the means under traffic'
    >>> option_meant("training", "sample_packing", {"sample_packing": True}, trains=True, devices=None)
    'write packed: true'
    """
    drafts = []
    for given in (section, {name: value for name, value in section.items() if name != key}):
        draft = Draft(name=key, devices=devices)
        options = settings_of(given)
        if trains:
            _trained(draft, options, "")
        else:
            _served(draft, _SERVERS[0], [word for name, words in options.items() for word in (f"--{name}", *words)], "")
        drafts.append(draft)
    having, lacking = drafts
    taken = {path: value for path, value in having.values.items() if lacking.values.get(path) != value}
    left = [why for _, why in having.left if why not in {other for _, other in lacking.left}]
    if taken:
        path, value = next(iter(taken.items()))
        home, _, name = path.rpartition(".")
        line = f"{name}: {_written(value)}"
        return f"write {line}" if home == where else f"write {home}: {{{line}}}"
    if left:
        why = left[0]
        return (
            f"leave it out, or {why}"
            if why.startswith("state")
            else f"leave it out: it {why}"
            if why.startswith("is ")
            else f"leave it out: {why}"
        )
    return _ways().get(key.replace("_", "-").lower(), "")


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_written(item)}' for key, item in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_of(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """The settings of a trainer's or a server's own file as the options that they are on a command line.

    >>> settings_of({"lora_r": 32, "packing": True, "bf16": "auto", "targets": ["q", "v"], "datasets": [{"path": "x"}]})
    {'lora-r': ['32'], 'packing': ['true'], 'bf16': ['auto'], 'targets': ['q', 'v'], 'datasets': []}
    """
    options: dict[str, list[str]] = {}
    for key, value in document.items():
        items = value if isinstance(value, list) else [value]
        plain = [str(item).lower() if isinstance(item, bool) else str(item) for item in items
                 if isinstance(item, str | int | float)]  # fmt: skip
        if value is not None:
            options[str(key).replace("_", "-").lower()] = plain
    return options


@cache
def _ways() -> Mapping[str, str]:
    rows = csvtables.read(Option, Path(__file__).parents[1] / "data/options.csv")
    return {option: row.way for row in rows for option in row.options}


def _positional(words: list[str]) -> Iterable[str]:
    for word in words:
        if re.match(r"--?[\w-]+=", word):
            continue  # an option with its value
        if word.startswith("-"):
            return
        yield word


_TARGETS = ("lora-target-modules", "target-modules", "lora-target", "lora-attn-modules")
_ALL = {"all", "all-linear", "all_linear"}


def _adapted(draft: Draft, options: Mapping[str, list[str]]) -> str | list[str]:
    """The matrices that get adapters, as the options of trainers name them; "" where none is named that is known."""
    named = [
        name for key in _TARGETS for word in options.get(key, []) for name in re.split(r"[\s,\[\]'\"]+", word) if name
    ]
    if _on(options, "lora-target-linear") or _ALL & set(named):
        return "all-linear"
    if _on(options, "apply-lora-to-mlp"):  # of torchtune, beside its lora_attn_modules
        named += ["gate_proj", "up_proj", "down_proj"]
    if unknown := [name for name in named if not projections(name)]:
        draft.leave(
            f"adapters on {', '.join(unknown)}", "not among the matrices that are counted: training.lora.targets"
        )
    return [name for name in dict.fromkeys(named) if projections(name)]


def _one(options: Mapping[str, list[str]], *names: str) -> str:
    return next((options[name][0] for name in names if options.get(name)), "")


def _number(text: str) -> int | None:
    try:
        value: Any = float(text)
    except ValueError:
        return None
    return int(value) if value >= 1 else None
