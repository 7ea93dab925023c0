"""Real documentation sites of Debian packages: exactly the pages that can be reached, by their hash."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from corpora import corpus
from gossamer.testing.site import serve_folder, serve_in_thread
from programs import crawl, rows

UNPACKED = Path(__file__).parents[2] / ".cache" / "docs"


def truth(package: str) -> dict[str, Any]:
    known = json.loads((corpus("debian-docs") / "groundtruth.json").read_text())
    return next(entry for entry in known if entry["package"] == package)


def unpacked(package: str, doc_root: str) -> Path:
    folder = UNPACKED / package / doc_root
    if not folder.is_dir():
        message = f"{folder} is not there; `make docs-corpus` unpacks it"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return folder


@pytest.mark.parametrize("package", ["git-doc", "python3.11-doc"])
def test_every_reachable_page_and_no_other(package: str, tmp_path: Path) -> None:
    known = truth(package)
    data = tmp_path / "data"
    with serve_in_thread(serve_folder(unpacked(package, known["doc_root"]))) as site:
        result = crawl(site.url + known["start"], "--data", data, "--delay", "0", "--per-host", "16")
        assert set(site.log.paths().values()) == {1}, "no page is fetched twice"
    urls = sorted(
        url.replace(site.url, "http://site.test", 1) for (url,) in rows(data, "select url from page")
    )
    assert result["pages"] == result["items"] == len(urls) == known["reachable_html_urls"]
    assert hashlib.sha256("\n".join(urls).encode()).hexdigest() == known["sha256_sorted_html_urls"]
    assert result["by_status"]["404"] == known["broken_404"]
    assert result["attempts"] == known["distinct_in_scope_urls"]
