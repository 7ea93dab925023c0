"""Errors of a spider's code, reported once with a count for each line that fails. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gossamer.core.errors import Fault
from gossamer.core.record import Record
from gossamer.core.results import Attempt
from gossamer.core.text import format_count
from gossamer.observe.text import error_headline, one_line

CODE_FAULTS = (Fault.CALLBACK, Fault.CALLBACK_TIMEOUT, Fault.PIPELINE, Fault.HOOK)
"""Faults of code that users wrote."""
MOST_ERRORS = 3
"""Maximum errors in one warning."""

_TRACEBACK = "Traceback (most recent call last):"
_STEP = re.compile(r"in the pipeline step (?P<name>.*):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)$', re.MULTILINE)
_HINTS = {
    r"(Attribute|Type)Error: .*NoneType": "mostly a selector that found nothing, for which get() gives None",
    r"ValueError: None on .* has no href": "mostly a selector that found nothing",
    r"UsageError: a request's url must be a string, not None": "mostly a selector that found nothing",
    r"ValueError: (invalid literal for int|could not convert string to float)": "re_first(r'[\\d.]+') in the "
    "place of get() takes the number out of a text, and Decimal() has its fraction",
    r"NameError: name 'parse\w*' is not": "a method is named with self before it, as in self.parse_product",
    r"in the pipeline step .*: TypeError: .*process_item\(\) (takes|missing)": "a step is called as "
    "process_item(item, spider)",
    r"IndexError: list index": "mostly a selector that found fewer than expected",
    r"TypeError: Item\.__init__\(\) takes 1 pos": "fields are given by name: Product(sku=..., name=...)",
    r"TypeError: '[A-Z]\w*' object (is not subscr|does not support item as)": "an Item has attributes: "
    "item.name",
    r"TypeError: object generator can't be used in 'await'": "`for` goes through it without `await`",
    r"AttributeError: 'Selector(List)?' .* '(text|string|content|strip|get_text)'$": "text is given by "
    "response.css('h1::text').get()",
    r"AttributeError: '(\w*Response|Selector(List)?)' .* '(find|find_all|select|select_one)'$": "elements "
    "are found by response.css('SELECTOR') and response.xpath('PATH')",
    r"AttributeError: '\w*Response' .* 'status_code'$": "the status is response.status",
    r"AttributeError: '\w*Response' .* 'content'$": "the bytes are response.body, the text is response.text",
    r"AttributeError: 'SelectorList' .* '(extract\w*|get\w*)'$": "get() gives the first text, getall() all",
    r"TypeError: object Request can't be used in 'await'": "a request is yielded, not awaited",
    r"AttributeError: .* no attribute 'log'$": "a spider logs with self.logger.info(...)",
    r"AttributeError: .* no attribute 'crawler'$": "there is no crawler; self.stats.inc(name) counts",
    r"AttributeError: 'dict' .* 'get(int|bool|float|list)'$": "settings of a spider are a dict",
}
"""Usual causes of errors."""
_CALL = re.compile(r"TypeError: .*\(\) (takes|missing|got an unexpected)")
_CALLED = "a callback is called with (self, response) and the cb_kwargs of its request"
_LACKS_RESPONSE = re.compile(r"TypeError: .*\(\) missing 1 required positional argument: 'response'$")
_UNCALLED = "a callback is named without parentheses behind it: callback=self.parse_product"


class CodeError(Record, frozen=True):
    """An error of a spider's code, the same on all pages."""

    kind: str  # of the exception, or the whole message without a traceback
    file: str = ""
    line: str = ""
    name: str = ""  # of the function
    step: str = ""  # of the pipeline, whose code it is

    @property
    def place(self) -> str:
        """The place where it was raised, in words; empty if unknown."""
        file = self.file.rpartition("/")[2]
        place = f"{self.name}() in {file}, line {self.line}"
        step = f", the pipeline step {self.step}" if self.step else ""
        return one_line(f"{place}{step}") if self.file else ""


def error_of(detail: str) -> CodeError:
    """Return the error in an attempt's detail, at the last line in the file that was called first."""
    headline = error_headline(detail)
    step = _STEP.match(detail)
    # In a chain of errors, the code has raised the last one.
    frames = [match.groupdict() for match in _FRAME.finditer(detail.rpartition(_TRACEBACK)[2])]
    if not frames:
        return CodeError(headline)
    own = [frame for frame in frames if frame["file"] == frames[0]["file"]][-1]
    kind = headline.partition(":")[0]
    return CodeError(kind, own["file"], own["line"], own["name"], step["name"] if step else "")


def describe_failures(attempts: Sequence[Attempt], failed: int, job: str = "") -> str:
    """Return a sentence about pages that failed in a spider's code, from the latest attempts.

    ``failed`` is their number; with a ``job`` the sentence ends with the command that retries them.
    """
    errors = [error_of(attempt.detail) for attempt in attempts]
    examples = dict(zip(errors, attempts, strict=True))
    ranked = Counter(errors).most_common()
    said = []
    for error, count in ranked[:MOST_ERRORS]:
        headline = error_headline(examples[error].detail)
        where = f" ({error.place})" if error.place else ""
        times = f"{format_count(count, 'time')} " if len(ranked) > 1 else ""
        said.append(f"{times}{headline}{where}{hint_for(headline, is_call=not where)}")
    more = ", ..." if len(ranked) > MOST_ERRORS else ""
    pages = format_count(failed, "page")
    again = ""
    if job:
        reasons = {attempt.reason for attempt in attempts}
        option = f" --reason {min(reasons)}" if len(reasons) == 1 else ""
        # Retried errors may pass without a change of the code: a server was away.
        is_passing = all(attempt.reason == Fault.PIPELINE and attempt.attempt > 1 for attempt in attempts)
        first = "when it works again," if is_passing else "fix it, then"
        again = f"; {first} `gossamer dead retry {job}{option}` and the same command"
    return f"{pages} failed in the spider's code: {'; '.join(said)}{more}{_describe_tries(attempts)}{again}"


def _describe_tries(attempts: Sequence[Attempt]) -> str:
    """Return how often the pages were tried, if all were tried more than once."""
    tries = {attempt.attempt for attempt in attempts}
    if min(tries, default=1) < 2:
        return ""
    return f", tried {min(tries)} times each" if len(tries) == 1 else f", tried {min(tries)} times or more"


def hint_for(headline: str, *, is_call: bool = False) -> str:
    """Return the usual cause of an error, or an empty text. ``is_call``: the call itself failed."""
    if is_call and _CALL.match(headline):
        return f": {_CALLED}"
    if not is_call and _LACKS_RESPONSE.match(headline):
        return f": {_UNCALLED}"
    return next((f": {hint}" for pattern, hint in _HINTS.items() if re.match(pattern, headline)), "")
