"""`sizewell docs`: a page of the documentation, which is installed with the command."""

from __future__ import annotations

import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import click

from sizewell.cli import output
from sizewell.cli.commands import Arguments, Command
from sizewell.sizing.errors import UsageError

DESCRIPTION = """Print a page of the documentation, or without a topic the list of pages.

A topic is the name of a page, such as tear-down or tutorials/serve. For any other word the pages that have it
are named. On a terminal pages are set as text, in a pipe they are Markdown.
"""
EXAMPLES = """examples:
  sizewell docs                       every page, with its title
  sizewell docs first-stack           a first stack, from an empty folder
  sizewell docs spec                  every key of a spec
  sizewell docs tear-down | less      one page, in a pager

exit code: 0 success, 64 no such page
"""
SECTIONS: Final = ("howto", "concepts", "tutorials", "reference", "")  # in which a name is looked for, in this order
MANY: Final = 5


def pages() -> dict[str, Traversable]:
    """Every page that a user reads by its topic, such as howto/tear-down."""
    folder = files("sizewell") / "docs"
    made: dict[str, Traversable] = {}
    for section in SECTIONS:
        place = folder / section if section else folder
        for page in sorted(place.iterdir(), key=lambda file: file.name):
            if page.name.endswith(".md"):
                made[f"{section}/{page.name}".strip("/").removesuffix(".md")] = page
    return made


def named(topic: str, known: dict[str, Traversable]) -> list[str]:
    """The topics that a name means, the first one first: a page's own name, with or without its folder.

    >>> named("docs/howto/tear-down.md", pages())
    ['howto/tear-down']
    >>> named("tear-down", pages())
    ['howto/tear-down', 'tutorials/tear-down']
    """
    wanted = topic.lower().removeprefix("docs/").partition("#")[0].removesuffix(".md").replace(" ", "-").strip("/")
    if wanted in known:
        return [wanted]
    plain = wanted.replace("-", "")
    return [each for each in known if each.rpartition("/")[2].replace("-", "") == plain]


def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of pages that complete a word."""
    return sorted({each.rpartition("/")[2] for each in pages() if each.rpartition("/")[2].startswith(incomplete)})


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("topic", required=False, shell_complete=complete, help="name of a page, or a word to look for")
@click.option("--json", is_flag=True, help="print JSON")
def command(args: Arguments) -> int:
    known = pages()
    if args.topic is None:
        _list(known, as_json=args.json)
        return 0
    topics = named(args.topic, known)
    if not topics:
        raise UsageError(_unknown(args.topic, known))
    text = known[topics[0]].read_text(encoding="utf-8")
    if args.json:
        output.print_json({"topic": topics[0], "title": _title(text), "text": text})
    elif sys.stdout.isatty():
        from rich.markdown import Markdown

        output.console().print(Markdown(text, hyperlinks=False))
    else:
        print(text, end="")
    if len(topics) > 1:
        output.note(f"also: {', '.join(f'sizewell docs {each}' for each in topics[1:])}")
    return 0


def _list(known: dict[str, Traversable], *, as_json: bool) -> None:
    titles = {topic: _title(page.read_text(encoding="utf-8")) for topic, page in known.items()}
    if as_json:
        output.print_json([{"topic": topic, "title": title} for topic, title in titles.items()])
        return
    table = output.table("topic", "page")
    for topic, title in titles.items():
        table.add_row(topic, title)
    output.console().print(table)


def _title(text: str) -> str:
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")


def _unknown(topic: str, known: dict[str, Traversable]) -> str:
    from difflib import get_close_matches

    names = {each.rpartition("/")[2]: each for each in reversed(known)}
    near = get_close_matches(topic.lower(), names, MANY, 0.7)
    counts = {each: page.read_text(encoding="utf-8").lower().count(topic.lower()) for each, page in known.items()}
    have = sorted((each for each, count in counts.items() if count), key=lambda each: -counts[each])[:MANY]
    shown = list(dict.fromkeys([*(names[each] for each in near), *have]))[:MANY]
    ways = " or ".join(f"`sizewell docs {each}`" for each in shown) if shown else "`sizewell docs` lists the pages"
    return f"docs: no page is called '{topic}'\n  fix: {'read ' if shown else ''}{ways}"
