"""By which URL a host in trouble is probed."""

from gossamer.core.files import Saving
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import FetchResult
from gossamer.engine.answer_memory import MOST_JOBS, AnswerMemory, AnswerTable

HOST = "site.test"
URL = f"http://{HOST}/"
GOOD = FetchResult(
    url=URL, status=200, headers=(), body=b"", started_at=0.0, latency_s=0.0, elapsed_s=0.0, rung="http"
)


def lease_of(url: str, via: str = "") -> Lease:
    entry = Entry(request=Request(url, via=via), fingerprint=1, host=HOST)
    return Lease(entry=entry, token=1, granted_at=0.0, start_by=1.0, deadline=1.0, attempt=1)


def test_a_host_is_probed_with_its_latest_page_and_never_with_a_whole_file() -> None:
    """A bug it would catch: a host in trouble is asked for up to 1 GiB, again and again."""
    memory = AnswerMemory()
    memory.note_answer(HOST, Request(f"{URL}big.zip", saves=Saving()), GOOD)
    assert memory.choose(lease_of(f"{URL}next")) is None
    memory.note_answer(HOST, Request(f"{URL}page"), GOOD)
    memory.note_answer(HOST, Request(f"{URL}big.zip", saves=Saving()), GOOD)
    probe = memory.choose(lease_of(f"{URL}next"))
    assert probe is not None
    assert probe.url == f"{URL}page"


def test_a_process_remembers_the_jobs_that_it_worked_on_last() -> None:
    kept = AnswerTable()
    first = kept.open_memory("shop-1")
    for number in range(MOST_JOBS - 1):
        kept.open_memory(f"docs-{number}")
    assert kept.open_memory("shop-1") is first
    kept.open_memory("news-1")
    assert kept.open_memory("shop-1") is first
    assert "docs-0" not in repr(kept)
