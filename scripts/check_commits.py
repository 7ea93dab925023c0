"""Check the messages of the commits that are not on the default branch yet.

Usage: check_commits.py [--base REF] checks the commits since REF; --message FILE checks one message, as
a hook. Without --base, REF is the default branch as it was fetched, or `main`. On a `main` without a remote
it is the latest tag or, without one, the 20th commit back. Merges and reverts are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

LONGEST_SUBJECT = 72
LATEST = 20
SUBJECT = re.compile(r"[a-z][\w ,/.-]*: ([a-z][\w'-]*)(?: .*)?")
NOT_IMPERATIVE = re.compile(r"(?!.*(?:ss|us|as|is|eed|embed|bring|string|ring|ping)$)\w+(?:s|ed|ing)")
TRAILER = re.compile(r"[A-Z][\w-]+: .+")
INTERIM = (
    "fixup! ",
    "squash! ",
    "amend! ",
    "Merge ",
)  # a hook meets these; a branch is read when they are gone
EXAMPLE = "frontier: probe with a URL that has answered"


def find_problems(message: str) -> list[str]:
    """Return the problems of one commit message, in words."""
    subject, _, rest = message.strip().partition("\n")
    if subject.startswith('Revert "'):
        return []
    problems = []
    if not (match := SUBJECT.fullmatch(subject)):
        problems.append(f"the subject is not `scope: imperative`, such as `{EXAMPLE}`")
    elif NOT_IMPERATIVE.fullmatch(match[1]):
        problems.append(f"{match[1]!r} is not an imperative: `fix`, not `fixes`, `fixed` or `fixing`")
    if len(subject) > LONGEST_SUBJECT:
        problems.append(f"the subject has {len(subject)} characters; {LONGEST_SUBJECT} are allowed")
    lines = [line for line in rest.splitlines() if line.strip() and not TRAILER.fullmatch(line)]
    if not lines:
        problems.append("the body is empty; say why the change is made")
    elif rest.partition("\n")[0].strip():
        problems.append("no empty line separates the subject from the body")
    return problems


def git(*words: str) -> str:
    """Return the output of a git command, or nothing where it fails."""
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()


def find_base() -> str:
    """Return the commit since which the messages are checked; nothing means: since the first one."""
    head = git("rev-parse", "HEAD")
    for branch in ("upstream/HEAD", "upstream/main", "origin/HEAD", "origin/main", "main"):
        commit = git("rev-parse", "--verify", "--quiet", f"{branch}^{{commit}}")
        if commit and (commit != head or branch != "main"):
            return commit
    latest = git("describe", "--tags", "--abbrev=0") or f"HEAD~{LATEST}"
    return git("rev-parse", "--verify", "--quiet", f"{latest}^{{commit}}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", help="check the commits since this one")
    parser.add_argument("--message", type=Path, help="check the message in this file")
    options = parser.parse_args()
    if options.message:
        text, _, _ = options.message.read_text().partition("# ------------------------ >8")
        if text.startswith(INTERIM):
            return 0
        messages = {"this message": re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)}
    else:
        base = options.base or find_base()
        commits = git("rev-list", "--no-merges", f"{base}..HEAD" if base else "HEAD").split()
        messages = {commit[:10]: git("log", "-1", "--format=%B", commit) for commit in commits}
    wrong = {name: problems for name, text in messages.items() if (problems := find_problems(text))}
    for name, problems in wrong.items():
        print(f"{name} {messages[name].strip().partition(chr(10))[0]}", *problems, sep="\n  ")
    if wrong:
        print("See CONTRIBUTING.md, Commits. `git commit --amend` and `git rebase -i` change messages.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
