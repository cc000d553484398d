"""The order of a destroy: nothing goes before the raw export is kept twice, and the secrets can be read."""

from __future__ import annotations

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act


class Written:
    """A backend that takes down what it is asked."""

    def __init__(self, export=b"{}", refuses=""):
        self.calls, self.text, self.refuses = [], export, refuses

    def export(self, stack, path):
        self.calls.append("export")
        if self.text is not None:
            path.write_bytes(self.text)
            path.chmod(0o644)

    def configuration(self, stack):
        self.calls.append("configuration")
        if self.refuses:
            raise ServiceError(self.refuses)
        return {}

    def destroy(self, stack, *, environment):
        self.calls.append("destroy")
        return "destroyed"


def destroyed(backend, folder):
    return act.destroy(
        backend,
        "dev-aws",
        kept=folder / "exports/dev-aws.json",
        environment={},
        keep=lambda data: backend.calls.append(("kept", data)),
    )


def test_the_export_is_kept_twice_before_anything_goes(tmp_path):
    backend = Written(b'{"deployment": {}}')
    assert destroyed(backend, tmp_path) == "destroyed"
    assert backend.calls == ["export", ("kept", b'{"deployment": {}}'), "configuration", "destroy"]
    kept = tmp_path / "exports/dev-aws.json"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("export", [b"", None])
def test_without_an_export_nothing_goes(tmp_path, export):
    backend = Written(export)
    with pytest.raises(ServiceError, match="the export of its state is empty; nothing was destroyed"):
        destroyed(backend, tmp_path)
    assert backend.calls == ["export"]


def test_without_its_secrets_nothing_goes(tmp_path):
    backend = Written(refuses="the passphrase is wrong")
    with pytest.raises(ServiceError, match="the passphrase is wrong"):
        destroyed(backend, tmp_path)
    assert "destroy" not in backend.calls
