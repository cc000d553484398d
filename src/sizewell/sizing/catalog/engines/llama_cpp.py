"""llama.cpp: quantised language models from GGUF files, on one machine; what serves them without an accelerator."""

from sizewell.sizing.catalog.engine import Flag, InferenceEngine

REPOSITORY = "ghcr.io/ggml-org/llama.cpp"
RELEASE = r"(-b\d+|-v[\d.]+)?"  # a build, or since August 2026 a release with three numbers

ENGINE = InferenceEngine(
    name="llama.cpp",
    images={"cpu": REPOSITORY, "cuda": REPOSITORY, "rocm": REPOSITORY},
    tags={"cpu": f"server{RELEASE}", "cuda": rf"server-cuda\w*{RELEASE}", "rocm": f"server-rocm{RELEASE}"},
    families=frozenset({"decoder"}),
    default_for=frozenset(),
    default_on_cpu=frozenset({"decoder"}),
    command=("/app/llama-server",),
    fixed=("--metrics",),
    flags={
        "model": Flag(name="--hf-repo"),
        "model_file": Flag(name="--model"),
        "host": Flag(name="--host"),
        "port": Flag(name="--port"),
        "served_name": Flag(name="--alias"),
        "sequences_max": Flag(name="--parallel"),
        "sequence_length_max": Flag(name="--ctx-size"),
        "threads": Flag(name="--threads", only=("cpu",)),
    },
    env={"LLAMA_CACHE": "{cache}/llama.cpp"},
    ready="/health",
    protocol="openai",
    in_flight="sum(llamacpp:requests_processing{{{0}}}) + sum(llamacpp:requests_deferred{{{0}}})",
    hub=False,  # what a model is called on the Hub is no GGUF file: which quantisation is loaded has to be said
    reads=frozenset({"hub"}),  # --hf-repo; a bucket is nothing that it knows
    nodes_max=1,
    at_load=frozenset(),
    predicted_as="llama.cpp",
    image_example=f"{REPOSITORY}:server-b6900",
    model_example="a GGUF repository on the Hub, as bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M, or a file",
    shares_context=True,
    package="llama.cpp",
    source="github.com/ggml-org/llama.cpp docs/docker.md, tools/server/README.md and .github/workflows/docker.yml",
    checked="2026-11-22",
)
