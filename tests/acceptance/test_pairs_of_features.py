"""Each feature with each other one on a site with every kind of page: what neither announces is as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.environment import SEED_VARIABLE, draw_seed
from kit.pairs.crawls import Crawl, served_crawl
from kit.pairs.features import FEATURES, REFUSALS, Refusal
from kit.pairs.lots import LOTS, PAIRS, draw_pairs, kill_at
from kit.pairs.outcome import Outcome

DOCS = Path(__file__).resolve().parents[2] / "docs"
SEED = draw_seed()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What a crawl without any of the features comes to."""
    with served_crawl(tmp_path_factory.mktemp("plain")) as crawl:
        return crawl.outcome()


@pytest.mark.thorough
@pytest.mark.parametrize("name", FEATURES)
def test_one_feature(name: str, plain: Outcome, tmp_path: Path) -> None:
    check(plain, tmp_path, name)


@pytest.mark.thorough
@pytest.mark.timeout(400)  # two crawls may wait for proxies that rest
@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_pair(one: str, two: str, plain: Outcome, tmp_path: Path) -> None:
    check(plain, tmp_path, one, two)


@pytest.mark.long
@pytest.mark.parametrize("lot", range(LOTS))
def test_pair_by_lot(lot: int, plain: Outcome, tmp_path: Path) -> None:
    check(plain, tmp_path, *draw_pairs(SEED)[lot])


def check(plain: Outcome, folder: Path, *names: str) -> None:
    """Crawl with some features, killed or not by the seed, and compare."""
    at = kill_at(SEED, names)
    said = (
        f"{SEED_VARIABLE}={SEED}: {' and '.join(names)}, {f'killed at request {at}' if at else 'not killed'}"
    )
    with served_crawl(folder, *(FEATURES[name] for name in names), kill_at=at) as crawl:
        refusal = REFUSALS.get(frozenset(names))
        if refusal and not refusal.is_again:
            refused(crawl, refusal)
            return
        found = crawl.outcome()
        compare(said, crawl, found, crawl.expected(plain))
        again = [flag for feature in crawl.features for flag in feature.again]
        if refusal:
            refused(crawl, refusal, *again)
        elif again:
            later = crawl.outcome(*again).and_earlier(found)
            compare(f"{said}, again", crawl, later, crawl.expected(plain, is_again=True))


def refused(crawl: Crawl, refusal: Refusal, *more: str) -> None:
    """The command says that the features exclude each other, and asks nobody."""
    asked = len(crawl.site.hits)
    done = crawl.run(*more)
    assert done.returncode == 2, done.stdout + done.stderr
    assert refusal.words in done.stderr
    assert len(crawl.site.hits) == asked


def compare(said: str, crawl: Crawl, found: Outcome, expected: Outcome) -> None:
    """Nothing differs that may not."""
    lines = [line for line in found.differences(expected) if not crawl.may_differ(line)]
    assert not lines, "\n".join([said, *lines])


def test_every_difference_is_announced() -> None:
    announced = [each for feature in FEATURES.values() for each in feature.differences] + [*REFUSALS.values()]
    for each in announced:
        text = " ".join((DOCS / each.page).read_text().split())
        assert each.sentence in text, each
