"""``gossamer sql``: query items, pages and attempts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Format, Set
from gossamer.cli.terminal.backends import run_with_store
from gossamer.cli.terminal.exports import check_output
from gossamer.cli.terminal.output import print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.errors import MissingServiceError, UsageError
from gossamer.export import write_rows
from gossamer.install import install_command
from gossamer.ports.backends import StoreBackend
from gossamer.queries.jobs import find_job

SHOWN = 1000
"""Maximum rows of a table for people."""
NAMED = 20
"""Maximum renamed fields that are listed."""
EXAMPLES = """
  gossamer sql "SELECT _type, count(*) AS items FROM items GROUP BY ALL"
  gossamer sql "SELECT sku, price::DECIMAL(18, 2) FROM items ORDER BY 2 LIMIT 10" --job shop
  gossamer sql "SELECT host, status, count(*), avg(elapsed_ms) FROM attempts GROUP BY ALL" --json
  gossamer sql "SELECT url, title FROM pages WHERE items = 0" --format csv > empty.csv
  gossamer sql "DESCRIBE items"
"""
Query = Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT statement of DuckDB.")]
Jobs = Annotated[
    list[str] | None,
    typer.Option("--job", metavar="JOB", help="Only this job; can be given several times [default: all]."),
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the rows to FILE."),
]


def ask_tables(
    query: Query,
    *,
    job: Jobs = None,
    output: Output = None,
    format_: Format = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Query items, pages and attempts with SQL.

    Tables: items (a column for each field, and _job _type _key _url _first_seen _last_seen _changed_at),
    pages and attempts (job host fetched_at url status ...). Times are UTC. The query reads copies: it cannot
    change stored data or read files. Objects and values of several types are JSON: o->>'$.name'. A field
    whose name is taken, in any capitals, gets a column with a number, which is printed first.
    """
    if as_json and (format_ or output):
        raise UsageError("--json prints one array; --format and -o write other formats: choose one")
    file = check_output(output or "-", append=False, format=format_) if output or format_ else None
    if file is not None and file.url:
        raise UsageError("-o of sql writes a file of this machine")
    sql = _load_sql()
    asked = sql.read_query(query)

    async def write(keeping: StoreBackend) -> dict[str, str]:
        jobs = [await find_job(keeping, name) for name in job] if job else await keeping.book.list_jobs()
        renamed: dict[str, str] = await sql.write_tables(keeping, jobs, asked.tables, folder)
        return renamed

    with tempfile.TemporaryDirectory(prefix="gossamer-sql-") as name:
        folder = Path(name)
        _print_renamed(run_with_store(settings_of(data, settings), write))
        rows = sql.run_query(asked, folder)
        if as_json:
            print_json(list(rows))
        elif file is not None:
            write_rows(
                rows,
                sys.stdout.buffer if file.is_stdout else file.name,
                file.format,
                compression=file.compression,
            )
        else:
            _print_rows(rows)


def _load_sql() -> Any:
    try:
        return import_module("gossamer.queries.sql")
    except ImportError as error:
        raise MissingServiceError(
            f"SQL needs another package ({error.name} is missing): {install_command('sql')}"
        ) from error


def _print_renamed(renamed: dict[str, str]) -> None:
    if renamed:
        said = [f'{field!r} is "{column}"' for field, column in islice(renamed.items(), NAMED)]
        if len(renamed) > NAMED:
            said.append(f"and {len(renamed) - NAMED:,} more")
        print_message(f"columns of fields whose name was taken: {', '.join(said)}")


def _print_rows(rows: Iterator[dict[str, Any]]) -> None:
    shown = list(islice(rows, SHOWN))
    if not shown:
        sys.stderr.write("no rows\n")
        return
    numbers = [name for name in shown[0] if all(isinstance(row[name], int | float | None) for row in shown)]
    print_table(
        tuple(shown[0]),
        (["" if cell is None else cell for cell in row.values()] for row in shown),
        right=numbers,
    )
    if next(rows, None) is not None:
        print_message(f"the first {SHOWN:,} rows are shown; --format csv writes all of them")


COMMANDS = (("sql", ask_tables, EXAMPLES),)
