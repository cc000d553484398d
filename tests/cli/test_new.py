"""`sizewell new`: each first spec is sized as it is written, with an answer of one's own in its place."""

from __future__ import annotations

import errno
import io
import json
import shlex
from pathlib import Path

import pytest

from sizewell.cli.new import WORKLOADS
from sizewell.sizing.catalog import load
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.workload.read import read_spec

from .conftest import ROOT, Sizewell

ANSWERS = {
    "chat": ("Qwen/Qwen3-8B", "12"),
    "rag": ("mistralai/Mistral-7B-Instruct-v0.3", "0.2"),
    "embed": ("BAAI/bge-large-en-v1.5", "200"),
    "transcribe": ("openai/whisper-large-v3", "0.1"),
    "image": ("black-forest-labs/FLUX.1-schnell", "0.1"),
    "finetune": ("Qwen/Qwen3-14B", "8k"),
    "pretrain": ("meta-llama/Llama-3.2-1B", "5B"),
    "batch": ("Qwen/Qwen3-8B", "300k"),
    "notebook": ("", "24GB.."),
}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_it_writes_is_sized_as_it_is(
    workload: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sizewell("new", workload)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(f"Next:\n  sizewell size {workload}.yaml\n")
    sized = sizewell("size", f"{workload}.yaml", "--json", "--on", "2026-11-20")
    assert sized.code in (0, 3), sized.err
    assert json.loads(sized.out)["workloads"][0]["spec"]["name"] == workload


@pytest.mark.parametrize("workload", ANSWERS)
def test_answers_stand_in_the_spec(
    workload: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, load_ = ANSWERS[workload]
    stated = ["--model", model] if model else []
    done = sizewell("new", workload, *stated, "--load", load_, "--infra", "aws/us-east-1", "--name", "mine")
    assert done.code == 0, done.err
    spec = read_spec(tmp_path / "mine.yaml", load())
    assert (spec.name, [str(place) for place in spec.infra]) == ("mine", ["aws/us-east-1"])
    text = (tmp_path / "mine.yaml").read_text()
    assert model in text
    assert load_ in text


@pytest.mark.parametrize(
    ("stack", "place"),
    [
        ("dev-gcp-trial", "gcp"),
        ("trial-azure", "azure"),
        ("dev-aws-trial", "aws/us-east-1"),
        ("trial", "aws/us-east-1"),
    ],
)
def test_a_new_stack_is_where_its_name_says_or_the_project_is(
    stack: str, place: str, sizewell: Sizewell, project: Path
) -> None:
    assert sizewell("new", "notebook", "--stack", stack).code == 0
    text = (project / "stacks/specs" / stack / "notebook.yaml").read_text()
    assert f"infra: [{place}]" in text
    assert ("owner: " in text) == stack.startswith("dev-aws-")


def test_a_spec_of_a_stack_has_the_owner_and_the_place_of_the_others(sizewell: Sizewell, project: Path) -> None:
    assert sizewell("new", "transcribe", "--stack", "dev-aws").code == 0
    text = (project / "stacks/specs/dev-aws/transcribe.yaml").read_text()
    assert all(f"\n{line}\n" in text for line in ("infra: [aws/us-east-1]", "owner: search", "cost_center: c-1"))
    assert sizewell("size", "--stack", "dev-aws", "--on", "2026-11-20").code == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("chat --model llama9", "'llama9' is not one of the"),
        ("chat --load many", "traffic.rps: must be"),
        ("chat --infra mars", "infra[0]: must be one of"),
        ("notebook --model Qwen/Qwen3-8B", "a notebook has no model"),
        ("", "WORKLOAD is missing"),
        ("chatt", "did you mean chat?"),
        ("chat --load 100users", "100users who ask once a minute each are --load 1.67"),
        ("chat --load '5000 users a day'", "5000 users a day are --load 50k/d, if each asks 10 times a day"),
        ("rag --load '10k users a month'", "10k users a month are --load 3333/d, if each asks 10 times a month"),
        ("image --load '300 DAU'", "300 DAU are --load 3k/d, if each asks 10 times a day"),
        ("chat --load '1k MAU'", "1k MAU are --load 333/d, if each asks 10 times a month"),
        ("chat --load '2000 visitors a day'", "2000 visitors a day are --load 20k/d"),
        ("chat --load '700 weekly active users'", "700 weekly active users are --load 1k/d"),
        ("embed --load '50 customers an hour'", "50 customers an hour are --load 500/h, if each asks 10 times an hour"),
        ("chat --load '60 users a minute'", "60 users a minute are --load 60/min, if each asks 1 time"),
        ("transcribe --load '5000 users a day'", "are --load 0.116, if each speaks for a minute in that time"),
        ("transcribe --load 100h", "100h of audio a day are --load 0.139"),
        ("transcribe --load '2 hours of audio per hour'", "per hour are --load 0.0667"),
        ("transcribe --load '500 hours per week'", "500 hours per week are --load 0.0992"),
        ("transcribe --load '90 minutes a minute'", "90 minutes a minute are --load 3"),
        ("chat --infra aws-us-east-1", "fix: write aws/us-east-1"),
        ("chat --load '10 tps'", "10 tps of 1,800 a request are --load 0.00556; if they are transactions: --load 10"),
        ("chat --load '1M tokens a day'", "1M tokens a day of 1,800 a request are --load 0.00643"),
        ("batch --load '9M tokens'", "9M tokens of 900 each are --load 10k"),
        ("video", "one that watches is sizewell new batch"),
        ("--example petsnap-vlm", "did you mean petsnap-vlm-"),
    ],
)
def test_nothing_is_written_of_a_wrong_answer(
    line: str, says: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sizewell("new", *shlex.split(line))
    assert done.code == 64
    assert says in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_amount_with_what_it_counts_is_taken(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sizewell("new", "finetune", "--load", "5k examples").code == 0
    assert sizewell("new", "batch", "--load", "10k per night").code == 0
    assert "samples: 5k" in Path("finetune.yaml").read_text()
    assert "records: 10k" in Path("batch.yaml").read_text()


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (("chat", "50 concurrent users"), "concurrent_users: 50"),
        (("rag", "2k users at the same time"), "concurrent_users: 2k"),
        (("transcribe", "40 live streams"), "rps: 1.33 "),
        (("notebook", "1 A100"), "resources: {accelerators: {A100: 1}, nodes: 1}"),
        (("notebook", "2x L4"), "resources: {accelerators: {L4: 2}, nodes: 1}"),
        (("notebook", "A100-80GB"), "resources: {accelerators: {A100-80GB: 1}, nodes: 1}"),
    ],
)
def test_a_load_of_another_key_stands_under_it(
    answer: tuple[str, str], line: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workload, stated = answer
    done = sizewell("new", workload, "--load", stated)
    assert done.code == 0, done.err
    assert line in Path(f"{workload}.yaml").read_text()


@pytest.mark.parametrize("workload", ["chat", "rag", "embed", "batch", "finetune", "pretrain"])
def test_no_length_is_longer_than_the_model_reads(workload: str, tmp_path: Path) -> None:
    from sizewell.cli.new import WORKLOADS, fitted, spec_text
    from sizewell.sizing.workload.read import parse_spec

    catalog = load()
    kinds = {"embed": ("encoder",), "batch": ("decoder", "encoder")}.get(workload, ("decoder",))
    for name, model in catalog.models.items():
        small = (model.max_sequence_length or 10**6) < 8192 and not is_speech_recognizer(model)
        if model.kind in kinds and small:
            answers = {"model": name, "load": WORKLOADS[workload].load}
            text = fitted(spec_text(workload, "x", answers, []), name, catalog)
            spec = parse_spec(text, "x.yaml", catalog=catalog)
            if spec.traffic:
                assert spec.traffic.input_tokens
                assert spec.traffic.input_tokens > (spec.traffic.output_tokens or 0)


def test_pictures_get_no_length_in_tokens(sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sizewell("new", "finetune", "--model", "black-forest-labs/FLUX.1-dev").code == 0
    assert "sequence_length" not in Path("finetune.yaml").read_text()


def test_a_full_disk_leaves_no_half_of_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sizewell.cli.new import write
    from sizewell.sizing.errors import UsageError

    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "chat.yaml"
    monkeypatch.setattr(Path, "open", lambda self, *_, **__: self.touch() or Full())
    with pytest.raises(UsageError, match="No space left"):
        write(path, "name: chat\n")
    assert not path.exists()


def test_a_file_that_is_there_is_kept(sizewell: Sizewell, project: Path) -> None:
    kept = project / "stacks/specs/dev-aws/chat.yaml"
    before = kept.read_text()
    done = sizewell("new", "chat", "--stack", "dev-aws")
    assert (done.code, kept.read_text()) == (64, before)
    assert "--name NAME" in done.err


@pytest.mark.parametrize("line", [("chat",), ("--example", "petsnap-vlm-qlora")])
@pytest.mark.parametrize("folder", ["taken", "taken/sub"])
def test_a_folder_that_is_a_file_is_called_one(
    sizewell: Sizewell, tmp_path: Path, line: tuple[str, ...], folder: str
) -> None:
    (tmp_path / "taken").touch()
    done = sizewell("new", *line, "--folder", str(tmp_path / folder), "--no-input")
    assert done.code == 64
    assert "taken is a file, not a folder\n  fix: name another folder" in done.err


def test_every_example_of_the_repository_is_installed(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [*(ROOT / "examples").glob("*.yaml"), *(ROOT / "examples/timelines").glob("*.json")]
    assert json.loads(sizewell("new", "--list", "--json").out) == sorted(path.stem for path in files)
    assert sizewell("new", "--example", "weekend").out.endswith("  sizewell teardown replay weekend.json\n")
    assert sizewell("teardown", "replay", "weekend.json").code == 0
    assert sizewell("new", "--example", "petsnap-vlm-qlora.yaml", "--name", "mine").code == 0
    assert read_spec(tmp_path / "mine.yaml", load()).name == "petsnap-vlm-qlora"


def test_a_word_for_a_workload_is_taken_and_all_that_is_wrong_is_said_at_once(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sizewell(
        "new", "chatbot", "--model", "Llama 3.1 70B", "--load", "500 users", "--infra", "London", "--no-input"
    )
    assert done.code == 64
    for said in (
        "who ask once a minute each are --load 8.33",
        "did you mean meta-llama/Llama-3.1-70B",
        "aws/eu-west-2",
    ):
        assert said in done.err
    assert not [*tmp_path.iterdir()]
    model = "meta-llama/Llama-3.1-70B"
    done = sizewell("new", "chatbot", "--model", model, "--load", "8.33", "--infra", "aws/eu-west-2", "--no-input")
    assert done.code == 0
    assert (tmp_path / "chat.yaml").exists()


@pytest.mark.parametrize(
    ("word", "meant"),
    [("lora", "finetune"), ("whisper", "transcribe"), ("jupyter", "notebook"), ("llm", "chat"), ("chatbot", "chat")],
)
def test_a_word_for_a_workload_writes_what_it_means(
    word: str, meant: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"wrote {meant}.yaml" in sizewell("new", word).out
    assert sizewell("new", meant, "--name", "same").code == 0
    written = (tmp_path / f"{meant}.yaml").read_text(encoding="utf-8")
    assert written.replace(f"name: {meant}", "name: same") == (tmp_path / "same.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        (("notebook", "about 30 GB"), "--load 30GB.."),
        (("notebook", "A100 or H100"), "--load 'accelerators: [A100, H100]'"),
        (("chat", "300k invoices per month"), "--load 10000/d"),
        (("transcribe", "500 calls of 8 minutes a day"), "--load 8000/d"),
        (("transcribe", "500 calls/day"), "500 calls of 6m each (say how long yours are) are --load 6000/d"),
    ],
)
def test_a_load_in_other_words_has_a_fix_that_is_an_option(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str], fix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    workload, load = asked
    said = sizewell("new", workload, "--load", load)
    assert said.code == 64
    assert fix in said.err
    option = shlex.split(said.err.rpartition("--load ")[2].splitlines()[0].partition(";")[0])[0]
    assert sizewell("new", workload, "--load", option).code == 0


def test_several_of_a_device_are_a_load_of_a_notebook(
    sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sizewell("new", "notebook", "--load", "4 x A100")
    assert "accelerators: {A100: 4}" in (tmp_path / "notebook.yaml").read_text()
