"""The check of commit messages: which messages it takes, and which commits of a branch it reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit.environment import environment

SCRIPT = Path(__file__).parents[3] / "scripts" / "check_commits.py"
GOOD = "frontier: probe with a URL that has answered\n\nA host was probed with a page that always fails."
BAD = "Fixed things"


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def git(folder: Path, *words: str) -> None:
    done = run(folder, "git", "-c", "user.name=A", "-c", "user.email=a@shop.example", *words)
    assert done.returncode == 0, done.stderr


def check(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return run(folder, sys.executable, SCRIPT, *words)


def commit(folder: Path, *messages: str) -> None:
    for message in messages:
        git(folder, "commit", "--quiet", "--allow-empty", "--message", message)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    commit(tmp_path, GOOD)
    return tmp_path


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (GOOD, None),
        ("cli, web: pass the name of a job on\n\nBoth lost it.\n\nSigned-off-by: A <a@shop.example>", None),
        ("# A comment of git.\n" + GOOD, None),
        (f"{GOOD}\n# ------------------------ >8 ------------------------\ndiff", None),
        (
            "frontier: probe\n# ------------------------ >8 ------------------------\ndiff",
            "the body is empty",
        ),
        ("fixup! frontier: probe", None),
        ("Merge branch 'main' into probe", None),
        ('Revert "frontier: probe"\n\nThis reverts commit 1234567.', None),
        (BAD + "\n\nWhy.", "not `scope: imperative`"),
        ("frontier: Probe with a URL\n\nWhy.", "not `scope: imperative`"),
        ("frontier: probes with a URL\n\nWhy.", "'probes' is not an imperative"),
        ("frontier: fixed a probe\n\nWhy.", "'fixed' is not an imperative"),
        ("frontier: probe " + "x" * 57 + "\n\nWhy.", "73 characters"),
        ("frontier: probe with a URL", "the body is empty"),
        ("frontier: probe with a URL\n\nSigned-off-by: A <a@shop.example>", "the body is empty"),
        ("frontier: probe with a URL\nWhy.", "no empty line"),
    ],
)
def test_a_message_has_a_scope_an_imperative_and_a_body(
    tmp_path: Path, message: str, problem: str | None
) -> None:
    (tmp_path / "message").write_text(message)
    done = check(tmp_path, "--message", tmp_path / "message")
    assert (done.returncode, done.stderr) == (1 if problem else 0, "")
    assert (problem or "") in done.stdout
    assert bool(problem) == bool(done.stdout)


def test_a_branch_answers_for_its_own_commits_only(repository: Path) -> None:
    commit(repository, BAD)
    git(repository, "switch", "--quiet", "--create", "probe")
    commit(repository, GOOD)
    assert check(repository).returncode == 0
    assert check(repository, "--base", "HEAD~2").returncode == 1
    commit(repository, BAD, "fixup! " + GOOD)
    done = check(repository)
    assert done.returncode == 1
    assert done.stdout.count("not `scope: imperative`") == 2


def test_a_clone_answers_for_commits_that_were_not_pushed(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    commit(repository, BAD)
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "--quiet", str(repository), ".")
    assert check(clone).returncode == 0
    commit(clone, BAD)
    assert check(clone).stdout.count(BAD) == 1


def test_the_default_branch_answers_for_its_commits_since_the_latest_tag(repository: Path) -> None:
    commit(repository, BAD)
    assert check(repository).returncode == 1
    git(repository, "tag", "v0.2.0")
    commit(repository, GOOD)
    assert check(repository).returncode == 0


def test_without_a_tag_the_latest_twenty_commits_count(repository: Path) -> None:
    commit(repository, BAD, *[GOOD] * 19)
    assert check(repository).returncode == 1
    commit(repository, GOOD)
    assert check(repository).returncode == 0
