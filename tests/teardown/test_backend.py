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


def test_an_engine_that_was_killed_is_said_in_place_of_its_progress(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    program.write_text("#!/bin/sh\necho 'warning: using pulumi-resource-gcp from $PATH' 'deleting (0s)'\nkill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(
        ServiceError, match=r"^dev: the engine was killed by signal 9 \(pulumi destroy --stack\)\n  fix: "
    ):
        Backend(root=tmp_path).destroy("dev", environment={})


ERRORS = """error: 2 errors occurred:
\t* resource 'net' of type 'aws:ec2/vpc:Vpc' has no ID
\t* resource 'key' of type 'aws:kms/key:Key' has no ID

"""
WORDY = """ -  gcp:pubsub:Topic notices **deleting failed** error: resource "urn:x::notices" cannot be deleted
Diagnostics:
  gcp:pubsub:Topic (notices):
    error: resource "urn:x::notices" cannot be deleted
    because it is protected.
  pulumi:pulumi:Stack (sizewell-dev):
    warning: using pulumi-resource-gcp from $PATH
    error: update failed

Resources:
    1 errored
"""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            ERRORS,
            "2 errors occurred: * resource 'net' of type 'aws:ec2/vpc:Vpc' has no ID * resource 'key' of type "  # noqa: ISC004
            "'aws:kms/key:Key' has no ID",
        ),
        (WORDY, 'resource "urn:x::notices" cannot be deleted because it is protected.'),
    ],
    ids=["a list", "several lines"],
)
def test_an_error_of_several_lines_is_said_whole(tmp_path, monkeypatch, said, why):
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{said}END\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ServiceError) as raised:
        Backend(root=tmp_path).destroy("dev", environment={})
    assert str(raised.value) == f"dev: pulumi destroy --stack failed: {why}"


def test_a_backend_that_cannot_be_opened_is_said_with_the_way_out(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    program.write_text("#!/bin/sh\necho 'error: unable to open state directory \"file:///nowhere\"' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ServiceError, match=r'directory "file:///nowhere"\n  fix: check PULUMI_BACKEND_URL'):
        Backend(root=tmp_path).stacks()


def test_an_engine_that_imports_no_provider_is_said_with_the_way_out(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    said = "error: 1 error occurred:\n\t* the provider 'eu' for resource 'net' has no entry in 'nameTable'"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ServiceError, match=r"the state has no provider.*\n  fix: update pulumi, or .*--target URN"):
        Backend(root=tmp_path).import_resources("dev", tmp_path / "import.json")


def test_a_list_read_while_another_engine_writes_a_state_is_read_again(tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    once = tmp_path / "once"
    program.write_text(
        f"#!/bin/sh\n[ -e {once} ] && echo '[]' && exit 0\ntouch {once}\necho 'error: EOF' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert Backend(root=tmp_path, again_s=(0.0,)).stacks() == []
    once.unlink()
    with pytest.raises(ServiceError, match="EOF"):
        Backend(root=tmp_path, again_s=()).stacks()
