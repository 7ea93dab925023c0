"""What people read on a page, whatever it is made of."""

from __future__ import annotations

from time import thread_time

from gossamer.callbacks.page_text import read_html, read_page
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, PageReading
from gossamer.parse.html import HtmlPage
from gossamer.spiders.response import Response


def test_of_html_the_title_and_the_first_headings_stand_above_the_text() -> None:
    page = b"<title> A  b</title><h1>C<b>d</b></h1><!-- no --><style>no</style><p>e<script>no</script>"
    assert read_html(HtmlPage(page, "http://h.test/")) == PageReading("A b Cd", "Cd\n\ne")


def test_what_is_not_html_has_a_text_and_no_heading() -> None:
    fetched = FetchResult(
        url="http://h.test/", status=200, headers=(("content-type", "text/plain"),), rung="http",
        body=b"one <h1>two</h1>", started_at=0.0, latency_s=0.0, elapsed_s=0.0,
    )  # fmt: skip
    assert read_page(Response(Request(fetched.url), fetched)) == PageReading("", "one <h1>two</h1>")


def test_thousands_of_headings_within_each_other_take_no_more_time_than_a_few() -> None:
    page = HtmlPage(b"<h1><div>" * 400 + b"word " * 20_000, "http://h.test/")
    _ = page.document
    began = thread_time()
    assert read_html(page).heading.count("word") == 3 * 20_000
    assert thread_time() - began < 1
