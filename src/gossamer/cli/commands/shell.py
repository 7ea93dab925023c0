"""``gossamer shell``: one page, fetched as a crawl would, and Python to try selectors on it."""

from __future__ import annotations

import sys
import traceback
from code import InteractiveConsole
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from gossamer.cli.errors import print_message, print_progress, print_traceback
from gossamer.cli.options import Argument, Body, Form, Header, Method, NoRobots, PageSpider, Set
from gossamer.cli.terminal.process_log import write_lines
from gossamer.config.overrides import arguments_of, page_overrides
from gossamer.core.errors import FetchError, MissingServiceError, SelectorError, UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.requests import Request
from gossamer.core.text import format_count
from gossamer.crawl.single_page import PageCommand, PageFetcher
from gossamer.crawl.typed_requests import read_request_options
from gossamer.observe.text import error_headline, printable_lines, shown_url
from gossamer.spiders.response import Response
from gossamer.spiders.viewing import view

EXAMPLES = """
  gossamer shell https://example.com
  gossamer shell https://example.com -c "response.css('h1::text').get()"
  echo "print(len(response.links()))" | gossamer shell https://example.com
"""


def open_shell(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the page to fetch.")],
    *,
    code: Annotated[
        str | None,
        typer.Option("-c", "--code", metavar="CODE", help="Evaluate CODE, print the result and exit."),
    ] = None,
    spider: PageSpider = None,
    method: Method = None,
    header: Header = None,
    data: Body = None,
    form: Form = None,
    settings: Set = None,
    argument: Argument = None,
    no_robots: NoRobots = False,
) -> None:
    """Fetch a page and try selectors on it.

    Opens Python with response, request, spider, view() and fetch(url), which also takes a Request or its
    options. robots.txt and the delay of a host apply, as in a crawl.
    """
    given = page_overrides(settings, no_robots=no_robots)
    options = read_request_options(method, header or (), data, form or ())
    command = PageCommand.of(url, spider, arguments_of(argument), given, options)
    with write_lines(command.settings), PageFetcher(command, print_progress) as pages:
        try:
            response = pages.fetch(command.make_request())
        except FetchError as error:
            raise MissingServiceError(f"{shown_url(url)} was not fetched: {error}") from None
        names = _console_names(pages, response)
        if code is not None:
            _evaluate_code(code, names)
        elif sys.stdin.isatty():
            _open_console(names)
        else:
            _execute_code(sys.stdin.read(), names)


def _console_names(pages: PageFetcher, response: Response) -> dict[str, Any]:
    """Return the names for the user's code; ``fetch`` replaces the page."""
    names: dict[str, Any] = {"__name__": "__console__", "__doc__": None}

    def use(response: Response) -> Response:
        names.update(pages.spider_for(response.request).console_names(response))
        return response

    def fetch(page: str | Request, **options: Any) -> Response | None:
        """Fetch another page; ``response`` is the new one then.

        By a URL, also relative to this page, with options of ``Request`` (``json={...}``), or by a Request.
        """
        try:
            asked = page if isinstance(page, Request) else names["response"].follow(page, **options)
            return use(pages.fetch(asked))
        except (FetchError, UsageError) as error:
            print_message(str(error))
            return None

    def show(response: Response | None = None) -> None:
        """Open a page (by default the latest) without its scripts in the browser of this machine."""
        print_message(f"opened {view(response or names['response'])}")

    use(response)
    names.update(fetch=fetch, view=show)
    return names


def _evaluate_code(code: str, names: dict[str, Any]) -> None:
    try:
        compiled = compile(code, "<code>", "eval")
    except SyntaxError:
        compiled = None
    if compiled is None:  # outside of the handler, which would be a part of the code's own tracebacks
        _execute_code(code, names)
        return
    value = _run_code(compiled, names)
    if value is not None:
        _print_value(value)


def _execute_code(code: str, names: dict[str, Any]) -> None:
    try:
        compiled = compile(code, "<stdin>", "exec")
    except SyntaxError as error:
        raise UsageError(f"line {error.lineno}: {error.msg}") from None
    _run_code(compiled, names)


def _run_code(compiled: Any, names: dict[str, Any]) -> Any:
    """Run the user's code; show an exception as Python does, but a wrong selector in one line."""
    try:
        return eval(compiled, names)  # noqa: S307 - the user's own code, typed by the user
    except SelectorError as error:
        print_message(str(error))
        raise typer.Exit(ExitCode.USAGE) from None
    except Exception as error:  # noqa: BLE001 - the user's own code
        own = error.__traceback__.tb_next if error.__traceback__ else None
        text = "".join(traceback.format_exception(type(error), error, own))
        print_traceback(f"the code raised {error_headline(text)}", text)
        raise typer.Exit(ExitCode.USAGE) from None


def _print_value(value: Any) -> None:
    text = value if isinstance(value, str) else repr(value)
    typer.echo(printable_lines(text, len(text)) if sys.stdout.isatty() else text)


def _open_console(names: dict[str, Any]) -> None:
    response = names["response"]
    banner = (
        f"{response.status} {printable_lines(response.url)}  {format_count(len(response.body), 'byte')}\n"
        "response   request   spider   fetch(url)   view()     try: response.css('h1::text').getall()\n"
    )
    if find_spec("IPython") is None:
        _enable_completion(names)
        _make_console(names).interact(banner=banner, exitmsg="")
    else:
        typer.echo(banner, err=True)
        import_module("IPython").start_ipython(argv=["--no-banner"], user_ns=names)


def _make_console(names: dict[str, Any]) -> InteractiveConsole:
    """Return Python's console, which shows a wrong selector in one line."""

    class Console(InteractiveConsole):
        def showtraceback(self) -> None:
            raised = sys.exc_info()[1]
            if isinstance(raised, SelectorError):
                self.write(f"{raised}\n")
            else:
                super().showtraceback()

    return Console(names)


def _enable_completion(names: dict[str, Any]) -> None:
    """Complete names by Tab, if readline is available."""
    try:
        readline, rlcompleter = map(import_module, ("readline", "rlcompleter"))
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")


COMMANDS = (("shell", open_shell, EXAMPLES),)
