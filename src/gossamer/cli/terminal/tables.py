"""Tables for people, drawn by Rich. Without a terminal, no line is cut and none ends in blanks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.table import Table
from rich.text import Text

from gossamer.cli.terminal.output import LONG, plain

NARROW = 16
"""Narrower columns are cut at their ends: the middle is too short."""

GAP = 2
"""Blanks between two columns."""

PIPE_WIDTH = 100_000
"""Width without a terminal: lines are not cut."""


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console on stdout or ``stream``; never narrower than the text without a terminal."""
    stream = stream or sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[str] = (),
    wide: str = "",
    names_rows: bool = False,
    stream: TextIO | None = None,
) -> None:
    """A table with a header; ``right`` names columns of numbers, ``wide`` the one that gives way first.

    ``names_rows``: the first column names the rows, so that it is never cut: in a narrow terminal, columns
    are left out from the end, and a line says which.
    """
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    numbers = set(right)
    cells = [[_format_cell(value, LONG) for value in row] for row in rows]
    widths = {
        name: max([len(name), *(cell_len(row[place]) for row in cells)]) for place, name in enumerate(columns)
    }
    target = make_console(stream)
    hidden: list[str] = []
    if names_rows:
        columns, hidden = _fit_columns(columns, widths | ({wide: len(wide)} if wide else {}), target.width)
        cells = [row[: len(columns)] for row in cells]
        widths = {name: min(widths[name], target.width) for name in columns}
        wide = wide if wide in widths else ""
    if wide:
        others = sum(widths.values()) - widths[wide] + GAP * (len(columns) - 1)
        widths[wide] = max(len(wide), min(widths[wide], target.width - others))
    for name in columns:
        justify: JustifyMethod = "right" if name in numbers else "left"
        is_name = names_rows and name == columns[0]
        how: OverflowMethod = "fold" if is_name else "ellipsis"
        table.add_column(name, justify=justify, no_wrap=not is_name, overflow=how, width=widths[name])
    place = columns.index(wide) if wide else -1
    for row in cells:
        if wide:
            row[place] = cut_middle(row[place], widths[wide])
        table.add_row(*map(Text, row))
    print_lines(table, target)
    if hidden:
        print_lines(Text(f"without {', '.join(hidden)}: the terminal is too narrow"), target)


def _fit_columns(
    columns: Sequence[str], widths: Mapping[str, int], width: int
) -> tuple[list[str], list[str]]:
    """Return the columns that fit, at least the first one, and the others."""
    number = len(columns)
    while number > 1 and sum(widths[name] + GAP for name in columns[:number]) - GAP > width:
        number -= 1
    return list(columns[:number]), list(columns[number:])


def cut_middle(text: str, width: int) -> str:
    """Cut a text in its middle: URLs differ at their ends."""
    if len(text) <= width or width < NARROW or cell_len(text) != len(text):
        return text
    head = (width - 1) // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def print_facts(facts: Iterable[tuple[str, object]], *, stream: TextIO | None = None) -> None:
    """Print names and values, one pair on a line; a value may wrap."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(name), Text(_format_cell(value, LONG)))
    print_lines(grid, make_console(stream))


def print_lines(renderable: Any, target: Console) -> None:
    """Remove blanks at the ends of lines, for programs that read them."""
    if target.is_terminal:
        target.print(renderable)
        return
    with target.capture() as captured:
        target.print(renderable)
    lines = (line.rstrip() for line in captured.get().splitlines())
    target.file.write("".join(f"{line}\n" for line in lines))


def _format_cell(value: object, limit: int) -> str:
    return f"{value:,}" if isinstance(value, int) else plain(str(value), limit)
