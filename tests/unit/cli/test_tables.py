"""Tables in narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gossamer.cli.terminal import tables
from gossamer.cli.terminal.tables import print_facts, print_table

JOBS = ("shop-1", "books-toscrape-com-catalogue-12", "a-host-with-a-name-of-more-than-forty-characters-3")
HEAD = ("job", "state", "pages", "items", "started", "target")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """A terminal of 40 columns."""
    stream = io.StringIO()
    console = Console(file=stream, width=40, force_terminal=True, color_system=None, highlight=False)
    monkeypatch.setattr(tables, "make_console", lambda stream=None: console)
    return stream


def test_at_40_columns_jobs_are_named_in_full(terminal: io.StringIO) -> None:
    rows = [(job, "finished", 1204, 99, "27 Nov 22:14", "https://shop.example/") for job in JOBS]
    print_table(HEAD, rows, right=("pages", "items"), wide="target", names_rows=True)
    lines = [line.rstrip() for line in terminal.getvalue().splitlines()]
    assert all(len(line) <= 40 for line in lines)
    assert "".join(lines).count(JOBS[0]) == 1
    assert any(line.startswith(JOBS[1]) for line in lines)
    assert JOBS[2] in "".join(lines), "it is folded, and not cut"
    assert "without state, pages, items, started, target" in " ".join(lines)


def test_at_40_columns_columns_stay_for_which_there_is_room(terminal: io.StringIO) -> None:
    rows = [("shop-1", "finished", 1204, 99, "27 Nov 22:14", "https://shop.example/")]
    print_table(HEAD, rows, right=("pages", "items"), wide="target", names_rows=True)
    head, row, *more = terminal.getvalue().splitlines()
    assert head.split() == ["job", "state", "pages", "items"]
    assert row.split() == ["shop-1", "finished", "1,204", "99"]
    assert " ".join(" ".join(more).split()) == "without started, target: the terminal is too narrow"


def test_at_40_columns_a_summary_keeps_the_id(terminal: io.StringIO) -> None:
    print_facts([("job", f"{JOBS[2]} (finished, 0.14 s)"), ("pages", "106 (785/s, 2.01 MB)")])
    assert JOBS[2] in "".join(line[7:].rstrip() for line in terminal.getvalue().splitlines())
