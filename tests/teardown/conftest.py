"""The evening of test_run.py, for every file of this room."""

from tests.teardown.test_run import evening

__all__ = ["evening"]
