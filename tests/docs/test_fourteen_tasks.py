"""The fourteen tasks are in the guides, shorter than with Scrapy, and Scrapy's programs are real ones."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.club import answer_request
from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.environment import environment
from kit.fourteen_tasks import OFFLINE, PAGE, PROGRAMS, TASKS, Task, run_commands, tasks_table

MEMBERS = {3, 4, 5, 7, 12}
"""The tasks that are done at the club, not at the shop."""


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(20, validators=True)) as site:
        yield site


@pytest.fixture(scope="module")
def club() -> Iterator[Site]:
    with serve_in_thread(answer_request) as site:
        yield site


def task_of(number: int) -> Task:
    return TASKS[number - 1]


def read_rows(file: Path) -> list[dict[str, str]]:
    """The items of a file, as text, in an order of their own."""
    with file.open(newline="") as opened:
        rows = (
            list(csv.DictReader(opened)) if file.suffix == ".csv" else [json.loads(line) for line in opened]
        )
    return sorted(({key: str(value) for key, value in row.items()} for row in rows), key=repr)


def test_each_task_has_its_section_and_its_code() -> None:
    assert [task.number for task in TASKS] == list(range(1, 15))
    for task in TASKS:
        assert task.blocks, task.title
        assert all(block.is_run for block in task.blocks), task.title
        assert {"py", "txt"} >= {name.rpartition(".")[2] for name in task.scrapy}
    told = [name for task in TASKS for name in task.scrapy]
    assert sorted({*told, "shop.py"}) == sorted(file.name for file in PROGRAMS.iterdir() if file.is_file())


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_a_task_is_shorter_than_with_scrapy(task: Task) -> None:
    assert 0 < task.own_lines() < task.scrapy_lines()


def test_the_page_says_how_long_they_are() -> None:
    found = re.search(r"<!-- tasks -->\n(.*?)\n?<!-- /tasks -->", PAGE.read_text(), re.DOTALL)
    assert found is not None
    assert found[1] == tasks_table(), f"write this between the marks of {PAGE.name}:\n{tasks_table()}"


def do_task(number: int, site: Site, folder: Path) -> tuple[Path, Path]:
    """Do a task with Gossamer and with Scrapy; the folders of both."""
    task = task_of(number)
    task.write_files(folder, site.host.partition(":")[2])
    own, scrapy = folder / "own", folder / "scrapy"
    own.mkdir(exist_ok=True)
    run_commands(at_port(task.own_commands(), site), own)
    run_commands(at_port(task.scrapy_commands(), site), scrapy)
    return own, scrapy


def at_port(commands: list[str], site: Site) -> list[str]:
    return [command.replace("8085", site.host.partition(":")[2]) for command in commands]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "file"),
    [(2, "products.csv"), (3, "orders.csv"), (4, "names.csv"), (6, "dollars.csv"), (7, "signed.csv")],
)
def test_both_find_the_same(number: int, file: str, shop: Site, club: Site, tmp_path: Path) -> None:
    own, scrapy = do_task(number, club if number in MEMBERS else shop, tmp_path)
    rows = read_rows(own / file)
    assert len(rows) > 4
    assert rows == read_rows(scrapy / file)


@pytest.mark.long
def test_both_write_two_files(shop: Site, tmp_path: Path) -> None:
    own, scrapy = do_task(9, shop, tmp_path)
    for name, head in (("names.csv", "name,sku"), ("prices.csv", "sku,price")):
        texts = [(folder / name).read_text().splitlines() for folder in (own, scrapy)]
        assert [text[0] for text in texts] == [head, head]
        assert set(texts[0]) == set(texts[1])


@pytest.mark.long
def test_both_take_the_text_of_a_site(shop: Site, tmp_path: Path) -> None:
    own, scrapy = (read_rows(folder / "pages.csv") for folder in do_task(1, shop, tmp_path))
    titles = {row["title"] for row in scrapy} - {"Log in"}  # the links to that page say nofollow
    assert {row["title"] for row in own} == titles
    assert all(row["text"] for row in own)


@pytest.mark.long
def test_both_keep_the_files(club: Site, tmp_path: Path) -> None:
    own, scrapy = do_task(5, club, tmp_path)
    manuals = [{file.read_bytes() for file in folder.rglob("*.pdf")} for folder in (own, scrapy)]
    assert len(manuals[0]) == 4
    assert manuals[0] == manuals[1]
    pictures = [len(list(folder.rglob(name))) for folder, name in ((own, "*.png"), (scrapy, "*.jpg"))]
    assert pictures == [4, 4]


@pytest.mark.long
def test_both_fetch_what_failed_after_the_fix(shop: Site, tmp_path: Path) -> None:
    task = task_of(10)
    task.write_files(tmp_path, shop.host.partition(":")[2])
    sides = ("own", "shop.py", task.own_commands()), ("scrapy", "dead_letters.py", task.scrapy_commands())
    for name, program, commands in sides:
        folder = tmp_path / name
        first, look = commands[:2]
        run_commands([f"{first} || [ $? -eq 1 ]", look], folder)  # most pages fail
        spider = folder / program
        spider.write_text(spider.read_text().replace("words[3]", "words[-1]"))
        before = len(shop.hits)
        run_commands(commands[2:], folder)
        asked = {hit.path for hit in shop.hits[before:] if hit.path != "/robots.txt"}
        assert len(asked) == 15
        assert all(path.startswith("/product/") for path in asked)
    run_commands(["gossamer export shop -o products.jsonl"], tmp_path / "own")
    assert read_rows(tmp_path / "own/products.jsonl") == read_rows(tmp_path / "scrapy/products.jsonl")


@pytest.mark.long
def test_both_take_what_has_changed(tmp_path: Path) -> None:
    site_of = Shop(20, validators=True)
    own = "gossamer crawl fresh.py --recrawl -s freshness.recrawl=all --delay 0 -O changed.jsonl"
    scrapy = "scrapy runspider recrawl.py -O changed.jsonl"
    with serve_in_thread(site_of) as site:
        task_of(14).write_files(tmp_path, site.host.partition(":")[2])
        for changed in (0, 3):
            site_of.change_products(changed / 20)
            run_commands([own], tmp_path / "own")
            run_commands([scrapy], tmp_path / "scrapy")
    found = [read_rows(tmp_path / name / "changed.jsonl") for name in ("own", "scrapy")]
    assert len(found[0]) == 3
    assert found[0] == found[1]


@pytest.mark.long
def test_the_programs_of_scrapy_for_shell_tests_and_fastapi_are_real(
    shop: Site, club: Site, tmp_path: Path
) -> None:
    for name in ("shop.py", "app.py", "notebook.py", "spider_tests.py"):
        text = (PROGRAMS / name).read_text().replace("8085", shop.host.partition(":")[2])
        (tmp_path / name).write_text(text)
    (tmp_path / "ask.py").write_text(ASK)
    run_commands(["python -W ignore ask.py", "python -W ignore -m pytest -q spider_tests.py"], tmp_path)
    first, *lines = at_port(task_of(12).scrapy_commands(), club)
    said = subprocess.run(
        [sys.executable, "-m", *first.split(), "--nolog"],
        input="\n".join(lines),
        env=environment(PYTHONPATH=str(OFFLINE)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert "'/manuals/1.pdf'" in said
    assert "['lamp 2', 'rug 2', 'vase 2']" in said


ASK = """
import ast, asyncio
from fastapi.testclient import TestClient
from app import app

with TestClient(app) as client:
    job = client.post("/crawls?pages=1000").json()["job"]
    assert client.post("/crawls").status_code == 409
    assert len(client.get(f"/crawls/{job}/items").json()) == 20
    assert client.get(f"/crawls/{job}").json()["is_over"]

cell = compile(open("notebook.py").read(), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
names = {}
asyncio.run(eval(cell, names))
assert names["products"]
"""
