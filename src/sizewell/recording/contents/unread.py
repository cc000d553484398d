"""The one way in which content is not read."""

from __future__ import annotations


class Unread(Exception):  # noqa: N818 - no error of the user's: it is said beside the resource
    """Content that is not at hand or cannot be read, with the reason; `fix` where its kind's does not help."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.fix = fix
