"""What has not changed is counted by whether anything is left out because of it: of pages, not of files."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.freshness import UNCHANGED
from gossamer.policy.freshness import is_partial
from gossamer.store.totals import count_results, totals_of
from gossamer.testing.contracts.store_harness import make_item, make_visit_result


@pytest.mark.parametrize("is_page", [True, False])
def test_a_job_whose_files_are_as_they_were_has_seen_all_of_its_pages(is_page: bool) -> None:
    """A bug it would catch: it tells nothing of fewer items, since a picture was not sent again."""
    found = make_visit_result(*(() if is_page else (make_item("file"),)))
    row = replace(found.attempts[0], status=304, flags=(UNCHANGED,) if is_page else ())
    totals = totals_of(count_results([replace(found, attempts=(row,))]).total)
    assert (totals.by_status, totals.unchanged) == ({"304": 1}, int(is_page))
    assert is_partial(totals) == is_page
