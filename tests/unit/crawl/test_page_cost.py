"""Only pages that take much computing are shared out among processes."""

from gossamer.crawl.processes.cost import PageCost


def test_what_a_page_costs_is_known_after_some_of_them():
    cost = PageCost()
    cost.note_pages(0, 3.0)  # the start of the process is no page
    cost.note_pages(20, 3.2)
    assert not cost.is_high, "the first pages do not count alone"
    cost.note_pages(30, 3.3)
    assert not cost.is_high
    cost.note_pages(40, 3.4)
    assert cost.is_high
    cost.note_pages(80, 3.41)
    assert not cost.is_high, "other pages have come"
    assert repr(cost) == "<PageCost 0.3 ms>"


def test_pages_that_take_very_long_are_known_at_once():
    cost = PageCost()
    cost.note_pages(0, 3.0)
    cost.note_pages(1, 3.6)
    cost.note_pages(2, 4.2)
    assert cost.is_high
