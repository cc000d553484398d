"""Where a command looks for its project."""

from pathlib import Path

import pytest

from sizewell.cli import project
from sizewell.sizing.errors import UsageError


def test_the_engines_other_spelling_of_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.yml").write_text("name: web\nruntime: python\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"rename Pulumi\.yml to Pulumi\.yaml"):
        project.root()
