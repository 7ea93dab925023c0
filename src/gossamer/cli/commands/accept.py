"""``gossamer accept``: make the items of a job the usual ones, also where they are worse."""

from __future__ import annotations

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import plain, print_json
from gossamer.config.command_settings import settings_of
from gossamer.core.text import format_count
from gossamer.jobs.acceptance import AcceptedJob, accept_job
from gossamer.jobs.alert_closing import send_closed
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer report quality shop    shows which fields are worse than usual
  gossamer accept shop            the site has changed: compare later crawls with this one
"""


def accept_items(name: JobName, *, data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """Accept the items of a job as they are.

    Later jobs of its spider are compared with it from then on. A job in which a field was lost does not count
    as usual, however often it happens, until it is accepted. Its alerts of quality end.
    """

    async def work(backends: Backends) -> AcceptedJob:
        job = await find_job(backends, name)
        accepted = await accept_job(backends, job)
        await send_closed(backends, job)
        return accepted

    accepted = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(accepted))
        return
    over = f"; {format_count(len(accepted.findings), 'finding')} accepted" if accepted.findings else ""
    print_message(f"later jobs of {plain(accepted.name)} are compared with {accepted.job}{over}")


COMMANDS = (("accept", accept_items, EXAMPLES),)
