"""``gossamer top`` as it is used: in a terminal while a crawl runs, and where nobody looks."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import asked, gossamer
from kit.environment import environment
from kit.programs import command, start
from kit.pseudo_terminal import HOME, PseudoTerminal

PAGES = 400
ENTER, LEAVE, CLEAR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[2J"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(PAGES))
    with serve_in_thread(lambda path, headers: SiteResponse(200, f"<html>{links}".encode())) as served:
        yield served


@pytest.fixture(scope="module")
def place(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with a crawl that has ended and one that runs."""
    folder = tmp_path_factory.mktemp("top")
    gossamer(f"crawl {site.url}/ --max-pages 3 -q", "--delay", "0", cwd=folder)
    crawl = start("crawl", f"{site.url}/1", "--delay", "0.1", "-q", cwd=folder)
    try:
        yield folder
    finally:
        crawl.kill()
        crawl.wait()


def terminal(folder: Path, *more: str) -> PseudoTerminal:
    return PseudoTerminal(command("top", *more), cwd=folder, env=environment())


@pytest.mark.long
def test_a_terminal_shows_a_crawl_as_it_runs(place: Path, site: Site) -> None:
    with terminal(place) as shown:
        first = shown.wait_for(
            lambda lines: any("running" in line for line in lines) and "q quit" in lines[-1]
        )
        assert len(first) == 24
        assert all(len(line) <= 80 for line in first)
        (row,) = [line for line in first if "running" in line]
        pages = int(row.split()[2].replace(",", ""))
        assert any(site.host in line and "pending" not in line for line in first[8:]), "its hosts"

        def has_moved(lines: list[str]) -> bool:
            rows = [line.split() for line in lines if "running" in line]
            return bool(rows) and len(lines) == 24 and int(rows[0][2].replace(",", "")) > pages

        shown.wait_for(has_moved)
        shown.press("p")
        shown.wait_for(lambda lines: any("paused: p resumes" in line for line in lines))
        shown.resize(60, 14)
        small = shown.wait_for(lambda lines: len(lines) == 14)
        assert all(len(line) <= 60 for line in small)
        shown.press("q")
        assert shown.wait() == 0
        assert shown.modes == shown.before
    assert shown.output.rstrip().endswith(LEAVE)
    drawn = shown.output.partition(ENTER)[2].partition(HOME)[2]
    assert CLEAR not in drawn, "a picture takes the place of the one before: nothing flickers"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(place: Path, number: signal.Signals) -> None:
    with terminal(place) as shown:
        shown.wait_for(lambda lines: "q quit" in lines[-1])
        shown.process.send_signal(number)
        assert shown.wait() == 0
        assert shown.modes == shown.before
    assert shown.output.rstrip().endswith(LEAVE)


def test_without_a_terminal_it_is_text_once(place: Path, site: Site) -> None:
    done = gossamer("top", cwd=place)
    assert "\x1b" not in done.stdout
    assert "q quit" not in done.stdout
    assert "running" in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    found = asked("top", cwd=place)
    assert {job["state"] for job in found["jobs"]} == {"running", "unfinished"}
    assert found["fleet"] is None
    assert found["chosen"]["say"][0]
    ended = next(job["job"] for job in found["jobs"] if job["state"] != "running")
    assert asked(f"top {ended}", cwd=place)["chosen"]["job"] == ended
    assert "no job is named 'nobody'" in gossamer("top nobody --once", cwd=place, code=2).stderr


def test_a_pipe_that_closes_ends_it(place: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(command('top', '--json'))} | head -c 1"],
        cwd=place, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout == "{"
    assert not done.stderr
    json.loads(gossamer("top --json", cwd=place).stdout)
