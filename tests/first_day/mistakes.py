"""What people write who come from another tool, or from memory: each a spec that is right but for one thing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

CHAT: Final = """name: chat
kind: inference
model: {model}
traffic: {traffic}
{more}
"""
MODEL: Final = "meta-llama/Llama-3.1-8B"
TRAFFIC: Final = "{rps: 4, input_tokens: 1500, output_tokens: 300}"
PICTURES: Final = "name: x\nkind: inference\nmodel: stabilityai/stable-diffusion-xl-base-1.0\ntraffic: {traffic}\n"
TUNE: Final = """name: tune
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
training: {training}
"""

MODELS: Final = """
llama3 | llama3:8b | llama3.1:70b | llama3.2 | llama3.3 | llama 3 70b instruct | llama2 | llama2:70b | gpt-4o | gpt-4o-mini
gpt-4 | gpt-3.5-turbo | o1-preview | claude-3-5-sonnet | claude | gemini-1.5-pro | command-r-plus:104b | mistral | mistral:7b
mixtral | mixtral:8x22b | mistral-large | mistralai/Mistral-7B | qwen2.5 | qwen2.5:14b | qwen2.5-coder:32b | qwen3
qwen3:32b | qwq | gemma2 | gemma2:27b | gemma3 | gemma3:12b | phi3 | phi4 | deepseek-r1:70b | deepseek-chat | gpt-oss
gpt-oss:20b | codellama | tinyllama | whisper | whisper-1 | whisper-large | sdxl | stable diffusion | flux | dall-e-3
qwen2.5:72b-instruct-q4_K_M | llama3.1:8b-instruct-q8_0 | llama3.1:8b-instruct-fp16 | gemma3:27b-it-qat
us.meta.llama3-3-70b-instruct-v1:0 | meta.llama3-2-3b-instruct-v1:0 | llama-v3p1-8b-instruct | deepseek.r1-v1:0
bert | resnet | mistral-large-latest | mistral.mistral-large-2402-v1:0 | mistral-small-latest | Llama 4 Maverick | qwen-max
glm-4.5 | cohere.embed-english-v3 | Llama 3 8B | text-embedding-3-small | nomic-embed-text:latest | all-minilm | gpt2 | falcon | kimi | glm-4
3B | 7B | 13b | 350m
"""
PLACES: Final = """
us-east-1 | [us-east-1] | [aws/us-east1] | [azure/West Europe] | [azure/westeurope2] | [AWS] | [amazon] | [google]
[google cloud] | [gce/us-central1] | [microsoft] | [aws/us-east-1a] | [aws/us-east-1/us-east-1q] | [gcp/us-central1-a]
[gcp/us-central1/us-central1-z] | [gcp/us-central1/a] | [azure/eastus/7] | [aws/frankfurt] | [aws/ireland] | [Frankfurt]
[aws/eu] | [europe] | [gke/europe-west4] | [eks] | [digitalocean] | [aws:us-east-1] | [aws.us-east-1] | [aws/virginia]
[azure/East US 2] | [aws/uk] | [azure/germany] | [aws/westeurope] | [aws/us-central1-a] | [aws/US East (N. Virginia)] | [AWS Frankfurt, Azure West Europe, GCP Netherlands] | [azure/EastUS] | [us] | [oracle]
[Google Cloud europe-west4] | [AWS Europe (Ireland)] | [Amazon Web Services us-east-1] | [GCP London] | [London]
"""
LOADS: Final = """
{users: 20} | {concurrent_users: 20} | {rps: 4} | {qps: 4, input_tokens: 100, output_tokens: 100}
{requests_per_second: 4, input_tokens: 100, output_tokens: 100} | {rpm: 60, input_tokens: 100, output_tokens: 100}
{rps: 4, prompt_tokens: 100, completion_tokens: 100} | {rps: 4, input: 100, output: 100} | 10 rps
{requests_per_day: 10000, input_tokens: 100, output_tokens: 100} | {rps: 4 req/s, input_tokens: 1k, output_tokens: 100}
{audio_hours_per_day: 2000} | {rps:4, input_tokens:6000, output_tokens:50} | {dau: 20k} | {tokens_per_day: 20M} | {monthly_requests: 3M}
{rps: 1, requests_per_user: 10, input_tokens: 100, output_tokens: 10} | {peak_rps: 10} | {tpm: 2M} | {rps: 4, input_tokens: 100, max_tokens: 100} | {concurrency: 10, input_tokens: 100, output_tokens: 100}
{daily_active_users: 30000, messages_per_user: 5, input_tokens: 100, output_tokens: 100}
{rps: -1, input_tokens: 100, output_tokens: 100} | {rps: ten, input_tokens: 100, output_tokens: 100}
"""
HARDWARE: Final = """
{count: 64} | {accelerators: H100:8} | {accelerators: 64 H100} | {accelerators: [8xH100]} | {gpu: H100}
{accelerators: h100x8} | {accelerators: 4090} | {gpu: A100:8} | {gpu: 80} | {nodes: 1-8} | {nodes: 0} | {cpus: 4}
{memory: 64GB} | {instance_type: p5.48xl} | {instance_type: H100} | {instance_type: [g6e.xlarge, p9.48xlarge]}
{accelerators: H100, region: us-central1} | {accelerators: H100, zone: us-central1-a} | {accelerators: H100, cloud: gcp}
{accelerators: "A100-80GB:8", cloud: GCP, region: europe-west4} | {instance_type: a3-highgpu-8g, region: europe-west4}
{accelerators: H100, region: us-east-1, zone: us-east-1a} | {accelerators: H100, infra: aws/us-east-1}
{gpus: 64 H100} | {gpus: 8xH100} | {gpus: H100:8} | {gpu: RTX 4090} | {gpu: 2x A100-80GB} | {gpus: 8x80GB}
{gpu_type: H100} | {num_gpus: 8} | {limits: {nvidia.com/gpu: 8}} | {tpu: v5e-8} | {tpu: v5litepod-8}
"""
WEIGHTS: Final = "4bit | 4-bit | awq | gptq | q4_k_m | 8bit | nf4 | fp8_e4m3 | half | float16 | bfloat16"
LINES: Final = """
slo: fast | slo: {ttft: 500} | slo: {latency: 2} | slo: {p95: 500ms} | slo: {ttft: 500ms, percentile: 95} | budget: 1000
budget: {monthly: 1000} | budget: $1000/month | budget: {monthly: 1000 EUR} | spot: true | spot_policy: true
spot_policy: preferred | region: us-east-1 | cloud: aws | gpus: 8 | gpu: H100 | accelerators: [H100] | replicas: 2
autoscaling: true | min_replicas: 1 | image: vllm/vllm-openai | engine: vLLM | engine: tgi | engine: ollama
quantization: awq | schedule: business hours | schedule: {on: 9-5} | ttl: 7 | ttl: never | ttl: 1 week | ttl: 1y | ttl: 1 month
deadline: 1 month | schedule: {on: Mon-Fri 09:00-17:00 PST} | schedule: {on: Mon-Fri 09:00-17:00 IST} | schedule: {on: 24/7}
schedule: {on: weekdays 9am-5pm} | schedule: {on: weekdays 9am-5pm Europe/London} | schedule: {on: Mon-Fri 9-17 CET}
resources: {instance_type: 2x p5.48xlarge} | resources: {instance_type: "g5.xlarge:2"}
owner: ML Platform | priority: high | idle: true | idle: {timeout: 30m} | tags: {team: a} | env: prod | data: s3://b/x
data: {location: mybucket} | checkpoint: true | utilization: 0.7 | managed: yes | scheduler: k8s | latency: 500ms
max_price: 2 | team: ml | framework: torch | objective: cheapest | objective: speed | Name: x | deadline: tomorrow
"""
KINDS: Final = (
    "train | finetune | fine-tune | serve | serving | batch | llm | chat | embedding | pretraining | notebooks | jupyter"
    " | inference-service | rag | transcription | pipeline"
)
BATCHES: Final = """
{audio_hours: 5000, window: 8h} | {audio: 5000h, window: 8h} | {records: 1k, audio: 1m, window: 8h} | {audio_minutes: 6k, window: 1d}
{audio: 500 hours a day, window: 8h}
{documents: 20k, tokens_per_document: 400, window: overnight, every: weekly} | {records: 2 million, window: 8h}
"""
WHISPER: Final = "name: talks\nkind: batch-inference\nmodel: openai/whisper-large-v3\nbatch: {batch}\n"
# Whole specs.
FILES: Final = {
    "audio at the top": "name: x\nkind: batch-inference\nmodel: openai/whisper-large-v3\naudio: 500 hours a day\n",
    "audio in seconds": "name: x\nkind: inference\nmodel: openai/whisper-large-v3\ntraffic: {rps: 1, audio_seconds: 30}\n",
    "images at the top": PICTURES.format(traffic="{rps: 1}") + "images: {size: 1024x1024, steps: 30}\n",
    "a picture that is not square": PICTURES.format(traffic="{rps: 1, images: {resolution: 1920x1080}}"),
    "a name beside params": CHAT.format(model="{name: own, params: 3B}", traffic=TRAFFIC, more=""),
}
RUNS: Final = """
{epochs: 3} | {dataset: x} | {tokens: 10 billion, sequence_length: 2048} | {tokens: 1B, seq_len: 2048}
{steps: 1000, batch_size: 8, sequence_length: 1024} | {samples: 10k, max_seq_length: 2048, method: sft}
{samples: 10k, epochs: 3, sequence_length: 2k, method: QLoRA} | {samples: 10k, epochs: 3, context: 8k}
{samples: 10k, sequence_length: 1024, optimizer: adam8bit}
{samples: 10k, sequence_length: 1024, lora_rank: 16} | {samples: 10k, sequence_length: 1024, precision: bf16}
"""


def _each(table: str) -> list[str]:
    return [part.strip() for line in table.strip().splitlines() for part in line.split(" | ")]


def _chat(*, model: str = MODEL, traffic: str = TRAFFIC, more: str = "") -> str:
    return CHAT.format(model=model, traffic=traffic, more=more)


def mistakes() -> Iterator[tuple[str, str]]:
    """The name of each, and the spec."""
    yield from ((f"model {name}", _chat(model=f'"{name}"')) for name in _each(MODELS))
    yield from ((f"infra {place}", _chat(more=f"infra: {place}")) for place in _each(PLACES))
    yield from ((f"traffic {load}", _chat(traffic=load)) for load in _each(LOADS))
    yield from ((f"resources {limits}", _chat(more=f"resources: {limits}")) for limits in _each(HARDWARE))
    yield from ((f"weights {form}", _chat(model=f"{{name: {MODEL}, weights: {form}}}")) for form in _each(WEIGHTS))
    yield from ((line, _chat(more=line)) for line in _each(LINES))
    yield from ((f"kind {kind}", _chat().replace("kind: inference", f"kind: {kind}")) for kind in _each(KINDS))
    yield from ((f"batch {batch}", WHISPER.format(batch=batch)) for batch in _each(BATCHES))
    yield from ((f"training {run}", TUNE.format(training=run)) for run in _each(RUNS))
    yield from FILES.items()
