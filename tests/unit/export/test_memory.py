"""Memory of an export does not grow with the number of items: a million of them, in a process of its own."""

import subprocess
import sys

import pytest

from gossamer.export.formats import KINDS
from kit.environment import environment

CODE = """
import asyncio, re, sys
from pathlib import Path
from gossamer.core.jobs import StoredItem
from gossamer.export import write_items

def items(count):
    for n in range(count):
        data = {"sku": f"G-{n:07}", "name": f"Café Vase No. {n}", "stock": n % 7, "tags": ["a", "b"]}
        times = dict.fromkeys(("first_seen", "last_seen", "changed_at"), 0.0)
        yield StoredItem(type="P", key=str(n), data=data, url="http://a.example/", **times)

count = int(sys.argv[2])
assert asyncio.run(write_items(items(count), sys.argv[1], sys.argv[3])) == count
# Of this program alone: what ``getrusage`` tells counts whoever started it, too.
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""
MOST_MB = 200


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_a_million_items_need_less_than_200_mb(tmp_path, kind):
    path = tmp_path / f"items{KINDS[kind].suffixes[0]}"
    done = subprocess.run(
        [sys.executable, "-c", CODE, path, "1000000", kind],
        capture_output=True, text=True, timeout=800, env=environment(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < MOST_MB, f"{kind}: {done.stdout.strip()} MB"
