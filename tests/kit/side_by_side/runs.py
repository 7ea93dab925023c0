"""Runs one spider by Scrapy or by Gossamer, in a process of its own, in a fresh copy of its project."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from kit.side_by_side.projects import copy_project
from kit.side_by_side.server import Place

_ENVIRONMENT = Path(__file__).parent / "environment"
_SETTINGS = {
    "AUTOTHROTTLE_ENABLED": "False",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "8",
    "CONCURRENT_REQUESTS_PER_IP": "0",
    "DOWNLOAD_DELAY": "0",
    "DOWNLOAD_TIMEOUT": "10",
    "HTTPCACHE_ENABLED": "False",
    "LOG_ENABLED": "True",
    "LOG_FILE": "",
    "LOG_LEVEL": "INFO",
    "LOG_STDOUT": "False",
    "RETRY_TIMES": "1",
    "ROBOTSTXT_OBEY": "False",
    "SPIDER_LOADER_WARN_ONLY": "True",
    "TELNETCONSOLE_ENABLED": "False",
}
_IN_ORDER = {
    "DEPTH_PRIORITY": "1",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
_OURS = ("delay=0", "per_host=8", "robots=false", "max_retries=1", "log.level=info")


@dataclass(frozen=True)
class SpiderEntry:
    """A spider of a project."""

    root: Path  # where the project's scrapy.cfg is
    file: Path  # within it
    name: str
    class_name: str = ""
    error: str = ""  # why it cannot be imported
    by_requests: bool = False  # begins with start_requests()
    by_aliases: bool = False  # imports names that Scrapy has removed


@dataclass
class Run:
    """The results of a run."""

    items: list[dict[str, Any]] = field(default_factory=list)
    code: int | None = None  # None: it did not end in time
    log: str = ""
    seconds: float = 0.0
    folder: Path = Path()  # the copy in which it ran
    hits: list[str] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """Lines of the log that tell of errors."""
        return [
            line[:300] for line in self.log.splitlines() if re.search(r"\bERROR\b|CRITICAL|\w+Error\b", line)
        ]

    @property
    def reason(self) -> str:
        """How Scrapy ended."""
        match = re.search(r"'finish_reason': '([^']*)'", self.log)
        return match[1] if match else ""


class Runner:
    """Runs spiders of one project against one site."""

    def __init__(self, folder: Path, stubs: list[str], limit_s: float) -> None:
        self._folder, self._stubs, self._limit_s = folder, stubs, limit_s
        self._count = 0

    def find_spiders(self, root: Path) -> list[SpiderEntry]:
        """The spiders of a project, and the modules that cannot be imported."""
        found = self._probe(root)
        if any("'scrapy." in spider.error for spider in found):
            plain = {spider.name for spider in found if not spider.error}
            found = [
                s if s.name in plain else replace(s, by_aliases=True) for s in self._probe(root, "aliases")
            ]
        return found

    def _probe(self, root: Path, *arguments: str) -> list[SpiderEntry]:
        copy = self._copy(root).resolve()
        run = self._run([sys.executable, str(_ENVIRONMENT / "probe.py"), *arguments], copy, None, limit_s=60)
        rows = [line.removeprefix("SPIDER ") for line in run.log.splitlines() if line.startswith("SPIDER ")]
        found = [_read_entry(root, copy, json.loads(row)) for row in rows]
        return found or [SpiderEntry(root, Path(), "?", error=run.log[-300:] or "no spiders are found")]

    def run_scrapy(
        self, spider: SpiderEntry, place: Place, hits: list[str], *, in_order: bool = False
    ) -> Run:
        """Run a spider by Scrapy, with removed parts of Scrapy's API restored for spiders that need them.

        ``in_order``: the first request goes first; by Scrapy's default the last one goes first.
        """
        parts = {"start_requests": spider.by_requests, "aliases": spider.by_aliases}
        mode = "+".join(name for name, is_given in parts.items() if is_given) or "plain"
        command = [sys.executable, str(_ENVIRONMENT / "reference.py"), mode, "{}", "crawl", spider.name]
        command += ["-s", f"CLOSESPIDER_TIMEOUT={self._limit_s * 0.9:.0f}"]
        for name, value in (_SETTINGS | (_IN_ORDER if in_order else {})).items():
            command += ["-s", f"{name}={value}"]
        return self._crawl(command, spider, place, hits)

    def run_all_by_scrapy(self, root: Path, names: Sequence[str], place: Place) -> tuple[Path, Run]:
        """Several spiders of a project in one process; the folder with ``NAME.made.jsonl`` of each."""
        copy = self._copy(root)
        command = [sys.executable, str(_ENVIRONMENT / "many.py"), *names]
        return copy, self._run(command, copy, place, limit_s=self._limit_s)

    def run_gossamer(self, spider: SpiderEntry, place: Place, hits: list[str], *, argument: str = "") -> Run:
        """By Gossamer, in a data directory of its own; with an argument ``NAME=VALUE`` where one is given."""
        is_named = crc32(spider.name.encode()) % 2 or not spider.class_name  # half of them by their file
        target = spider.name if is_named else f"{spider.file}:{spider.class_name}"
        command = [
            sys.executable,
            "-m",
            "gossamer",
            "crawl",
            target,
            "-O",
            "{}",
            "--data",
            "data.made",
            "--fresh",
        ]
        for setting in (*_OURS, f"max_time={self._limit_s * 0.9:.0f}"):
            command += ["-s", setting]
        command += ["-a", argument] if argument else []
        return self._crawl(command, spider, place, hits)

    def _crawl(self, command: list[str], spider: SpiderEntry, place: Place, hits: list[str]) -> Run:
        copy = self._copy(spider.root)
        output = copy / "items.made.jsonl"
        before = len(hits)
        run = self._run(
            [part.replace("{}", output.name) for part in command], copy, place, limit_s=self._limit_s
        )
        run.hits = hits[before:]
        run.items = read_items(output)
        return run

    def _copy(self, root: Path) -> Path:
        self._count += 1
        copy = self._folder / f"copy{self._count}"
        copy_project(root, copy)
        return copy

    def _run(self, command: list[str], folder: Path, place: Place | None, *, limit_s: float) -> Run:
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        environment = {
            "HOME": str(home),
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": f"{_ENVIRONMENT}:{folder}",
            "PYTHONHASHSEED": "0",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MADE_SITE_STUBS": ",".join(self._stubs),
        }
        if place is not None:
            authority = str(place.authority)
            environment |= {
                "MADE_SITE_PLAIN": str(place.plain_port),
                "MADE_SITE_TLS": str(place.tls_port),
                "SSL_CERT_FILE": authority,
                "REQUESTS_CA_BUNDLE": authority,
            }
        began = time.monotonic()
        log = folder / "log.made.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = process.wait(limit_s + 5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
        text = log.read_text(encoding="utf-8", errors="replace")
        return Run(code=code, log=text[-200_000:], seconds=time.monotonic() - began, folder=folder)


def _read_entry(root: Path, copy: Path, row: dict[str, Any]) -> SpiderEntry:
    file = Path(row.get("file", copy)).resolve()
    return SpiderEntry(
        root,
        file.relative_to(copy) if file.is_relative_to(copy) else Path(),
        row.get("name", row["module"]),
        row.get("class", ""),
        row.get("error", ""),
        bool(row.get("start_requests")),
    )


def read_items(file: Path) -> list[dict[str, Any]]:
    """Return items from a JSON Lines file; none if it does not exist."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return [json.loads(line) for line in lines if line.strip()]
