"""``gossamer shell``: one page, fetched as a crawl would, and Python to try selectors on it."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.errors import complain
from gossamer.cli.options import Argument, NoRobots, PageSpider, Set
from gossamer.config.overrides import arguments_of, overrides
from gossamer.core.errors import FetchError, SelectorError, ServiceMissing, UsageError
from gossamer.core.exits import Exit
from gossamer.core.text import quantity
from gossamer.observe.text import lines, shown_url

if TYPE_CHECKING:
    from code import InteractiveConsole

    from gossamer.queries.single_page import PageFetcher
    from gossamer.spiders.response import Response

EXAMPLES = """
  gossamer shell https://example.com
  gossamer shell https://example.com -c "response.css('h1::text').get()"
  echo "print(len(response.links()))" | gossamer shell https://example.com
"""


def shell(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page.")],
    *,
    code: Annotated[
        str | None, typer.Option("-c", "--code", metavar="CODE", help="Evaluate CODE, print the result, end.")
    ] = None,
    spider: PageSpider = None,
    settings: Set = None,
    argument: Argument = None,
    no_robots: NoRobots = False,
) -> None:
    """Fetch a page and try selectors on it.

    Opens Python with response, request, spider and fetch(url). robots.txt is obeyed, and a second page
    of a host has to wait its turn, as in a crawl.
    """
    from gossamer.queries.single_page import PageFetcher

    given = overrides(settings, robots="false" if no_robots else None)
    with PageFetcher(url, spider, arguments_of(argument), given) as pages:
        try:
            response = pages.fetch(url)
        except FetchError as error:
            raise ServiceMissing(f"{shown_url(url)} was not fetched: {error}") from None
        names = _names(pages, response)
        if code is not None:
            _evaluate(code, names)
        elif sys.stdin.isatty():
            _interact(names)
        else:
            _execute(sys.stdin.read(), names)


def _names(pages: PageFetcher, response: Response) -> dict[str, Any]:
    """What the code can use; ``fetch`` puts another page in the place of the first."""
    names: dict[str, Any] = {"__name__": "__console__", "__doc__": None}

    def use(response: Response) -> Response:
        names.update(response=response, request=response.request, spider=pages.spider_for(response.request))
        return response

    def fetch(url: str) -> Response | None:
        """Fetch another page (also relative to this one); ``response`` is the new one then."""
        try:
            return use(pages.fetch(names["response"].urljoin(url)))
        except (FetchError, UsageError) as error:
            complain(str(error))
            return None

    use(response)
    names["fetch"] = fetch
    return names


def _evaluate(code: str, names: dict[str, Any]) -> None:
    try:
        compiled = compile(code, "<code>", "eval")
    except SyntaxError:
        _execute(code, names)
        return
    value = _guarded(compiled, names)
    if value is not None:
        _print(value)


def _execute(code: str, names: dict[str, Any]) -> None:
    try:
        compiled = compile(code, "<stdin>", "exec")
    except SyntaxError as error:
        raise UsageError(f"line {error.lineno}: {error.msg}") from None
    _guarded(compiled, names)


def _guarded(compiled: Any, names: dict[str, Any]) -> Any:
    """Run the user's code; what it raises is shown as Python would, a wrong selector in one line."""
    try:
        return eval(compiled, names)  # noqa: S307 - the user's own code, typed by the user
    except SelectorError as error:
        complain(str(error))
        raise typer.Exit(Exit.USAGE) from None
    except Exception as error:  # noqa: BLE001 - the user's own code
        own = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, own)
        raise typer.Exit(Exit.USAGE) from None


def _print(value: Any) -> None:
    text = value if isinstance(value, str) else repr(value)
    typer.echo(lines(text, len(text)) if sys.stdout.isatty() else text)


def _interact(names: dict[str, Any]) -> None:
    response = names["response"]
    banner = (
        f"{response.status} {lines(response.url)}  {quantity(len(response.body), 'byte')}\n"
        "response   request   spider   fetch(url)     try: response.css('h1::text').getall()\n"
    )
    if find_spec("IPython") is None:
        _complete(names)
        _console(names).interact(banner=banner, exitmsg="")
    else:
        typer.echo(banner, err=True)
        import_module("IPython").start_ipython(argv=["--no-banner"], user_ns=names)


def _console(names: dict[str, Any]) -> InteractiveConsole:
    """Python's own, but for a wrong selector, which is told in one line."""
    from code import InteractiveConsole

    class Console(InteractiveConsole):
        def showtraceback(self) -> None:
            raised = sys.exc_info()[1]
            if isinstance(raised, SelectorError):
                self.write(f"{raised}\n")
            else:
                super().showtraceback()

    return Console(names)


def _complete(names: dict[str, Any]) -> None:
    """Names are completed by Tab, where readline is there."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")


COMMANDS = (("shell", shell, EXAMPLES),)
