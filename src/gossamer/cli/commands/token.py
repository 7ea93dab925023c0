"""``gossamer token``: tokens of the dashboard and the HTTP API."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from gossamer.access.tokens import NewToken, create_token, revoke_token
from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import run_with_store
from gossamer.cli.terminal.output import local_time, print_json
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.access import AccessToken, Role
from gossamer.ports.backends import StoreBackend
from gossamer.queries.documents import to_document

HELP = "Tokens: who may use the dashboard and the HTTP API."
EXAMPLES = """
  gossamer token create ann --role operate
  gossamer token list
  gossamer token revoke ann
"""
CREATE_EXAMPLES = """
  gossamer token create prometheus   may look, and nothing else
  gossamer token create ann --role admin
"""
LIST_EXAMPLES = """
  gossamer token list --json
"""
REVOKE_EXAMPLES = """
  gossamer token revoke ann                 ends all sessions that it opened
"""
TokenName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of the user: letters, digits, . _ - and @.")
]


def create(
    name: TokenName,
    *,
    role: Annotated[
        Role, typer.Option(help="read looks, operate steers crawls too, admin reads the audit log too.")
    ] = Role.READ,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print its secret.

    It is not shown again: only a digest of it is kept, beside the jobs, in the data directory or in
    PostgreSQL.
    """

    async def work(keeping: StoreBackend) -> NewToken:
        return await create_token(keeping.tokens, name, role, time.time())

    made = run_with_store(settings_of(data, settings), work, create=True)
    if as_json:
        print_json({"name": name, "role": role.value, "secret": made.secret})
        return
    print_message(f"the token {name!r} ({role}); it is not shown again")
    typer.echo(made.secret)


def list_tokens(data: Data = None, settings: Set = None, as_json: AsJson = False) -> None:
    """List the tokens, without their secrets."""

    async def work(keeping: StoreBackend) -> list[AccessToken]:
        return await keeping.tokens.list_tokens()

    found = run_with_store(settings_of(data, settings), work)
    if as_json:
        print_json([{key: to_document(token)[key] for key in ("name", "role", "made_at")} for token in found])
        return
    if not found:
        print_message("no tokens: the dashboard serves this machine alone, and lets it do everything")
        return
    print_table(
        ("token", "role", "made"), ((token.name, token.role, local_time(token.made_at)) for token in found)
    )


def revoke(name: TokenName, data: Data = None, settings: Set = None) -> None:
    """Revoke a token.

    All sessions that it opened end.
    """

    async def work(keeping: StoreBackend) -> None:
        await revoke_token(keeping.tokens, name)

    run_with_store(settings_of(data, settings), work)
    print_message(f"the token {name!r} is revoked")


COMMANDS = (
    ("create", create, CREATE_EXAMPLES),
    ("list", list_tokens, LIST_EXAMPLES),
    ("revoke", revoke, REVOKE_EXAMPLES),
)
