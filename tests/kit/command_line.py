"""Running the command line within the tests' process, in a folder."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app

FAST = ("--delay", "0", "--per-host", "16")


def gossamer(line, *more, cwd, code=0, env=None):
    """Run ``gossamer LINE MORE``, check its exit code and return its output."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        arguments = [*shlex.split(line), *map(str, more)]
        done = CliRunner().invoke(build_app(), arguments, prog_name="gossamer", env=env or {})
    assert done.exit_code == code, (arguments, done.exit_code, done.stdout[-2000:], done.stderr[-4000:])
    return done


def asked(line, *more, cwd, env=None):
    """Return the output of the command with ``--json``."""
    return json.loads(gossamer(line, *more, "--json", cwd=cwd, env=env).stdout)
