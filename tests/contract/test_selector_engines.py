"""Every engine of selectors of HTML keeps every promise of the contract."""

from contextlib import asynccontextmanager

import pytest

from gossamer.parse.html_engine import HTML
from gossamer.parse.lxml_html import LXML_HTML, LxmlHtmlEngine
from gossamer.parse.xml import parse_xml
from gossamer.testing.contracts.selector_engine import SELECTOR_ENGINE_CHECKS, check_selector_engine


def giving(engine):
    @asynccontextmanager
    async def make(clock):
        yield engine

    return make


@pytest.mark.parametrize("engine", [HTML, LXML_HTML], ids=["turbohtml", "lxml"])
@pytest.mark.parametrize("name", SELECTOR_ENGINE_CHECKS)
async def test_contract(name, engine):
    await SELECTOR_ENGINE_CHECKS[name](giving(engine))


async def test_the_suite_catches_an_engine_that_ends_where_a_page_is_deep():
    class Shallow(LxmlHtmlEngine):
        def parse_document(self, text):
            return parse_xml(f"<html>{text}</html>")

    with pytest.raises(AssertionError, match="5,000"):
        await SELECTOR_ENGINE_CHECKS["nothing_of_a_page_is_lost"](giving(Shallow()))
    with pytest.raises(AssertionError):
        await check_selector_engine(giving(Shallow()))
