"""A site with a log-in: a form with a token, and sessions that end after some pages, or after a time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

from gossamer.testing.site import SiteResponse

USER, PASSWORD = "crawler@example.org", "correct horse & battery=staple"
PAGES = 40

SPIDER = """
from pathlib import Path

from gossamer import Spider


PASSWORD = Path(__file__).with_name("password.txt")


class Club(Spider):
    name = "club"
    start_urls = ["{start}/"]
    allowed_domains = ["{domain}"]
    login_url = "{start}/login"

    async def log_in(self, login):
        page = await login.get(self.login_url)
        await login.submit(page, {"user": "crawler@example.org", "password": PASSWORD.read_text()})
{more}
    def parse(self, response):
        yield from response.follow_all(css="a.page", callback=self.parse_page)

    def parse_page(self, response):
        yield {"page": response.css("h1::text").get()}
"""
CHECK = """
    def is_logged_in(self, response):
        return bool(response.css("a[href='/logout']"))
"""


def spider_file(folder: Path, start: str, more: str = "") -> Path:
    """A spider that logs in; ``more`` are further methods."""
    file = folder / "club_spider.py"
    domain = start.partition("://")[2]
    text = SPIDER.replace("{start}", start).replace("{domain}", domain).replace("{more}", more)
    file.write_text(text)
    file.with_name("password.txt").write_text(PASSWORD)
    return file


class Club:
    """The site. ``refusal``: the answer to visitors: a ``redirect`` to the form, the ``form`` itself, or
    ``401``.

    A session lasts for ``uses`` pages and for ``lasts`` requests of all clients, which stand for time here;
    ``private`` pages are refused to all.
    """

    def __init__(
        self,
        *,
        refusal: str = "redirect",
        uses: int = 10**9,
        lasts: int = 10**9,
        delay_s: float = 0.0,
        private: frozenset[str] = frozenset(),
        robots: str = "",
    ) -> None:
        self.refusal = refusal
        self.uses = uses
        self.lasts = lasts
        self.delay_s = delay_s
        self.private = private
        self.robots = robots
        self.password = PASSWORD
        self.sessions: dict[str, tuple[int, int]] = {}  # pages that are left, and until which request
        self.requests = 0
        self.tokens: dict[str, str] = {}
        self.tries: list[dict[str, str]] = []  # forms as they were sent
        self.log_ins = 0
        self.refused: list[str] = []
        self.read: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        with self._lock:
            self.requests += 1
            return self._answer(path.partition("?")[0], headers)

    def end_sessions(self) -> None:
        """Everybody is logged out."""
        with self._lock:
            self.sessions.clear()

    def _answer(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        cookies = dict(
            part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";") if "=" in part
        )
        if path == "/robots.txt":
            return SiteResponse(200, self.robots.encode()) if self.robots else SiteResponse(404)
        if path == "/login":
            return self._form()
        if path == "/session":
            return self._check_form(headers.get(":body", ""), cookies)
        if path == "/list":
            return SiteResponse(302, headers=(("Location", "/"),))
        if not self._is_member(cookies) or path in self.private:
            return self._refuse(path)
        self.read.append(path)
        if path == "/":
            links = "".join(f"<a class=page href='/page/{number}'>x</a>" for number in range(PAGES))
            return self._page("All", links)
        return self._page(path)

    def _is_member(self, cookies: Mapping[str, str]) -> bool:
        left, until = self.sessions.get(cookies.get("sid", ""), (0, 0))
        if left <= 0 or self.requests >= until:
            return False
        self.sessions[cookies["sid"]] = (left - 1, until)
        return True

    def _refuse(self, path: str) -> SiteResponse:
        self.refused.append(path)
        if self.refusal == "redirect":
            return SiteResponse(302, headers=(("Location", f"/login?next={path}"),), delay_s=self.delay_s)
        if self.refusal == "401":
            return SiteResponse(401, b"<html>who are you?</html>", delay_s=self.delay_s)
        return self._form()

    def _form(self, said: str = "") -> SiteResponse:
        visitor, token = secrets.token_hex(8), secrets.token_hex(8)
        self.tokens[visitor] = token
        body = f"""<html><h1>Log in</h1>{said}
            <form action=/search><input name=q></form>
            <form action="/session" method="post"><input type="hidden" name="token" value="{token}">
            <input name="user"><input name="password" type="password">
            <input type="checkbox" name="remember" checked><button name="go" value="in">Log in</button></form>
            </html>"""
        cookie = ("Set-Cookie", f"visitor={visitor}; Path=/; HttpOnly")
        return SiteResponse(200, body.encode(), headers=(cookie,))

    def _check_form(self, body: str, cookies: Mapping[str, str]) -> SiteResponse:
        sent = {name: values[-1] for name, values in parse_qs(body).items()}
        self.tries.append(sent)
        token = self.tokens.pop(cookies.get("visitor", ""), None)
        if token is None or sent.get("token") != token or sent.get("go") != "in":
            return SiteResponse(403, b"no token")
        if (sent.get("user"), sent.get("password")) != (USER, self.password):
            return self._form("<p>wrong password</p>")
        self.log_ins += 1
        sid = secrets.token_hex(8)
        self.sessions[sid] = (self.uses + 1, self.requests + self.lasts)  # and the page after the form
        return SiteResponse(303, headers=(("Location", "/"), ("Set-Cookie", f"sid={sid}; Path=/; HttpOnly")))

    def _page(self, title: str, links: str = "") -> SiteResponse:
        body = f"<html><body><h1>{title}</h1>{links}<a href='/logout' rel=nofollow>Log out</a></body></html>"
        return SiteResponse(200, body.encode(), delay_s=self.delay_s)
