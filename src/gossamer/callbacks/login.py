"""Runs a spider's ``log_in()``, and judges by its last answer whether that went well."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from gossamer.core.errors import FetchError, OperatorError, UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.policy.log_in import fails_log_in, is_log_in_page
from gossamer.policy.request_secrets import secret_values_of
from gossamer.ports.login_guide import Ask
from gossamer.ports.page_examiner import ParseInterruptError, ParseLimitError
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.runtime.user_code import await_endable, ends_task
from gossamer.spiders.login import Login
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

MAX_REASON = 500
HIDDEN = "***"
SHORT = 3
"""Characters of a value that is too short to be looked for in a text."""


class SpiderLogin:
    """Port ``LoginGuide`` over spiders; ``choose`` names the one that a request goes to.

    ``read_response`` makes of an answer what spiders get.
    """

    def __init__(
        self,
        choose: Callable[[Request], Spider],
        read_response: Callable[[Request, FetchResult], Awaitable[Response]],
    ) -> None:
        self._choose = choose
        self._read_response = read_response

    def login_url_for(self, request: Request) -> str:
        """See :class:`~gossamer.ports.login_guide.LoginGuide`."""
        spider = self._choose(request)
        return spider.login_url if spider.logs_in else ""

    async def log_in(self, request: Request, ask: Ask) -> str:
        """See :class:`~gossamer.ports.login_guide.LoginGuide`."""
        spider = self._choose(request)
        assert spider.log_in is not None, "its log-in page was asked for before"

        async def ask_for(step: Request) -> Response:
            remember_secrets(secret_values_of(step))
            return await self._read_response(step, await ask(step))

        login = Login(ask_for, request.session, login_url=spider.login_url)
        try:
            said = await await_endable(spider.log_in(login))
            why = "log_in() returned False" if said is False else _find_failure(spider, login.last)
        except UsageError as error:  # a request that cannot be made
            why = _describe_error(spider, error)
        except OperatorError:
            raise
        except FetchError as error:
            if not fails_log_in(error.fault):
                raise
            why = str(error)
        except (ParseLimitError, ParseInterruptError) as error:
            why = str(error)
        except BaseException as raised:
            if ends_task(raised):
                raise
            why = _describe_error(spider, raised)
        return _without_secrets(why, login.secrets)[:MAX_REASON]


def _find_failure(spider: Spider, last: Response | None) -> str:
    """Return the reason why the last answer of a log-in shows that it failed."""
    if last is None:
        return ""
    if last.status >= 400:
        return f"it ended with status {last.status}"
    if not last.is_html:
        return ""
    if type(spider).is_logged_in is not Spider.is_logged_in:
        return "" if spider.is_logged_in(last) else "is_logged_in() says no to the page that it ended with"
    if is_log_in_page(last.url, spider.login_url) or last.css("input[type=password]"):
        return "the page that it ended with still asks to log in"
    return ""


def _describe_error(spider: Spider, raised: BaseException) -> str:
    """Return the error and its line number; not the line itself, which may hold a password."""
    frames = traceback.extract_tb(raised.__traceback__)
    others = ("<", str(Path(__file__).parents[1]))  # such as <frozen os>, and our own
    lines = [frame for frame in frames if not frame.filename.startswith(others)]
    where = f" ({Path(lines[-1].filename).name}, line {lines[-1].lineno})" if lines else ""
    said = f": {raised}" if str(raised) else ""
    return f"log_in() of the spider {spider.name!r} raised {type(raised).__name__}{said}{where}"


def _without_secrets(text: str, secrets: set[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) > SHORT:
            text = text.replace(secret, HIDDEN)
    return text
