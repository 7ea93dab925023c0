"""The layout of ``gossamer top``: everything on one screen of any size; each fact is one line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli.terminal.tables import cut_middle, make_console, print_lines
from gossamer.core.record import Record
from gossamer.observe.text import one_line
from gossamer.observe.units import format_duration, format_rate, format_size
from gossamer.queries.fleet_view import WorkerView
from gossamer.queries.hosts import HostStatus
from gossamer.queries.overview import JobRow
from gossamer.queries.top import TopView

KEYS = "q quit   j k choose a job   p hold"
MARKS = {"dead": ("◆", "bold red"), "held": ("▲", "yellow"), "info": ("i", "dim")}
"""The mark of a problem and its style; the shape also differs, for readers who see no colour."""
SEVERITIES = {"needs_you": "dead", "takes_care": "held", "know": "info"}
LEAST_ROWS = 3
"""A table that has room for fewer rows is left out."""
WIDE = 160
"""Characters of a line without a terminal."""
PLENTY = 10_000
"""Lines without a terminal: nothing is left out."""
NAME_WIDTH = 12
"""Names are not cut below this width: other columns are left out first."""


class ScreenState(Record, frozen=True, kw_only=True):
    """The state of the screen: its size, the user's choices, and the error of the latest refresh."""

    is_held: bool = False
    trouble: str = ""  # why the display is out of date
    width: int = 80
    height: int = 24
    is_screen: bool = True  # drawn in place, with the keys at the bottom


class _Part(Record, frozen=True):
    """A table before its height is known."""

    head: tuple[tuple[str, int], ...]  # columns with their widths; the first one takes the remaining width
    rows: tuple[tuple[tuple[str, ...], str], ...]  # cells and the style of each row
    more: int  # rows that are not in ``rows``
    name: str = ""  # noun for the rows, where their number is shown
    is_whole: bool = False  # its names are not cut while another column could be left out


def render_top(view: TopView, state: ScreenState, *, chosen: str = "") -> RenderableType:
    """Return at most ``state.height`` lines, the last one with the keys; ``chosen`` is the marked job."""
    above = [*_head_lines(view, state), *_trouble_lines(view)]
    close = _close_lines(view)
    if not state.is_screen:  # there is room for all of it
        for line in (*above, *close):
            line.no_wrap, line.overflow = False, "fold"
    foot = _line(f"{_clock(view.at)}   {KEYS}", "dim")
    free = state.height - len(above) - 1
    close = close if free - len(close) > LEAST_ROWS else []
    parts = [_jobs_part(view, chosen)]
    parts += [_hosts_part(view.chosen.hosts, view.at)] if view.chosen and view.chosen.hosts else []
    parts += [_workers_part(view.fleet.workers, view.fleet.more)] if view.fleet and view.fleet.workers else []
    shares = _shares(parts, free - len(close))
    tables = [_table(part, rows, state.width) for part, rows in zip(parts, shares, strict=True)]
    used = len(close) + sum(rows + 2 for rows in shares if rows)
    blank = [Text("") for _ in range(min(free - used, state.height))] if state.is_screen else []
    end = [*blank, foot] if state.is_screen else []
    return Group(*above, tables[0], *close, *tables[1:], *end)


def print_top(view: TopView) -> None:
    """Print the same lines without the bounds of a screen, for programs that read them."""
    console = make_console()
    width = console.width if console.is_terminal else WIDE
    state = ScreenState(width=width, height=PLENTY, is_screen=False)
    print_lines(render_top(view, state), console)


# --------------------------------------------------------------------------- lines


def _line(text: str, style: str = "") -> Text:
    return Text(one_line(text, 1000), style=style, no_wrap=True, overflow="ellipsis")


def _head_lines(view: TopView, state: ScreenState) -> list[Text]:
    answer, reason = view.say
    is_bad = any(trouble.severity == "needs_you" for trouble in view.troubles)
    lines = [_line(answer, "bold red" if is_bad else "bold"), _line(reason, "dim")]
    if state.trouble:
        lines.append(_line(state.trouble, "bold yellow"))
    elif state.is_held:
        lines.append(_line("paused: p resumes", "bold yellow"))
    return lines


def _trouble_lines(view: TopView) -> list[Text]:
    lines = []
    for trouble in view.troubles:
        mark, style = MARKS[SEVERITIES[trouble.severity]]
        way = next((way.command for way in trouble.ways if way.command), "")
        line = Text(f"{mark} ", style=style, no_wrap=True, overflow="ellipsis")
        line.append(one_line(trouble.text, 500), style="")
        line.append(f"  {one_line(way, 200)}" if way else "", style="cyan")
        lines.append(line)
    if view.more_troubles:
        lines.append(_line(_more_text(view.more_troubles), "dim"))
    return lines


def _close_lines(view: TopView) -> list[Text]:
    if view.chosen is None:
        return []
    answer, reason = view.chosen.say
    return [Text(""), _line(answer, "bold"), *([_line(reason, "dim")] if reason else [])]


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")


# --------------------------------------------------------------------------- tables


def _jobs_part(view: TopView, chosen: str) -> _Part:
    head = (
        ("  job", 0), ("state", 10), ("pages", 9), ("pace", 8), ("allowed", 8),
        ("waiting", 9), ("dead", 6), ("left", 10),
    )  # fmt: skip
    rows = tuple((_job_cells(row), "reverse" if row.job == chosen else "") for row in view.jobs)
    return _Part(head, rows, view.more_jobs, "jobs", is_whole=True)


def _job_cells(row: JobRow) -> tuple[str, ...]:
    mark = MARKS[row.trouble_kind][0] if row.trouble_kind else " "
    is_running = row.state == "running"
    return (
        f"{mark} {row.job}",
        row.state,
        f"{row.pages:,}",
        format_rate(row.pages_per_s) if is_running and row.pages_per_s is not None else "",
        format_rate(row.allowed_per_s) if is_running and row.allowed_per_s is not None else "",
        "?" if row.done is None else f"{row.waiting:,}",
        f"{row.dead:,}",
        row.left_text,
    )


def _hosts_part(hosts: Sequence[HostStatus], now: float) -> _Part:
    head = (("  host", 0), ("pending", 10), ("in flight", 9), ("delay", 8), ("next turn", 10), ("pages", 10))
    return _Part(head, tuple((_host_cells(host, now), "") for host in hosts), 0)


def _host_cells(host: HostStatus, now: float) -> tuple[str, ...]:
    wait_s = host.next_at - now
    turn = f"in {format_duration(wait_s)}" if wait_s >= 1 else "now"
    mark = "  " if host.silent_since is None else f"{MARKS['held'][0]} "
    return (
        f"{mark}{host.host}",
        f"{host.pending:,}",
        f"{host.in_flight:,}",
        format_duration(host.delay_s),
        turn if host.pending else "",
        f"{host.pages:,}",
    )


def _workers_part(workers: Sequence[WorkerView], more: int) -> _Part:
    head = (
        ("  worker", 0), ("state", 9), ("slots", 7), ("pace", 8), ("in flight", 9), ("memory", 8), ("seen", 9)
    )  # fmt: skip
    return _Part(head, tuple((_worker_cells(worker), "") for worker in workers), more)


def _worker_cells(worker: WorkerView) -> tuple[str, ...]:
    jobs = ", ".join(dict.fromkeys(shift.job for shift in worker.shifts))
    mark = f"{MARKS['held'][0]} " if worker.is_silent else "  "
    return (
        f"{mark}{worker.host}:{worker.pid}{f'  {jobs}' if jobs else ''}",
        "silent" if worker.is_silent else worker.state.value,
        f"{len(worker.shifts)} of {worker.slots}",
        format_rate(worker.pages_per_s),
        f"{worker.in_flight:,}",
        format_size(worker.memory_bytes) if worker.memory_bytes else "",
        f"{format_duration(worker.unseen_s)}" if worker.is_silent else "now",
    )


def _shares(parts: Sequence[_Part], free: int) -> list[int]:
    """Return the rows of each table, besides a blank line and a head; at least one for the first."""
    wanted = [len(part.rows) + (1 if part.more else 0) for part in parts]
    shares = [min(wanted[0], 1), *(0 for _ in parts[1:])]
    free -= 3
    for place in range(1, len(parts)):
        if free >= LEAST_ROWS:
            shares[place] = 1
            free -= 3
    while free > 0 and any(0 < share < want for share, want in zip(shares, wanted, strict=True)):
        for place, want in enumerate(wanted):
            if free > 0 and 0 < shares[place] < want:
                shares[place] += 1
                free -= 1
    return shares


def _table(part: _Part, rows: int, width: int) -> RenderableType:
    """Return a table of ``rows`` lines, without columns that do not fit beside the names."""
    if not rows:
        return Group()
    hidden = len(part.rows) + part.more - rows
    shown = part.rows[: rows - 1 if hidden and rows > 1 else rows]
    hidden = len(part.rows) + part.more - len(shown)
    columns = _fitting(part, width)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for number in columns:
        name, size = part.head[number]
        table.add_column(
            name,
            justify="left" if number == 0 or name == "state" else "right",
            no_wrap=True,
            overflow="ellipsis",
            width=size or _name_width(part, columns, width),
        )
    for cells, style in shown:
        name = cut_middle(one_line(cells[0], 200), _name_width(part, columns, width))
        table.add_row(name, *(Text(one_line(cells[number], 200)) for number in columns[1:]), style=style)
    more = [_line(_hidden_text(part, len(shown), hidden), "dim")] if hidden and rows > 1 else []
    return Group(Text(""), table, *more)


def _more_text(count: int) -> str:
    return f"  and {count:,} more"


def _hidden_text(part: _Part, shown: int, hidden: int) -> str:
    return f"  {shown:,} of {shown + hidden:,} {part.name} are shown" if part.name else _more_text(hidden)


def _name_width(part: _Part, columns: Sequence[int], width: int) -> int:
    """Return the width of the longest name, if there is room."""
    longest = max((cell_len(cells[0]) for cells, _ in part.rows), default=0)
    others = sum(part.head[number][1] + 1 for number in columns[1:])
    return max(min(max(longest, NAME_WIDTH), width - others - 1), 1)


def _fitting(part: _Part, width: int) -> list[int]:
    """Return the columns that fit beside the names; the last but one is left out first."""
    head, kept = part.head, list(range(len(part.head)))
    longest = max((cell_len(cells[0]) for cells, _ in part.rows), default=0)
    names = max(longest + 1, NAME_WIDTH) if part.is_whole else NAME_WIDTH
    while len(kept) > 1 and sum(head[number][1] + 1 for number in kept) + names > width:
        del kept[-2 if len(kept) > 2 else -1]
    return kept
