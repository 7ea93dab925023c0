"""The contract of what reads an archive, as named checks.

Use: ``await check_archive_reader(make)``, or one by one from ``ARCHIVE_READER_CHECKS``; ``make(clock)`` is an
async context manager that gives an :class:`~gossamer.testing.contracts.archive_harness.ArchiveSubject`.
"""

from __future__ import annotations

from gossamer.core.archive import ArchiveEntry
from gossamer.core.errors import ArchiveDamagedError, BlobMissingError
from gossamer.core.requests import Request
from gossamer.policy.request_variants import variant_of
from gossamer.testing.archive import digest_of
from gossamer.testing.clock import EPOCH
from gossamer.testing.contracts.archive_harness import JOB, PAGE, SITE, ArchiveSubject, make_answer, plain
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ARCHIVE_READER_CHECKS", "check_archive_reader"]

ARCHIVE_READER_CHECKS: ContractSuite[ArchiveSubject] = ContractSuite()
"""The checks by name."""


async def check_archive_reader(make: Make[ArchiveSubject]) -> None:
    """Run every check on a fresh archive each. Raises ``AssertionError`` for a broken promise."""
    await ARCHIVE_READER_CHECKS.run(make)


@ARCHIVE_READER_CHECKS.register
async def a_page_is_equal_to_what_was_fetched(s: ArchiveSubject) -> None:
    """By whatever way it came, with odd headers, without a body, cut short."""
    html = ("content-type", "text/html")
    answers = [
        make_answer(f"{SITE}/a", b"", status=204, headers=()),
        make_answer(f"{SITE}/b", b"rendered", rung="browser", headers=(html, ("content-encoding", "br"))),
        make_answer(f"{SITE}/c", b"cut", headers=(html, ("content-length", "900")), flags=("truncated",)),
        make_answer(
            f"{SITE}/d", b"odd", headers=(("x-caf\u00e9", " a: b\t"), ("x-a", ""), ("x-a", "\u20ac"))
        ),
        make_answer(f"{SITE}/e", b"two\r\n\r\nparts", status=599, headers=(("x", "line\r\nbreak: 1"),)),
        make_answer(f"{SITE}/f", b"", status=301, headers=(("location", "/g?token=1"),)),
    ]
    places = [await s.writer.write_exchange(Request(answer.url), answer) for answer in answers]
    await s.settle()
    for place, answer in zip(places, answers, strict=True):
        page = await s.reader.read_page(place)
        assert_equal(plain(page.fetched), plain(answer), "as it was fetched")
        assert_equal((page.fetched.rung, page.fetched.archived), ("archive", place), "where it is from")
        assert_equal((page.entry.rung, page.entry.flags), (answer.rung, answer.flags), "how it was fetched")


@ARCHIVE_READER_CHECKS.register
async def the_latest_answer_to_a_request_is_found(s: ArchiveSubject) -> None:
    """By its URL; another one that is found under the same key is not it."""
    await s.write(body=b"first", at=EPOCH)
    latest = await s.write(body=b"third", at=EPOCH + 20.25)
    await s.write(body=b"second", at=EPOCH + 10)
    await s.write(f"{SITE}/PAGE?a=1&b=2", body=b"another page")
    await s.settle()
    entry = await s.reader.find_page(JOB, PAGE)
    assert_holds(entry is not None, "it is found")
    assert isinstance(entry, ArchiveEntry)
    assert_equal((entry.location.text, entry.at), (latest, EPOCH + 20.25), "the latest")
    assert_equal((entry.status, entry.content_type), (200, "text/html"), "what it says")
    for job, url in ((JOB, f"{SITE}/page"), (JOB, f"{PAGE}&c=3"), ("other-1-0123456789ab", PAGE)):
        assert_equal(await s.reader.find_page(job, url), None, f"{job} has no {url}")


@ARCHIVE_READER_CHECKS.register
async def requests_with_bodies_are_told_apart(s: ArchiveSubject) -> None:
    """By method and body, though bodies are not kept."""
    asked = [("GET", b""), ("POST", b"q=1"), ("POST", b"q=2"), ("PUT", b"q=1")]
    for number, (method, body) in enumerate(asked):
        answer = make_answer(PAGE, b"answer %d" % number)
        await s.writer.write_exchange(Request(PAGE, method=method, body=body), answer)
    await s.settle()
    for number, (method, body) in enumerate(asked):
        entry = await s.reader.find_page(JOB, PAGE, method, body)
        assert isinstance(entry, ArchiveEntry), f"{method} {body!r} is found"
        page = await s.reader.read_page(entry.location.text)
        assert_equal((page.fetched.body, entry.method), (b"answer %d" % number, method), "its own answer")
        digest = digest_of(body) if body else ""
        assert_equal(
            (entry.request_digest, page.entry.request_digest), (digest, digest), "of the requested URLs"
        )
    assert_equal(await s.reader.find_page(JOB, PAGE, "POST", b"q=3"), None, "nobody asked that")


@ARCHIVE_READER_CHECKS.register
async def requests_of_sessions_and_with_headers_are_told_apart(s: ArchiveSubject) -> None:
    """The variant separates them; a request without an archived variant gets the latest answer to its URL."""
    asked = [
        Request(PAGE, headers={"Accept-Language": "de"}),
        Request(PAGE, headers={"Accept-Language": "fr"}),
        Request(PAGE, session="ann"),
        Request(PAGE, cookies={"currency": "EUR"}),
        Request(PAGE),
    ]
    for number, request in enumerate(asked):
        answer = make_answer(PAGE, b"answer %d" % number, at=EPOCH + number)
        await s.writer.write_exchange(request, answer)
    await s.settle()
    for number, request in enumerate(asked):
        entry = await s.reader.find_page(JOB, PAGE, variant=variant_of(request))
        assert isinstance(entry, ArchiveEntry), "it is found"
        page = await s.reader.read_page(entry.location.text)
        assert_equal(page.fetched.body, b"answer %d" % number, "its own answer")
        assert_equal(page.entry.variant, variant_of(request), "as its record says")
    other = await s.reader.find_page(JOB, PAGE, variant="of nobody")
    assert_equal(other and other.at, EPOCH + 4, "else the latest")


@ARCHIVE_READER_CHECKS.register
async def pages_are_listed_oldest_first(s: ArchiveSubject) -> None:
    """The latest successful answer to each request; failures and redirects are none."""
    await s.write(f"{SITE}/b", at=EPOCH + 2)
    await s.write(f"{SITE}/a", at=EPOCH + 1, body=b"old")
    latest = await s.write(f"{SITE}/a", at=EPOCH + 3, body=b"new")
    await s.write(f"{SITE}/a", at=EPOCH + 4, status=503)
    await s.write(f"{SITE}/moved", at=EPOCH + 5, status=302)
    await s.settle()
    listed = [entry async for entry in s.reader.list_pages(JOB)]
    assert_equal([entry.url for entry in listed], [f"{SITE}/b", f"{SITE}/a"], "in their order")
    assert_equal(listed[1].location.text, latest, "the latest good one")
    assert_equal([entry async for entry in s.reader.list_pages("other-1-0123456789ab")], [], "by job")


@ARCHIVE_READER_CHECKS.register
async def what_is_not_there_is_said_to_be_missing(s: ArchiveSubject) -> None:
    """A file that was deleted; and a place that is none, or where no record begins, is damage."""
    place = await s.write()
    await s.settle()
    file, offset, length = place.rsplit(":", 2)
    expected = {
        f"{JOB}/ffffffffffff-00001.warc.gz:0:100": BlobMissingError,
        "nonsense": ArchiveDamagedError,
        "../../etc/passwd:0:100": ArchiveDamagedError,
        f"{file}:{int(offset) + 1}:{length}": ArchiveDamagedError,
        f"{file}:{offset}:{int(length) - 1}": ArchiveDamagedError,
        f"{file}:0:{offset}": ArchiveDamagedError,
    }
    for wrong, kind in expected.items():
        try:
            await s.reader.read_page(wrong)
        except (ArchiveDamagedError, BlobMissingError) as error:
            assert_holds(isinstance(error, kind), f"{wrong} is a {kind.__name__}, not {error!r}")
        else:
            raise AssertionError(f"{wrong} was read")
    assert_equal((await s.reader.read_page(place)).entry.url, PAGE, "the others are not touched")
