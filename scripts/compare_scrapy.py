"""Runs public Scrapy projects by Scrapy and by Gossamer on pages made for them, and compares the items.

The projects are those of scripts/scrapy_projects.toml, by name and commit; nothing of them is in this
repository. docs/contributing/scrapy-projects.md describes the comparison. Ends with 1 if a spider that Scrapy
can start does not start, or gives other items.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from kit.side_by_side.comparison import Comparer, Comparison  # noqa: E402
from kit.side_by_side.projects import ProjectEntry, check_out, fetch_repository, find_repository, read_list  # noqa: E402
from kit.side_by_side.report import format_row, format_totals, has_failures, write_report  # noqa: E402


def main() -> int:
    """Compare, print the table, write the report."""
    options = _read_options()
    entries = [one for one in read_list(options.list) if options.only is None or options.only in one.name]
    roots = [found for entry in entries for found in _find_roots(entry, options)]
    comparer = Comparer(
        options.cache / "references", limit_s=options.limit, is_scrapy_only=options.scrapy_only
    )
    results: list[Comparison] = []
    with ThreadPoolExecutor(options.at_once) as pool:
        for compared in pool.map(lambda one: _compare_spiders(comparer, *one), roots):
            results += compared
            write_report(options.report, results)
    write_report(options.report, results)
    print(format_totals(results))
    return 1 if has_failures(results) else 0


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", type=Path, default=HERE / "scrapy_projects.toml", help="the projects")
    parser.add_argument(
        "--clones", type=Path, default=None, help="a folder of clones or bare git directories"
    )
    parser.add_argument("--fetch", action="store_true", help="fetch missing projects from GitHub")
    parser.add_argument(
        "--cache", type=Path, default=HERE.parent / ".cache" / "scrapy-projects", help="working files"
    )
    parser.add_argument(
        "--report", type=Path, default=None, help="where the JSON goes (default: in the cache)"
    )
    parser.add_argument("--only", help="only projects with this in their name")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for each run of a spider")
    parser.add_argument("--at-once", type=int, default=min(2, os.cpu_count() or 1), help="spiders at a time")
    parser.add_argument("--scrapy-only", action="store_true", help="only try the made pages on Scrapy")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    options.clones = options.clones or options.cache / "clones"
    options.report = options.report or options.cache / "report.json"
    return options


def _find_roots(entry: ProjectEntry, options: argparse.Namespace) -> Iterator[tuple[ProjectEntry, Path]]:
    repository = find_repository(options.clones, entry)
    if repository is None and options.fetch:
        repository = fetch_repository(options.clones, entry)
    if repository is None:
        print(f"{entry.name}: not among the clones in {options.clones}; --fetch fetches it", file=sys.stderr)
        return
    folder = check_out(entry, repository, options.cache / "projects")
    for root in entry.roots:
        if (folder / root).is_dir():
            yield entry, folder / root
        else:
            print(f"{entry.name}: has no folder {root!r} at {entry.commit}", file=sys.stderr)


def _compare_spiders(comparer: Comparer, entry: ProjectEntry, root: Path) -> list[Comparison]:
    results = []
    for spider in comparer.find_spiders(root)[: entry.spiders]:
        results.append(comparer.compare_spider(entry.name, spider))
        print(format_row(results[-1]), flush=True)
    return results


if __name__ == "__main__":
    sys.exit(main())
