"""The reference pages of the Python API, from the signatures, docstrings and comments of the code.

The source is read, not the objects: the pages show types as the code writes them, and constructors as type
checkers see them. The examples are in ``api_examples.md`` beside this file.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from meanings import Undocumented, code, prose, sentence, table

import gossamer

EXAMPLES = Path(__file__).with_name("api_examples.md")
WIDTH = 92
"""Characters of a signature in one line."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Page:
    """One page: a title, a sentence about it, and the names that it describes."""

    title: str
    text: str
    names: tuple[str, ...]


PAGES = {
    "spiders": Page(
        "Spiders",
        "A spider says where a crawl starts and what to take from each page.",
        ("Spider", "SitemapSpider", "CSVFeedSpider", "XMLFeedSpider", "SpiderStats", "Login", "Failure"),
    ),
    "requests": Page(
        "Requests",
        "A callback yields requests for the pages to fetch next.",
        ("Request", "FormFile", "Rule", "LinkOptions", "Paginate"),
    ),
    "responses": Page(
        "Responses",
        "Each callback gets the response to its request, with selectors, links and forms.",
        ("Response", "Headers", "Selector", "SelectorList", "view"),
    ),
    "items": Page(
        "Items",
        "An item is a record that a callback yields: an `Item`, a dataclass or a dict.",
        (
            *("Item", "key", "key_field", "FileRef", "DropItem", "StoredItem", "items"),
            *("parse_price", "PriceValue", "parse_number", "parse_date", "parse_quantity", "squeeze"),
        ),
    ),
    "browsing": Page(
        "Browsing",
        "These records describe the actions of a browser on a page before the spider gets it.",
        ("Browsing", "Click", "Type", "Press", "Scroll", "Wait", "Screenshot", "Pdf", "CapturedResponse"),
    ),
    "crawling": Page(
        "Crawling",
        "Functions that run a spider from a program.",
        ("crawl", "start_crawl", "RunningCrawl", "CrawlResult"),
    ),
    "hooks": Page(
        "Hooks",
        "A hook sees each request before it is sent and each response before its callback "
        "([how to](../../how-to/hooks.md)).",
        ("Replacement", "IgnoreRequest"),
    ),
    "errors": Page(
        "Errors",
        "All exceptions derive from `GossamerError`. [Faults and errors](../errors.md) lists every one, with "
        "its exit code.",
        (
            *("GossamerError", "OperatorError", "UsageError", "SettingError", "MissingServiceError"),
            *("UnknownJobError", "JobBusyError", "StorageError", "LogInError", "JsonValueError"),
            *("SelectorError", "FetchError"),
        ),
    ),
    "testing": Page(
        "Testing",
        "Tools for the tests of a spider: run one callback, or serve a site on this machine.",
        ("run_callback", "serve_in_thread", "SiteResponse", "Shop"),
    ),
}
HOMES = {
    "CapturedResponse": "gossamer.core.browsing",
    "Headers": "gossamer.spiders.headers",
    "LinkOptions": "gossamer.spiders.page_links",
    "PriceValue": "gossamer.items.helpers",
    "Shop": "gossamer.testing.shop",
    "SiteResponse": "gossamer.testing.answers",
    "SpiderStats": "gossamer.spiders.stats",
    "StoredItem": "gossamer.core.jobs",
    "parse_date": "gossamer.items.helpers",
    "parse_number": "gossamer.items.helpers",
    "parse_price": "gossamer.items.helpers",
    "parse_quantity": "gossamer.items.helpers",
    "run_callback": "gossamer.testing.callbacks",
    "serve_in_thread": "gossamer.testing.site",
    "squeeze": "gossamer.items.helpers",
}
"""The modules of names that are not imported from ``gossamer``."""
ELSEWHERE = {"JobBusy": "errors", "__version__": ""}
"""Names without a section of their own: another name of an exception, and the version."""
EVENTS = "Event"
"""The end of the names of events, which have a page of their own."""
ENGINE = {
    "Spider": {
        *("find_callback", "find_script", "wants_status", "has_callback", "console_names", "find_binding"),
        *("keep_no_state", "share_work", "unshared_settings", "take_fetcher", "take_url_rule", "selects"),
        *("watches", "browsing_for", "required", "follows_loops", "reads_pages", "logs_in"),
    },
    "SitemapSpider": {"selects", "watches", "required", "start"},
    "CSVFeedSpider": {"selects", "watches", "parse"},
    "XMLFeedSpider": {"selects", "watches", "parse"},
    "Response": {
        *("is_unread", "was_read", "page", "dropped", "expected", "stopped", "note_cuts", "in_session"),
    },
    "Request": {"validate", "rank", "band", "is_trap_probe", "archived", "trace", "saves"},
    "Rule": {"link_options", "follows", "callback_name", "request_for"},
    "Browsing": {"is_plain"},
    "Login": {"last", "secrets"},
    "FetchError": {"with_detail"},
    "Shop": {"change_products", "changed_at", "sku", "catalog_pages", "product_path", "catalog_path"},
}
"""Members of public classes that the engine alone uses."""
GIVEN = {
    *(
        "Response",
        "Headers",
        "SelectorList",
        "Login",
        "Failure",
        "SpiderStats",
        "RunningCrawl",
        "CrawlResult",
    ),
    *("StoredItem", "CapturedResponse", "Item"),
}
"""Classes of objects that Gossamer makes, or whose arguments are their own fields."""


# --------------------------------------------------------------------------- reading the source


@dataclass
class Member:
    """One member of a class, or a function."""

    name: str
    text: str = ""
    type: str = ""
    default: str = ""
    signature: str = ""


@dataclass
class Entry:
    """A public name with everything that its section shows."""

    name: str
    module: str
    text: str
    signature: str = ""
    bases: tuple[str, ...] = ()
    attributes: list[Member] = field(default_factory=list)
    methods: list[Member] = field(default_factory=list)


@cache
def _source_of(module: str) -> tuple[ast.Module, Mapping[int, str]]:
    """The tree of a module, and its comments by line."""
    text = inspect.getsource(import_module(module))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    return ast.parse(text), {line: words.lstrip("# ").strip() for line, words in comments.items()}


def home_of(name: str) -> str:
    """The module in which a public name is defined."""
    if name in HOMES:
        return HOMES[name]
    if name == "items":
        return "gossamer.queries.stored_items"
    return gossamer._HOMES[name]


def find_definition(module: str, name: str) -> ast.stmt:
    """The statement that defines a name. Raises ``Undocumented`` if there is none."""
    tree, _ = _source_of(module)
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and [
            target.id for target in node.targets if isinstance(target, ast.Name)
        ] == [name]:
            return node
    raise Undocumented(f"{module} does not define {name}")


def read_entry(name: str) -> Entry:
    """Return everything about a public name. Raises ``Undocumented`` if a part has no description."""
    module = home_of(name)
    node = find_definition(module, "read_items" if name == "items" else name)
    if isinstance(node, Function):
        method = _read_function(node, name, is_method=False)
        return Entry(name, module, method.text, method.signature)
    if isinstance(node, ast.Assign):
        tree, _ = _source_of(module)
        text = _string_after(tree.body, node)
        if not text:
            raise Undocumented(f"{module}.{name} has no docstring")
        return Entry(name, module, text, f"{name} = {ast.unparse(node.value)}")
    assert isinstance(node, ast.ClassDef)
    return _read_class(node, name, module)


def _read_class(node: ast.ClassDef, name: str, module: str) -> Entry:
    kind = getattr(import_module(module), name)
    text = ast.get_docstring(node)
    if not text:
        raise Undocumented(f"{module}.{name} has no docstring")
    bases = [base for base in kind.__mro__[1:] if _is_shown(base)]
    entry = Entry(name, module, text, bases=tuple(base.__name__ for base in bases[:1]))
    hidden = ENGINE.get(name, set())
    seen: set[str] = set(hidden)
    known = {inner for base in bases for inner in dir(base)} if bases else set()
    for part in kind.__mro__:
        if (
            not part.__module__.startswith("gossamer.")
            or part in bases
            or part.__name__ in ("Record", "Action")
        ):
            continue
        for member in _members_of(part, hidden):
            if member.name in seen or (part is not kind and member.name in known):
                continue
            seen.add(member.name)
            (entry.methods if member.signature else entry.attributes).append(member)
    constructor = None if name in GIVEN else _constructor_of(node)
    if constructor is None and hasattr(kind, "__match_args__") and name not in GIVEN:  # a record
        parts = [
            f"{one.name}: {one.type}" + (f" = {one.default}" if one.default else "")
            for one in entry.attributes
            if one.default or one.type
        ]
        entry.signature = _join_signature(f"class {name}", parts)
    if constructor is not None:
        entry.signature = _signature(
            constructor, f"class {name}", is_method=True, result=False, hidden=hidden
        )
        kinds = {
            one.arg: ast.unparse(one.annotation) for one in _all_arguments(constructor) if one.annotation
        }
        for attribute in entry.attributes:
            attribute.type = kinds.get(attribute.name, attribute.type)
    return entry


def _is_shown(base: type) -> bool:
    """Whether a base has a section of its own."""
    return any(base.__name__ in page.names for page in PAGES.values())


def _constructor_of(node: ast.ClassDef) -> Function | None:
    for part in _flat(node.body):
        if isinstance(part, Function) and part.name == "__init__" and len(_all_arguments(part)) > 1:
            return part
    return None


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a class, with those that type checkers alone read."""
    for part in body:
        if isinstance(part, ast.If):
            yield from part.body
        else:
            yield part


def _members_of(kind: type, hidden: set[str]) -> Iterator[Member]:
    """The public members that a class defines itself, without the hidden ones."""
    node = find_definition(kind.__module__, kind.__name__)
    assert isinstance(node, ast.ClassDef)
    _, comments = _source_of(kind.__module__)
    body = list(_flat(node.body))
    for part in body:
        if isinstance(part, Function):
            if part.name not in hidden:
                yield from _member_of_function(part, kind)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            name = part.target.id
            if name.startswith("_") or name in hidden:
                continue
            text = _string_after(body, part) or comments.get(part.end_lineno or 0, "")
            if not text:
                raise Undocumented(f"{kind.__module__}.{kind.__name__}.{name} has no meaning")
            default = "" if part.value is None else _as_code(part.value)
            yield Member(name, text, _as_code(part.annotation), default)


def _member_of_function(part: Function, kind: type) -> Iterator[Member]:
    marks = {ast.unparse(mark) for mark in part.decorator_list}
    if part.name.startswith("_") or "overload" in marks:
        return
    if {"property", "lazy_property", "cached_property"} & marks:
        result = "" if part.returns is None else ast.unparse(part.returns)
        yield Member(part.name, _docstring(part, kind.__name__), result)
    else:
        yield _read_function(part, f"{kind.__name__}.{part.name}", is_method="staticmethod" not in marks)


def _string_after(body: list[ast.stmt], node: ast.stmt) -> str:
    """Return the string below a statement, which documents it."""
    after = body[body.index(node) + 1 :][:1]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return inspect.cleandoc(str(after[0].value.value))
    return ""


def _docstring(node: Function, name: str) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise Undocumented(f"{name}.{node.name} has no docstring")
    return text


def _read_function(node: Function, name: str, *, is_method: bool) -> Member:
    text = _docstring(node, name)
    called = name.rpartition(".")[2]
    arguments = [one.arg for one in _all_arguments(node)][is_method:]
    untold = [
        one for one in arguments if not re.search(rf"`\*?\*?{one}\b|^ +\*?\*?{one}: ", text, re.MULTILINE)
    ]
    if untold:
        raise Undocumented(f"{name}() does not say what {', '.join(untold)} is")
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return Member(called, text, signature=_signature(node, f"{word} {called}", is_method=is_method))


def _all_arguments(node: Function) -> list[ast.arg]:
    given = node.args
    several = [one for one in (given.vararg, given.kwarg) if one]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]


def _signature(
    node: Function, head: str, *, is_method: bool, result: bool = True, hidden: Collection[str] = ()
) -> str:
    """A signature as code, in one line or with one argument a line."""
    given = node.args
    defaults = [None] * (len(given.posonlyargs + given.args) - len(given.defaults)) + given.defaults
    parts = [_argument(*pair) for pair in zip(given.posonlyargs + given.args, defaults, strict=True)]
    parts = parts[is_method:]
    if given.vararg:
        parts.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_argument(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(f"**{_argument(given.kwarg, None)}")
    parts = [part for part in parts if part.partition(":")[0] not in hidden]
    tail = f" -> {_as_code(node.returns)}" if result and node.returns is not None else ""
    return _join_signature(head, parts, tail)


def _join_signature(head: str, parts: list[str], tail: str = "") -> str:
    line = f"{head}({', '.join(parts)}){tail}"
    if len(line) <= WIDTH:
        return line
    return f"{head}(\n{''.join(f'    {part},{chr(10)}' for part in parts)}){tail}"


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    text = one.arg if one.annotation is None else f"{one.arg}: {_as_code(one.annotation)}"
    return text if default is None else f"{text} = {_as_code(default)}"


def _as_code(node: ast.expr) -> str:
    """An expression, with strings in double quotation marks."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


# --------------------------------------------------------------------------- writing the pages


def as_markdown(text: str) -> str:
    """A docstring as Markdown: its code blocks in fences, its sections ``Args:`` as a table."""
    parts: list[str] = []
    for block in re.split(r"\n\n(?=\S)|\n(?=Args:$)", text, flags=re.MULTILINE):
        if block.startswith("Args:"):
            parts.append(_arguments_table(block))
            continue
        words, mark, example = block.partition("::\n\n")
        parts.append(prose(words.rstrip()).removesuffix(" :"))
        if mark:
            lines, _, rest = textwrap.dedent(example).partition("\n\n\n")
            parts += [f"```py\n{lines.strip()}\n```", prose(rest)]
    return "\n\n".join(part for part in parts if part)


def _arguments_table(block: str) -> str:
    found = re.findall(r"^    (\*{0,2}\w+): (.*(?:\n {8}.*)*)", block, re.MULTILINE)
    rows = [(code(name), sentence(words)) for name, words in found]
    return table(("parameter", "meaning"), rows)


def _section(entry: Entry, example: str, seen_at: str) -> str:
    parts = [f"## {entry.name}"]
    place = f"from {entry.module if entry.name in HOMES else 'gossamer'} import {entry.name}"
    bases = ", ".join(entry.bases)
    signature = entry.signature or (f"class {entry.name}({bases})" if bases else f"class {entry.name}")
    parts += [f"```py\n{place}\n\n{signature}\n```", as_markdown(entry.text)]
    if bases and entry.signature:
        parts.append(f"A subclass of `{bases}`.")
    if example:
        parts += ["Example:", example]
    elif seen_at:
        parts.append(f"Example: under [`{seen_at}`](#{_slug(seen_at)}).")
    if entry.attributes:
        rows = [
            (code(one.name), _cell(one.text), code(one.type), code(one.default)) for one in entry.attributes
        ]
        parts += [f"### Attributes of {entry.name}", table(("name", "meaning", "type", "default"), rows)]
    for one in entry.methods:
        parts += [f"### {entry.name}.{one.name}()", f"```py\n{one.signature}\n```", as_markdown(one.text)]
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return sentence(text.replace("\n\n", " "))


def _slug(name: str) -> str:
    return re.sub(r"[^\w-]", "", name.lower())


@cache
def read_examples() -> dict[str, tuple[tuple[str, ...], str]]:
    """Examples by each name that they show, with all the names of the same example."""
    found = {}
    for names, text in re.findall(
        r"^## (.+?)\n+(.*?)(?=^## |\Z)", EXAMPLES.read_text(), re.DOTALL | re.MULTILINE
    ):
        listed = tuple(names.split(", "))
        for name in listed:
            found[name] = (listed, text.strip())
    return found


def check_names(page_of: Mapping[str, str]) -> None:
    """Raise ``Undocumented`` for a public name that no page or no example shows."""
    examples = read_examples()
    for name in gossamer.__all__:
        is_elsewhere = name in ELSEWHERE or name.endswith(EVENTS)
        if not is_elsewhere and name not in page_of:
            raise Undocumented(f"gossamer.{name} is on no page of scripts/reference_api.py")
        if not is_elsewhere and name not in examples:
            raise Undocumented(f"gossamer.{name} has no example in {EXAMPLES.name}")
    for name, (_, text) in examples.items():
        if name not in page_of or not re.search(rf"\b{name}\b", text):
            raise Undocumented(f"{EXAMPLES.name}: the example of {name} does not show it")


def api_pages() -> dict[str, str]:
    """The pages by their file names. Raises ``Undocumented``."""
    page_of = {name: file for file, page in PAGES.items() for name in page.names}
    check_names(page_of)
    made = {"api/index.md": _index_page(page_of)}
    for file, page in PAGES.items():
        parts = [f"# {page.title}", page.text]
        for name in page.names:
            names, example = read_examples().get(name, ((), ""))
            is_first = bool(names) and name == min(names, key=_order_of(page))
            shown_at = "" if is_first or not names else min(names, key=_order_of(page))
            parts.append(_section(read_entry(name), example if is_first else "", shown_at))
        made[f"api/{file}.md"] = "\n\n".join(parts)
    return made


def _order_of(page: Page) -> Any:
    return lambda name: page.names.index(name) if name in page.names else len(page.names)


def _index_page(page_of: Mapping[str, str]) -> str:
    rows = []
    for name in sorted(page_of, key=str.lower):
        text = as_markdown(read_entry(name).text).replace("\n", " ")
        first = re.match(r".*?[.:](?= |$)", text)
        rows.append(
            (
                f"[`{name}`]({page_of[name]}.md#{_slug(name)})",
                (first[0] if first else text).rstrip(":.") + ".",
            )
        )
    return "\n\n".join(
        [
            "# Python API",
            "The names that programs and spiders import. All but those under [Testing](testing.md) and a few "
            "helper types come from `gossamer`; each section begins with its import. "
            "[Events](../events.md) have a page of their own.",
            table(("name", "meaning"), rows),
        ]
    )
