"""The shell: a wrong selector is told in one line, everything else as Python tells it."""

import pytest

from gossamer.cli.commands.shell import _make_console
from gossamer.parse.selectors import Selector
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve_in_thread
from kit.command_line import gossamer

WRONG = {
    "response.css('a[')": "invalid CSS selector 'a[': expected an identifier",
    "response.css('h1').css('p:nope')": "invalid CSS selector 'p:nope': unknown pseudo-class",
    "response.xpath('//a[')": "invalid XPath expression '//a[': expected a node test",
    "response.selector.xpath('x:y')": "invalid XPath expression 'x:y': undefined namespace prefix",
    "list(response.follow_all(css='('))": "invalid CSS selector '(': ",
    "feed.css('a[')": "invalid CSS selector 'a[': expected an identifier",
    "feed.xpath('//a[')": "invalid XPath expression '//a[': Invalid expression",
    "feed.xpath('//x:y')": "invalid XPath expression '//x:y': Undefined namespace prefix; make it known by",
    "feed.xpath('nothing()')": "invalid XPath expression 'nothing()': Unregistered function",
}


@pytest.fixture(scope="module")
def url():
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<h1>x</h1>")) as site:
        yield site.url


@pytest.mark.slow
@pytest.mark.parametrize("code", [code for code in WRONG if "feed" not in code])
def test_a_wrong_selector_is_told_in_one_line(code, url, tmp_path):
    done = gossamer(f"shell {url}", "-c", code, cwd=tmp_path, code=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gossamer: {WRONG[code]}")


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_selector_typed_into_the_shell_is_told_in_one_line(code, capsys):
    class Names:
        selector = Selector(text="<h1>x</h1>")
        css, xpath = selector.css, selector.xpath

        def follow_all(self, css):
            return self.css(css)

    _make_console({"response": Names(), "feed": Selector(text="<r/>", type="xml")}).runsource(code)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(WRONG[code])


def test_what_else_is_raised_is_told_as_python_does(capsys):
    _make_console({}).runsource("1/0")
    assert "Traceback" in capsys.readouterr().err
