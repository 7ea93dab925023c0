"""Documentation sites: exactly the pages that can be reached, and no other.

One is made here; those of Debian packages are real ones, and their pages are known by their hash.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.site import serve_folder, serve_in_thread
from kit.corpora import corpus, from_corpus
from kit.made_docs import START, make_docs
from kit.programs import crawl, rows

UNPACKED = Path(__file__).parents[2] / ".cache" / "docs"
FAST = ("--delay", "0", "--per-host", "16")


def truth(package: str) -> dict[str, Any]:
    """What is known of a package's site, which is among the corpora."""
    known = json.loads((corpus("debian-docs") / "groundtruth.json").read_text())
    return next(entry for entry in known if entry["package"] == package)


def unpacked(package: str, doc_root: str) -> Path:
    """The folder of a package's site."""
    folder = UNPACKED / package / doc_root
    if not folder.is_dir():
        pytest.fail(f"{folder} is not there: `make docs-corpus` fetches Debian's package {package}")
    return folder


def test_a_site_of_which_everything_is_known(tmp_path: Path) -> None:
    known = make_docs(tmp_path / "site")
    data = tmp_path / "data"
    with serve_in_thread(serve_folder(tmp_path / "site")) as site:
        result = crawl(site.url + START, "--data", data, *FAST)
        assert set(site.log.count_paths().values()) == {1}, "no page is fetched twice"
        asked = set(site.log.count_paths()) - {"/robots.txt"}
    assert asked == known.pages | known.missing | known.redirects | known.texts
    found = {url.removeprefix(site.url) for (url,) in rows(data, "select url from page")}
    assert found == known.pages | known.texts
    assert result["pages"] == result["items"] == len(found)
    assert result["attempts"] == known.attempts
    counts = {"200": len(known.pages | known.texts), "301": len(known.redirects), "404": len(known.missing)}
    assert result["by_status"] == counts


@pytest.mark.long
@from_corpus("debian-docs")
@pytest.mark.parametrize("package", ["git-doc", "python3.11-doc"])
def test_every_reachable_page_and_no_other(package: str, tmp_path: Path) -> None:
    known = truth(package)
    data = tmp_path / "data"
    with serve_in_thread(serve_folder(unpacked(package, known["doc_root"]))) as site:
        result = crawl(site.url + known["start"], "--data", data, *FAST)
        assert set(site.log.count_paths().values()) == {1}, "no page is fetched twice"
    urls = sorted(
        url.replace(site.url, "http://site.test", 1) for (url,) in rows(data, "select url from page")
    )
    assert result["pages"] == result["items"] == len(urls) == known["reachable_html_urls"]
    assert hashlib.sha256("\n".join(urls).encode()).hexdigest() == known["sha256_sorted_html_urls"]
    assert result["by_status"]["404"] == known["broken_404"]
    assert result["attempts"] == known["distinct_in_scope_urls"]
