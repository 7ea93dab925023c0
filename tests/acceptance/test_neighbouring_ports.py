"""A start URL names its host and its port: other services of a private host are not asked by its pages."""

from gossamer.core.exits import ExitCode
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer

SPIDER = """
from gossamer import Spider

class Site(Spider):
    name = "site"
    start_urls = ["{start}"]
    allowed_domains = {domains}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")
"""


def app_to(neighbour):
    def app(path, headers):
        if path == "/away":
            return SiteResponse(302, headers=(("Location", f"{neighbour}/by-redirect"),))
        return SiteResponse(200, f"<a href={neighbour}/by-link>x</a><a href=/away>y</a>".encode())

    return app


def crawl(folder, domains, code=0):
    """What the neighbour was asked for by a spider that names these domains, and what was refused."""
    with (
        serve_in_thread(lambda path, headers: SiteResponse(200, b"<p>secret")) as neighbour,
        serve_in_thread(app_to(neighbour.url)) as site,
    ):
        (folder / "site.py").write_text(SPIDER.format(start=f"{site.url}/", domains=domains))
        gossamer("crawl site.py --json", *FAST, cwd=folder, code=code)
        rows = asked("attempts site-1 --reason guard", cwd=folder)
        refused = {row["url"].removeprefix(neighbour.url) for row in rows}
        return {path for path in neighbour.log.count_paths() if path != "/robots.txt"}, refused


def test_links_and_redirects_to_another_port_are_refused(tmp_path):
    assert crawl(tmp_path, (), ExitCode.DEAD_LETTERS) == (set(), {"/by-link", "/by-redirect"})


def test_a_domain_without_a_port_names_all_ports(tmp_path):
    assert crawl(tmp_path, ("127.0.0.1",)) == ({"/by-link", "/by-redirect"}, set())
