"""How old the browsers are that can be impersonated, beside the installed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.cli.commands.doctor_checks import check_profiles
from gossamer.wiring.checks import chromium_version, look_at_profiles


@pytest.mark.parametrize(
    ("behind", "state", "words"),
    [
        (None, "ok", "no installed Chromium to compare them with"),
        (-3, "ok", "the installed browser is not newer"),
        (0, "ok", "the installed browser is not newer"),
        (1, "ok", "1 version older than the installed browser"),
        (6, "ok", "6 versions older than the installed browser"),
        (7, "warning", "7 versions older than the installed browser"),
    ],
)
def test_old_profiles_are_a_warning(behind: int | None, state: str, words: str) -> None:
    check = check_profiles("chrome154, firefox152", behind)
    assert (check.state, check.found) == (state, f"chrome154, firefox152; {words}")
    assert bool(check.advice) == (state == "warning")


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Chromium 156.0.8078.108 built on Debian GNU/Linux 12 (bookworm)", 156),
        ("Google Chrome 155.0.1.2 ", 155),
        ("Google Chrome for Testing 154.0.1.2", 154),
        ("Mozilla Firefox 153.8.0esr", 0),
        ("", 0),
    ],
)
def test_the_version_is_what_the_browser_says(tmp_path: Path, said: str, version: int) -> None:
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o700)
    assert chromium_version(str(program)) == version
    looked = look_at_profiles(str(program))
    assert looked is not None
    newest, behind = looked
    chrome = int(newest.removeprefix("chrome").partition(",")[0])
    assert behind == (version - chrome if version else None)


def test_a_program_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert chromium_version(str(tmp_path / "none")) == 0
