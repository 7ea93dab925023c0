"""Compares what Scrapy and Gossamer make of a spider on the same made site."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import scrapy

from kit.side_by_side.items import find_chance, tell_difference
from kit.side_by_side.needs import PageNeeds
from kit.side_by_side.pages import Flavour, flavours_for
from kit.side_by_side.projects import sources_of, stubs_for
from kit.side_by_side.reading import read_needs
from kit.side_by_side.runs import Run, Runner, SpiderEntry
from kit.side_by_side.server import serve_site
from kit.side_by_side.site import MadeSite

EQUAL = "equal"
EMPTY = "no items, as with Scrapy"
DIFFERS = "differs"
NOT_STARTED = "does not start"
CANNOT = "Scrapy cannot start it"
UNFINISHED = "not finished in time"
NOT_RUN = "not compared"
FAILURES = (DIFFERS, NOT_STARTED)


@dataclass
class Comparison:
    """The results of one spider."""

    project: str
    file: str
    spider: str
    outcome: str
    why: str = ""
    scrapy_items: int = 0
    gossamer_items: int = 0
    scrapy_pages: int = 0
    gossamer_pages: int = 0
    by_requests: bool = False  # Scrapy 2.19 alone would begin with nothing
    by_aliases: bool = False  # Scrapy 2.19 alone could not import it
    flavour: dict[str, str] = field(default_factory=dict)
    chance: list[str] = field(default_factory=list)  # fields that differ between two runs of Scrapy
    seconds: float = 0.0


class Comparer:
    """Compares the spiders of a project; what Scrapy gave is kept in a folder and not asked for again."""

    def __init__(
        self, kept: Path | None = None, *, limit_s: float = 30.0, is_scrapy_only: bool = False
    ) -> None:
        self._kept, self._limit_s, self._is_scrapy_only = kept, limit_s, is_scrapy_only

    def find_spiders(self, root: Path) -> list[SpiderEntry]:
        """The spiders of a project, and the modules that cannot be imported."""
        with tempfile.TemporaryDirectory() as folder:
            return Runner(Path(folder), stubs_for(root), self._limit_s).find_spiders(root)

    def compare_spider(self, project: str, spider: SpiderEntry) -> Comparison:
        """Run it by both."""
        found = Comparison(project, str(spider.file), spider.name, CANNOT)
        found.by_requests, found.by_aliases = spider.by_requests, spider.by_aliases
        if spider.error:
            found.why = spider.error[:300]
            return found
        folder = Path(tempfile.mkdtemp(prefix="side-by-side-"))
        try:
            self._compare(spider, found, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return found

    def _compare(self, spider: SpiderEntry, found: Comparison, folder: Path) -> None:
        needs = read_needs(sources_of(spider.root, spider.root / spider.file))
        runner = Runner(folder, stubs_for(spider.root), self._limit_s)
        flavour, expected = self._run_reference(spider, needs, runner, folder)
        if expected.code and "No module named 'scrapy." in expected.log and not spider.by_aliases:
            spider = replace(spider, by_aliases=True)  # its settings name what Scrapy has removed
            found.by_aliases = True
            flavour, expected = self._run_reference(spider, needs, runner, folder)
        found.flavour, found.scrapy_items, found.scrapy_pages = (
            asdict(flavour),
            len(expected.items),
            len(expected.hits),
        )
        if expected.code is None or expected.reason == "closespider_timeout":
            found.outcome = UNFINISHED
            return
        if expected.code or expected.reason == "start_error":
            found.why = next(iter(expected.errors[-1:]), "")
            return
        if not expected.hits and "NotSupported: Unsupported URL scheme 'http" in expected.log:
            found.why = "its download handlers are not installed"
            return
        if self._is_scrapy_only:
            found.outcome = NOT_RUN
            return
        with serve_site(MadeSite(needs, flavour), folder) as (place, hits):
            ours = runner.run_gossamer(spider, place, hits)
            found.gossamer_items, found.gossamer_pages = len(ours.items), len(ours.hits)
            found.seconds = round(ours.seconds, 1)
            found.why = tell_difference(expected.items, ours.items)
            if found.why:
                again = runner.run_scrapy(spider, place, hits, in_order=True)
                found.chance = sorted(find_chance(expected.items, again.items))
                found.why = tell_difference(again.items, ours.items) and tell_difference(
                    expected.items, ours.items, found.chance
                )
        found.outcome = _name_outcome(expected, ours, found.why)
        if found.outcome == EMPTY:
            found.why = _tell_why_empty(expected)
        if found.outcome in FAILURES:
            found.why = f"{found.why}; {_last_words(ours)}"[:600]
            self._keep_log(found, ours)

    def _run_reference(
        self, spider: SpiderEntry, needs: PageNeeds, runner: Runner, folder: Path
    ) -> tuple[Flavour, Run]:
        """Scrapy's run on the first site on which it finds items."""
        place_kept = self._kept and self._kept / f"{self._key_of(spider)}.json"
        if place_kept and place_kept.exists():
            kept = json.loads(place_kept.read_text())
            return Flavour(**kept["flavour"]), Run(**kept["run"])
        best: tuple[Flavour, Run] | None = None
        for flavour in flavours_for(needs):
            with serve_site(MadeSite(needs, flavour), folder) as (place, hits):
                run = runner.run_scrapy(spider, place, hits)
            if best is None or len(run.items) > len(best[1].items):
                best = flavour, run
            if run.items or run.code or not run.hits:
                break
        assert best is not None
        if place_kept:
            place_kept.parent.mkdir(parents=True, exist_ok=True)
            place_kept.write_text(
                json.dumps({"flavour": asdict(best[0]), "run": asdict(best[1])}, default=str)
            )
        return best

    def _key_of(self, spider: SpiderEntry) -> str:
        """Names a reference: by the spider, its sources, and the code that makes its pages."""
        digest = sha256(scrapy.__version__.encode())
        for file in sorted(Path(__file__).parent.rglob("*.py")):
            if file.name not in ("comparison.py", "items.py", "report.py"):
                digest.update(file.read_bytes())
        for source in sources_of(spider.root, spider.root / spider.file):
            digest.update(source.encode())
        digest.update(
            f"{spider.root} {spider.file} {spider.name} {self._limit_s} {spider.by_aliases}".encode()
        )
        return digest.hexdigest()[:32]

    def _keep_log(self, found: Comparison, ours: Run) -> None:
        if self._kept:
            name = "".join(sign if sign.isalnum() else "-" for sign in f"{found.project} {found.spider}")
            logs = self._kept.parent / "logs"
            logs.mkdir(parents=True, exist_ok=True)
            text = "\n".join([f"{found.why}\n", *ours.hits, "", ours.log])
            (logs / f"{name}.txt").write_text(text, encoding="utf-8", errors="replace")


def _name_outcome(expected: Run, ours: Run, why: str) -> str:
    if not why and ours.code is not None:
        return EQUAL if expected.items else EMPTY
    if not ours.hits and expected.hits:
        return NOT_STARTED
    return DIFFERS


def _tell_why_empty(run: Run) -> str:
    told = [
        line for line in run.log.splitlines() if re.match(r"(?!.*: Traceback)[\w.]*(Error|Exception)\b", line)
    ]
    return f"{len(run.hits)} pages{f', {told[0][:160]}' if told else ''}"


def _last_words(run: Run) -> str:
    lines = [line.strip() for line in run.log.splitlines() if line.strip()]
    told = [line for line in lines if "rror" in line or "xception" in line] or lines[-1:]
    return f"exit code {run.code}, {told[-1][:200] if told else 'no word'}"
