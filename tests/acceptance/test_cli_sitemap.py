"""``gossamer sitemap`` lists pages as they are read: nested, broken, endless, or a million of them."""

import json
import os
import subprocess

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import gossamer
from kit.environment import environment
from kit.programs import command

QUICK = ("-s", "delay=0")


def index_of(sitemaps, pages):
    """A site with an index of so many sitemaps, each of so many pages."""

    def app(path, headers):
        base = f"http://{headers['host']}"
        if path == "/index.xml":
            listed = "".join(
                f"<sitemap><loc>{base}/{number}.xml</loc></sitemap>" for number in range(sitemaps)
            )
            # It lists itself, and one that is not there.
            listed += (
                f"<sitemap><loc>{base}/index.xml</loc></sitemap><sitemap><loc>{base}/no.xml</loc></sitemap>"
            )
            return SiteResponse(body=f"<sitemapindex>{listed}</sitemapindex>".encode())
        name = path.strip("/").removesuffix(".xml")
        if not name.isdecimal():
            return SiteResponse(404)
        first = int(name) * pages
        body = "".join(
            f"<url><loc>{base}/p/{number}</loc><lastmod>2026-11-23</lastmod><priority>0.8</priority></url>"
            for number in range(first, first + pages)
        )
        return SiteResponse(body=f"<urlset>{body}</urlset>".encode())

    return app


def test_pages_of_an_index_are_listed_once_with_what_is_said_of_them(tmp_path):
    with serve_in_thread(index_of(3, 4)) as site:
        done = gossamer("sitemap", f"{site.url}/index.xml", *QUICK, cwd=tmp_path)
        assert done.stdout.splitlines() == [f"{site.url}/p/{number}" for number in range(12)]
        assert "status 404" in done.stderr
        assert [hit.path for hit in site.hits].count("/index.xml") == 1
        listed = json.loads(gossamer("sitemap --json", f"{site.url}/1.xml", *QUICK, cwd=tmp_path).stdout)
        assert listed[0] == {
            "url": f"{site.url}/p/4",
            "lastmod": "2026-11-23",
            "changed_at": "2026-11-24T00:00:00Z",
            "priority": "0.8",
        }


def test_a_robots_txt_stands_for_the_sitemaps_that_it_names(tmp_path):
    listing = index_of(2, 3)

    def app(path, headers):
        if path == "/robots.txt":
            base = f"http://{headers['host']}"
            named = "".join(f"Sitemap: {base}/{number}.xml\n" for number in (1, 0))
            return SiteResponse(body=named.encode(), content_type="text/plain")
        return listing(path, headers)

    with serve_in_thread(app) as site:
        done = gossamer("sitemap", f"{site.url}/robots.txt", *QUICK, cwd=tmp_path)
        assert done.stdout.splitlines() == [f"{site.url}/p/{number}" for number in (3, 4, 5, 0, 1, 2)]


def test_what_is_no_sitemap_is_said_and_told_from_one_without_pages(tmp_path):
    with serve_in_thread(lambda path, _: SiteResponse(404)) as site:
        done = gossamer("sitemap", f"{site.url}/sitmap.xml", *QUICK, cwd=tmp_path, code=1)
        assert "sitmap.xml: status 404" in done.stderr
    with serve_in_thread(lambda path, _: SiteResponse(body=b"<html><a href=/x>x</a></html>")) as site:
        done = gossamer("sitemap", f"{site.url}/shop", *QUICK, cwd=tmp_path, code=1)
        assert (done.stdout, "a page, not a sitemap" in done.stderr) == ("", True)
        assert f"`gossamer sitemap {site.url}/robots.txt`" in done.stderr
    with serve_in_thread(lambda path, _: SiteResponse(body=b"<urlset></urlset>")) as site:
        assert gossamer("sitemap", f"{site.url}/new.xml", *QUICK, cwd=tmp_path).stdout == ""


def test_a_bomb_costs_nothing_and_is_told(tmp_path):
    entities = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    bomb = f"{entities}<urlset><url><loc>&b;</loc></url></urlset>".encode()
    with serve_in_thread(lambda path, _: SiteResponse(body=bomb)) as site:
        done = gossamer("sitemap", f"{site.url}/bomb.xml", *QUICK, cwd=tmp_path, code=1)
        assert done.stdout == ""
        assert "entities" in done.stderr


def peak_mb(url, folder):
    """The most memory that the command has needed, in MB, and how many lines it wrote."""
    with subprocess.Popen(
        command("sitemap", url, *QUICK), cwd=folder, env=environment(), stdout=subprocess.PIPE
    ) as process:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: process.stdout.read(1 << 16), b""))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024, lines


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_a_million_pages_are_listed_in_bounded_memory(tmp_path):
    with serve_in_thread(index_of(200, 5_000)) as site:
        few, lines = peak_mb(f"{site.url}/0.xml", tmp_path)
        assert lines == 5_000
        many, lines = peak_mb(f"{site.url}/index.xml", tmp_path)
        assert lines == 1_000_000
        assert many - few < 150
