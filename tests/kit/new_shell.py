"""Types a page in a new shell, in a folder that has nothing but a clone of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from kit.page_runner import PageRunner
from kit.programs import free_port

ROOT = Path(__file__).parents[2]
NEEDS = ("it installs from the network", "it needs Redis and PostgreSQL")
DASHBOARD = "<!-- not run: it serves until you stop it -->\n```console\n$ gossamer dashboard\n"
PIP = """#!{python}
import os, sys
from pathlib import Path
assert Path(sys.argv[-1].partition("[")[0], "pyproject.toml").exists(), sys.argv
venv = Path(os.environ["VIRTUAL_ENV"])
folder = venv / "lib" / "python{version}" / "site-packages"
(folder / "tests.pth").write_text("import site; site.addsitedir({packages!r})")
program = venv / "bin" / "gossamer"
program.write_text(f"#!{{venv}}/bin/python\\nfrom gossamer.cli.main import main\\nmain()\\n")
program.chmod(0o755)
"""


class NewShell:
    """A folder with a clone and a PATH without Gossamer.

    ``pip`` installs nothing: the packages of the tests are lent to the environment that the page makes. With
    ``installs`` both are real.
    """

    def __init__(self, folder: Path, *, installs: bool) -> None:
        self._home = folder / "home"
        self._home.mkdir()
        programs = folder / "programs"
        programs.mkdir()
        python = programs / "python3"
        real = getattr(sys, "_base_executable", sys.executable)
        if installs:
            subprocess.run(["git", "clone", "-q", str(ROOT), str(self._home / "gossamer")], check=True)
            python.symlink_to(real)
        else:
            (self._home / "gossamer").symlink_to(ROOT)
            python.write_text(f'#!/bin/sh\nexec {real} "$@" --without-pip\n')
            python.chmod(0o755)
            version = "{}.{}".format(*sys.version_info)
            packages = sysconfig.get_path("purelib")
            pip = programs / "pip"
            pip.write_text(PIP.format(python=real, version=version, packages=packages))
            pip.chmod(0o755)
        others = [one for one in os.environ["PATH"].split(":") if not (Path(one) / "gossamer").exists()]
        self._path = ":".join((str(programs), *others))
        assert shutil.which("gossamer", path=self._path) is None

    def type_page(self, page: str) -> int:
        """Type all of a page, and return how many blocks it had."""
        for reason in NEEDS:
            page = page.replace(f"<!-- not run: {reason} -->\n", "")
        page = page.replace(DASHBOARD, f"```console\n$ gossamer dashboard --port {free_port()} &\n")
        assert "not run" not in page
        return PageRunner(page, self._home, PATH=self._path).run()
