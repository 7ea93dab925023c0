"""The suite itself: alone it is whole and says what was not there; beside the corpora none may be missing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.environment import environment

TESTS = Path(__file__).parents[2]
PLUMBING = ("conftest.py", "kit/corpora.py", "kit/environment.py", "kit/servers.py", "kit/server_process.py")
EXAMPLE = """
import os
import pytest
from hypothesis import settings
from kit.corpora import corpus, from_corpus
from kit.environment import environment

def test_of_our_own():
    assert "PYTHONUNBUFFERED" not in os.environ
    assert set(environment()) <= {"PATH", "HOME", "TMPDIR"}
    assert settings().deadline is None, "a busy machine is no reason to fail"

@from_corpus("robots", cases=2000)
def test_of_others():
    assert (corpus("robots") / "one.txt").read_text() == "one"

@from_corpus("pages", cases=3)
@pytest.mark.parametrize("name", ["a", "b"])
def test_of_others_by_name(name):
    assert corpus("pages").is_dir()
"""


@pytest.fixture
def project(tmp_path):
    """A checkout with these tests' own plumbing and three tests that read corpora."""
    folder = tmp_path / "beside" / "project"
    (folder / "tests" / "kit").mkdir(parents=True)
    shutil.copy(TESTS.parent / "pyproject.toml", folder)
    for name in PLUMBING:
        shutil.copy(TESTS / name, folder / "tests" / name)
    (folder / "tests" / "test_example.py").write_text(EXAMPLE)
    return folder


def suite(project, *options, **given):
    """Exit code, the lines that a run in the project says, and all of them."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=project,
        env=environment(PYTHONUNBUFFERED="1", **given),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()


@pytest.mark.long
@pytest.mark.parametrize(("options", "given"), [((), {}), (("-n", "2"), {"CI": "true"})])
def test_alone_it_is_green_and_the_last_line_says_what_was_not_there(project, options, given):
    code, said = suite(project, *options, **given)
    assert code == 0, said
    assert "skipped" not in "".join(said)
    assert said[-2].startswith("1 passed")
    assert said[-1].startswith("2,006 extra cases were not there")
    assert str(project.parent / "shared" / "corpora") in said[-1]
    assert "GOSSAMER_CORPORA=DIR" in said[-1]


@pytest.mark.long
def test_beside_the_corpora_every_case_runs_and_none_may_be_missing(project):
    corpora = project.parent / "shared" / "corpora"
    (corpora / "robots").mkdir(parents=True)
    code, said = suite(project)
    assert code != 0
    assert f"not in {corpora}, though tests need it: pages" in "".join(said)
    (corpora / "pages").mkdir()
    code, said = suite(project)
    assert code == 1, "a file that is missing is a failure"
    (corpora / "robots" / "one.txt").write_text("one")
    assert suite(project, "-n", "2")[1][-1].startswith("4 passed")
    elsewhere = corpora.rename(project.parent / "elsewhere")
    assert suite(project, GOSSAMER_CORPORA=str(elsewhere))[1][-1].startswith("4 passed")


@pytest.mark.slow
def test_a_folder_that_was_named_and_is_not_there_is_refused(project):
    code, said = suite(project, GOSSAMER_CORPORA="/nowhere")
    assert code == 4
    assert said[-1] == "ERROR: GOSSAMER_CORPORA=/nowhere: the folder does not exist"
