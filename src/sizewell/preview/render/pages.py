"""The templates of pages: what they are filled with is escaped, and what they do not know is an error."""

from __future__ import annotations

import functools
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES: Final = Path(__file__).with_name("templates")


class Card(NamedTuple):
    """A figure with its name and a remark."""

    name: str
    value: str
    note: str = ""
    css: str = ""


class Figure(NamedTuple):
    """A chart, ready as SVG, with its title and how to read it."""

    title: str
    note: str
    chart: str


class Table(NamedTuple):
    """A table whose last `right` columns hold figures; `narrow`: rows become blocks on a phone. `label` names it for
    whoever cannot see where it stands.
    """

    heads: list[str]
    rows: list[list[str]]
    right: int = 0
    label: str = ""
    caption: str = ""
    narrow: bool = True


def render(template: str, **values: object) -> str:
    """A template of the folder, filled in. What is ready HTML is handed over as `Markup`."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _escaped(value: object) -> object:
    # Jinja would write &#39; where pages that stand in pull requests have &#x27;: the same sign, but a difference in
    # every recorded page. It leaves alone what is marked as ready.
    return value if hasattr(value, "__html__") else Markup(escape(str(value)))  # noqa: S704 - escaped here
