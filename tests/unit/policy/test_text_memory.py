"""Texts that were read before: what is nearly the same, what is another text, and that memory is bounded."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from gossamer.policy.text_memory import COMPARED, TextMemory


def make_words(seed: int, count: int) -> list[str]:
    random = Random(seed)
    return [f"w{random.randrange(10**6)}" for _ in range(count)]


def change_words(words: list[str], *places: int) -> str:
    return " ".join("other" + word if place in places else word for place, word in enumerate(words))


@pytest.mark.parametrize("count", [60, 80, 200])
def test_two_words_that_differ_are_nearly_the_same_and_four_are_not(count: int) -> None:
    memory, words = TextMemory(100), make_words(1, count)
    assert memory.measure_news("a", "1", " ".join(words)) == inf
    assert memory.measure_news("a", "2", change_words(words, 8)) == pytest.approx(0.5)
    assert memory.measure_news("a", "3", change_words(words, 8, 20)) <= 1
    far = memory.measure_news("b", "1", " ".join(words))
    assert far == inf, "another heading"
    assert 1 < memory.measure_news("b", "2", change_words(words, 4, 9, 15, 22)) == 2


def test_half_of_the_text_makes_another_one() -> None:
    memory, words = TextMemory(100), make_words(1, 1_000)
    memory.measure_news("a", "1", " ".join(words))
    assert memory.measure_news("a", "2", change_words(words, *range(0, 1_000, 4))) == inf
    assert 1 < memory.measure_news("a", "3", change_words(words, *range(0, 1_000, 20))) < inf
    assert memory.measure_news("a", "4", change_words(words, 5, 500)) <= 1


def test_of_short_texts_every_letter_counts() -> None:
    memory = TextMemory(100)
    texts = ["one page", "one pagE", "one page", ""]
    news = [memory.measure_news("a", str(number), text) for number, text in enumerate(texts)]
    assert news == [inf, inf, 0, inf]


def test_a_page_is_not_compared_with_itself() -> None:
    memory = TextMemory(100)
    assert [memory.measure_news("a", "1", "same") for _ in range(3)] == [inf] * 3


def test_only_the_latest_texts_are_kept() -> None:
    memory = TextMemory(50)
    for number in range(200):
        memory.measure_news("a", str(number), f"text {number}")
    assert memory.measure_news("a", "x", "text 199") == 0
    assert memory.measure_news("a", "y", f"text {198 - COMPARED}") == inf
    for number in range(200):
        memory.measure_news(f"b{number}", "1", "text")
    assert memory.measure_news("b199", "2", "text") == 0
    assert memory.measure_news("b1", "2", "text") == inf
    assert sum(map(len, memory._groups.values())) <= 51
