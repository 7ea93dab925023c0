"""What shells are told at a Tab, by their own protocol."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.config.settings import setting_fields
from gossamer.core.errors import Fault
from gossamer.core.results import Verdict
from kit.environment import environment

SPIDERS = '''
from gossamer import Spider
print("noise")

class Shop(Spider):
    """The shop [/x]."""

    name = "shop"
    start_urls = []

class Shelf(Spider):
    name = "shelf"
    start_urls = []
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with two spiders and three jobs."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "gossamer.toml").write_text("")
    (folder / "spiders").mkdir()
    (folder / "spiders" / "all.py").write_text(SPIDERS)
    (folder / "spiders" / "broken.py").write_text("raise SystemExit('no')")
    (folder / "other.py").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("shop", "shelf", "shop"):
            done = CliRunner().invoke(build_app(), ["crawl", name, "-q", "--fresh"], env={})
            assert done.exit_code == 0, done.stderr
    return folder


def completed(line, cwd, shell="bash"):
    """The words that a shell is offered behind ``line``."""
    words = line.split(" ")
    env = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        done = CliRunner().invoke(
            build_app(), [], prog_name="gossamer", env={**env, "_GOSSAMER_COMPLETE": f"complete_{shell}"}
        )
    assert done.stderr == ""
    return done.stdout.split() if shell == "bash" else done.stdout


@pytest.mark.slow
def test_commands_and_options(project):
    assert completed("gossamer st", project) == ["status"]
    assert completed("gossamer dead ", project) == ["list", "show", "retry", "drop"]
    assert completed("gossamer crawl --max", project) == [
        "--max-pages", "--max-items", "--max-errors", "--max-depth", "--max-time",
    ]  # fmt: skip
    assert "--older-than" in completed("gossamer dead drop --", project)


@pytest.mark.slow
def test_spiders_and_files(project):
    assert completed("gossamer crawl sh", project) == ["shelf", "shop"]
    assert completed("gossamer list o", project) == ["other.py"]
    assert completed("gossamer crawl spiders/a", project) == ["spiders/all.py"]
    assert completed(f"gossamer crawl {project}/o", project) == [f"{project}/other.py"]
    for command in ("settings --spider", "parse http://x --spider", "shell http://x --spider"):
        assert completed(f"gossamer {command} sho", project) == ["shop"]


@pytest.mark.slow
def test_jobs(project, tmp_path):
    for command in ("status", "export", "attempts", "dead list", "dead show", "dead retry", "explain --job"):
        assert completed(f"gossamer {command} sho", project) == ["shop", "shop-2", "shop-1"], command
    data = project / ".gossamer"
    assert completed(f"gossamer status --data {data} she", tmp_path) == ["shelf", "shelf-1"]
    assert completed("gossamer status s", tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_settings_and_words(project):
    assert completed("gossamer crawl shop -s max_pages_", project) == ["max_pages_per_host="]
    assert completed("gossamer jobs -s ", project) == [f"{key}=" for key in setting_fields()]
    assert completed("gossamer settings --explain http.max_s", project) == ["http.max_size_bytes"]
    assert completed("gossamer attempts shop --verdict ", project) == [verdict.value for verdict in Verdict]
    assert completed("gossamer dead list shop --reason ", project) == [fault.value for fault in Fault]
    assert completed("gossamer export shop --format js", project) == ["jsonl", "json"]


@pytest.mark.slow
def test_zsh_gets_explanations_too(project):
    assert '"shop":"The shop (/x)."' in completed("gossamer crawl sh", project, "zsh")
    assert '"jobs":"List the crawls, newest first."' in completed("gossamer jo", project, "zsh")
    assert completed("gossamer status nothing", project, "zsh").strip() == "_files"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_shown(shell):
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*next(iter(env.items())))
        done = CliRunner().invoke(build_app(), ["--show-completion", shell], prog_name="gossamer")
    assert done.exit_code == 0
    assert f"_GOSSAMER_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("bash") and not os.environ.get("CI"), reason="there is no bash here")
def test_a_real_bash(project):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = """
        source <(gossamer --show-completion bash)
        COMP_WORDS=(gossamer crawl sh); COMP_CWORD=2
        _gossamer_completion gossamer
        echo "${COMPREPLY[@]}"; complete -p gossamer
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=project, env=environment(PATH=path, SHELL="/bin/bash"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["shelf shop", "complete -o default -F _gossamer_completion gossamer"]
