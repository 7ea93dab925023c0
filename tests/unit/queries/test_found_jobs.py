"""Jobs that are looked for by a name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gossamer.core.errors import UnknownJobError
from gossamer.queries.jobs import find_job


class EmptyBook:
    """The book of a place in which nothing was crawled."""

    async def get(self, name: str) -> None:
        return None

    async def list_jobs(self) -> list[Any]:
        return []


async def test_where_there_is_no_job_the_message_says_what_makes_one() -> None:
    backends: Any = SimpleNamespace(book=EmptyBook())
    with pytest.raises(UnknownJobError, match=r"^no job exists yet; `gossamer crawl` starts one$"):
        await find_job(backends, "shop")
