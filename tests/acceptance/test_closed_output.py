"""``gossamer ... | head``: a reader that leaves early ends every command quietly, in any environment."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.environment import environment
from kit.programs import command
from kit.shop_spider import SPIDER

FAST = ("--delay", "0", "--per-host", "8")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Iterator[Path]:
    """A folder with a spider and its finished crawl; the shop is open."""
    folder = tmp_path_factory.mktemp("project")
    with serve_in_thread(Shop(20, page_bytes=2000)) as site:
        (folder / "shop.py").write_text(SPIDER.replace("{url}", site.url))
        subprocess.run(
            command("crawl", "shop.py", *FAST, "-q"), cwd=folder, env=environment(), timeout=60, check=True
        )
        yield folder


def without_a_reader(arguments: str, folder: Path) -> tuple[int, str]:
    """Exit code and stderr of a command whose output nobody reads from the beginning."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            command(*arguments.split()),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "--help", "crawl --help", "--version", "version", "version --json", "jobs", "jobs --json",
        "status shop", "attempts shop", "attempts shop --json", "explain http://127.0.0.1:1/",
        "dead list shop", "settings", "settings --json", "doctor", "export shop",
        "export shop --format csv", "crawl shop.py -q --json",
    ],
)  # fmt: skip
def test_row_71_a_reader_that_leaves_ends_a_command_quietly(project, arguments):
    assert without_a_reader(arguments, project) == (141, "")


def test_row_71_an_error_keeps_its_own_exit_code(project):
    code, said = without_a_reader("status nothing", project)
    assert code == 2
    assert "existing jobs: shop-1" in said


def test_row_71_a_crawl_prints_its_result_to_nobody(project, tmp_path):
    """The crawl is complete, its exit code says that its result was not read."""
    code, said = without_a_reader(f"crawl shop.py --json --data {tmp_path / 'data'} --max-pages 5", project)
    assert code == 141
    assert "Exception ignored" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("arguments", ["settings", "--help", "version"])
def test_a_full_disk_behind_the_output_is_said(project, arguments):
    """Exit code 4: what was to be printed is not all there."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments.split()), cwd=project, env=environment(), stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (4, "gossamer: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("arguments", ["settings", "version", "crawl shop.py --json --max-pages 5"])
def test_a_process_that_is_started_without_output_works(project, tmp_path, arguments, closed):
    words = [*command(*arguments.split()), "--data", str(tmp_path)] if "crawl" in arguments else None
    line = shlex.join(words or command(*arguments.split()))
    done = subprocess.run(
        ["sh", "-c", f"exec {line} {closed}"], cwd=project, env=environment(), timeout=60, check=False
    )
    assert done.returncode == 0


def test_a_spider_that_closes_stdout_does_not_end_its_crawl_with_an_error(project, tmp_path):
    source = (project / "shop.py").read_text()
    (tmp_path / "closing.py").write_text(f"import sys\n\nsys.stdout.close()\n{source}")
    done = subprocess.run(
        command("crawl", "closing.py", *FAST), cwd=tmp_path, env=environment(), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
