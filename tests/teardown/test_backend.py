"""What the engine's command answers, in one message."""

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown.backend import Backend

SAID = """Diagnostics:
  gcp:compute/network:Network (network):
    error: DependencyViolation: it is in use
  pulumi:pulumi:Stack (sizewell-dev):
    warning: using pulumi-resource-gcp from $PATH at %s
    error: update failed

Resources:
    - 2 deleted
    1 errored
""" % ("/a/long/path" * 60)


def test_the_reason_of_a_failure_is_said_however_much_stands_around_it(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{SAID}END\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ServiceError, match=r"^dev: pulumi destroy --stack failed: DependencyViolation: it is in use$"):
        Backend(root=tmp_path).destroy("dev", environment={})


def test_a_backend_that_cannot_be_opened_is_said_with_the_way_out(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    program.write_text("#!/bin/sh\necho 'error: unable to open state directory \"file:///nowhere\"' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ServiceError, match=r'directory "file:///nowhere"\n  fix: check PULUMI_BACKEND_URL'):
        Backend(root=tmp_path).stacks()
