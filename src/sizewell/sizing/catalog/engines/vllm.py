"""vLLM: language models and encoders, on one machine or several."""

from sizewell.sizing.catalog.engine import Conversion, Flag, InferenceEngine

ENGINE = InferenceEngine(
    name="vllm",
    images={
        "cuda": "vllm/vllm-openai",  # for CUDA alone
        "rocm": "rocm/vllm",
        "tpu": "vllm/vllm-tpu",
        "cpu": "vllm/vllm-openai-cpu",
        "neuron": "public.ecr.aws/neuron/pytorch-inference-vllm-neuronx",
    },
    families=frozenset({"decoder", "encoder", "speech"}),
    default_for=frozenset({"decoder", "encoder", "speech"}),
    lacks={"speech": "vllm[audio]"},  # docs.vllm.ai/en/stable/deployment/docker: optional dependencies are left out
    command=("vllm", "serve"),
    fixed=(),
    flags={
        "model": Flag(name=""),
        "host": Flag(name="--host"),
        "port": Flag(name="--port"),
        "served_name": Flag(name="--served-model-name"),
        "tensor_parallel": Flag(name="--tensor-parallel-size"),
        "pipeline_parallel": Flag(name="--pipeline-parallel-size"),
        "executor": Flag(name="--distributed-executor-backend"),
        "nodes": Flag(name="--nnodes"),
        "node_rank": Flag(name="--node-rank"),
        "master_host": Flag(name="--master-addr"),
        "master_port": Flag(name="--master-port"),
        "worker": Flag(name="--headless"),
        "sequences_max": Flag(name="--max-num-seqs"),
        "sequence_length_max": Flag(name="--max-model-len"),
        "memory_share": Flag(name="--gpu-memory-utilization", only=("cuda", "rocm")),
        "dtype": Flag(name="--dtype", values={"fp16": "half", "bf16": "bfloat16", "fp32": "float32"}),
        "quantization": Flag(name="--quantization", values={"nf4": "bitsandbytes"}),
        "kv_dtype": Flag(name="--kv-cache-dtype", values={"int8": "fp8"}),  # it knows no 8-bit integers there
        "expert_parallel": Flag(name="--enable-expert-parallel", only=("cuda", "rocm")),
        "adapters": Flag(name="--enable-lora", only=("cuda", "rocm")),
        "adapters_resident": Flag(name="--max-loras", only=("cuda", "rocm")),
        "adapters_cached": Flag(name="--max-cpu-loras", only=("cuda", "rocm")),
        "adapter_rank": Flag(name="--max-lora-rank", only=("cuda", "rocm")),
        "speculative": Flag(name="--speculative-config", only=("cuda", "rocm")),
    },
    env={"VLLM_CACHE_ROOT": "{cache}/vllm", "VLLM_NO_USAGE_STATS": "1"},
    ready="/health",
    protocol="openai",
    in_flight="sum(vllm:num_requests_running{{{0}}}) + sum(vllm:num_requests_waiting{{{0}}})",
    hub=True,
    reads=frozenset({"hub", "s3", "gs", "az"}),  # by the Run:ai Model Streamer (SUPPORTED_SCHEMES of runai_utils)
    nodes_max=None,
    # vllm/model_executor/layers/quantization of the wheels: fp8 refuses 16-bit checkpoints from 0.31 on, bitsandbytes
    # is gone from 0.28 on, and weights of fp8 begin on the meta device, one layer at a time, from 0.16 on (not 0.15.1).
    conversions=(
        Conversion(weights="fp8", word="fp8", until="0.31.0"),
        Conversion(weights="fp8", word="fp8_per_tensor", since="0.20.0"),
        Conversion(weights="nf4", word="bitsandbytes", until="0.28.0"),
    ),
    converts_by_layer="0.16.0",
    at_load=frozenset({"fp8", "nf4"}),  # 4-bit integers are sized as AWQ and GPTQ run, which are prepared beforehand
    predicted_as="vllm",
    cache_env="VLLM_CPU_KVCACHE_SPACE",
    image_example="vllm/vllm-openai:v0.11.0",
    model_example="a name on the Hub, or s3://bucket/folder",
    source="docs.vllm.ai/en/stable (serve, docker); rocm.docs.amd.com (vLLM inference); Neuron's container quickstart",
    checked="2026-11-22",
    adapter_ranks=(8, 16, 32, 64, 128, 256, 320, 512),
    drafts_from="0.15.0",  # 0.14.1 raises NotImplementedError (github.com/vllm-project/vllm/pull/24322)
    # Windows: github.com/vllm-project/vllm/issues/33133 and pull/33318, of January 2026; of later releases not read.
    # Images: its draft model refuses them, still in 0.20.2 (github.com/vllm-project/vllm/issues/42005).
    undrafted={"windows": ("0.15",), "images": ("0.15", "0.16", "0.17", "0.18", "0.19", "0.20")},
    package="vllm",
)
