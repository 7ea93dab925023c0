"""A spider's arguments (``-a NAME=VALUE``): their names, types and secrets.

Arguments are the annotated attributes of a spider's class and the parameters of its own ``__init__``. An
annotation gives the type: ``pages: int = 3`` makes ``-a pages=5`` the number 5; without one it is a string.
A spider with annotations takes only those arguments; a spider without takes the names that its source
mentions; an ``__init__`` with ``**kwargs`` takes any, as in Scrapy. An annotated attribute without a value
is required, unless the spider has an ``__init__`` of its own, which may set it.
"""

from __future__ import annotations

import inspect
import json
import re
import shlex
import types
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from hashlib import scrypt
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from gossamer.config.settings import setting_fields
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.policy.secret_names import HIDDEN, is_secret
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.spiders.spider import Spider

MISSING = inspect.Parameter.empty
"""There is no default."""
BASE = {"start_urls": list[str], "allowed_domains": list[str]}
"""Arguments that every spider takes."""
_FINGERPRINT = re.compile(r"\*\*\*[0-9a-f]{8}")
_NOTHING = ("", "none", "null")


class SpiderArgument(Record, frozen=True):
    """One argument of a spider."""

    name: str
    annotation: Any = MISSING  # MISSING: a string, as typed
    default: Any = MISSING
    required: bool = False

    @property
    def type(self) -> str:
        """The type in words: ``int``, ``date | None``, ``'new' | 'used'``."""
        return _format_type(self.annotation)

    @property
    def shown_default(self) -> Any:
        """The default, unless it must not be shown; ``None`` where there is none."""
        if self.default is MISSING or self.default is None:
            return None
        return HIDDEN if is_secret(self.name) and self.default != "" else self.default


class ArgumentRules(Record, frozen=True):
    """The arguments that a spider takes."""

    arguments: Mapping[str, SpiderArgument]
    others: bool  # whether it also takes other names
    mentioned_only: bool = False  # other names only if its source mentions them


def accepted_arguments(spider_class: type[Spider]) -> ArgumentRules:
    """Return the arguments of a spider class, in the order of its source."""
    found = {argument.name: argument for argument in _attributes_of(spider_class)}
    typed = any(argument.annotation is not MISSING for argument in found.values())
    others = mentioned_only = not typed
    for base in spider_class.__mro__:
        if base is Spider:
            break
        if "__init__" in vars(base):
            parameters, others = _parameters_of(base)
            if not others:  # it takes only its parameters, not even the attributes of the class
                return ArgumentRules(parameters, others=False)
            found, mentioned_only = {**found, **parameters}, False
    return ArgumentRules(found, others, mentioned_only)


def read_arguments(spider_class: type[Spider], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments, each value in the type of its argument.

    Raises :class:`UsageError` for unknown names, for values of other types and for missing arguments.
    """
    known = accepted_arguments(spider_class)
    remember_secrets(str(value) for name, value in given.items() if is_secret(name))
    values = {}
    for name, value in given.items():
        argument = known.arguments.get(name)
        if argument is None and name in BASE:
            argument = SpiderArgument(name, BASE[name])
        if argument is None and not known.others:
            raise UsageError(_unknown_message(spider_class, name, value, known))
        if argument is None and known.mentioned_only:
            _check_mentioned(spider_class, name, value, known)
        values[name] = value if argument is None else _read_value(spider_class, argument, value)
    lacking = [a for a in known.arguments.values() if a.required and a.name not in values]
    if lacking:
        wanted = ", ".join(f"-a {argument.name}=... ({argument.type})" for argument in lacking)
        raise UsageError(f"spider {spider_class.name!r} requires the argument {wanted}")
    return values


# --------------------------------------------------------------------------- secrets


def shown_argument(name: str, value: Any) -> str:
    """Return a value for people."""
    return HIDDEN if is_secret(name) else str(value)


def target_text(spider: str, arguments: Mapping[str, Any]) -> str:
    """Return a spider with its arguments in one line: the same line is the same crawl.

    A secret appears as a fingerprint, which is too slow to compute for guessing the secret.
    """
    pairs = (f"{name}={_hide_secret(spider, name, value)}" for name, value in sorted(arguments.items()))
    return " ".join((shlex.quote(spider), *(_quote_pair(pair) for pair in pairs)))


def _quote_pair(pair: str) -> str:
    return pair if _FINGERPRINT.fullmatch(pair.partition("=")[2]) else shlex.quote(pair)


def _hide_secret(spider: str, name: str, value: Any) -> str:
    text = str(value)
    if not is_secret(name) or not text or _FINGERPRINT.fullmatch(text):  # a target that is read again
        return text
    digest = scrypt(
        text.encode("utf-8", "surrogatepass"), salt=f"{spider} {name}".encode(), n=1 << 14, r=8, p=1, dklen=4
    )
    return f"{HIDDEN}{digest.hex()}"


# --------------------------------------------------------------------------- what there is


def _attributes_of(spider_class: type[Spider]) -> Iterator[SpiderArgument]:
    """The annotated attributes of a class and its bases, and those that hold plain values."""
    seen: dict[str, Any] = {}
    for base in reversed(spider_class.__mro__):
        if base in (object, Spider):
            continue
        seen |= _annotations_of(base)
        for name, value in vars(base).items():
            if value is None or isinstance(value, str | int | float):
                seen.setdefault(name, MISSING)
    sets_them = spider_class.__init__ is not Spider.__init__  # an attribute without a value may get one there
    for name, annotation in seen.items():
        if _is_free(name) and get_origin(annotation) is not ClassVar and annotation is not ClassVar:
            default = getattr(spider_class, name, MISSING)
            yield SpiderArgument(name, annotation, default, required=default is MISSING and not sets_them)


def _is_free(name: str) -> bool:
    """Whether a name is the spider's own, and neither a constant, nor a setting, nor a word of ours."""
    return not (name.startswith("_") or name.isupper() or hasattr(Spider, name) or name in setting_fields())


def _annotations_of(owner: Any) -> dict[str, Any]:
    """Annotations with their names looked up; those that cannot be (type-checking imports) are left out."""
    try:
        return inspect.get_annotations(owner, eval_str=True)
    except Exception:  # noqa: BLE001 - users' code; one that cannot be evaluated spoils only itself
        space = getattr(inspect.getmodule(owner), "__dict__", {})
        return dict(_evaluate_annotations(inspect.get_annotations(owner), space))


def _evaluate_annotations(
    annotations: Mapping[str, Any], space: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    for name, annotation in annotations.items():
        try:
            kind = eval(annotation, dict(space)) if isinstance(annotation, str) else annotation  # noqa: S307 - the spider's own source
        except Exception:  # noqa: BLE001, S112 - users' code
            continue
        yield name, kind


def _parameters_of(owner: type) -> tuple[dict[str, SpiderArgument], bool]:
    """The parameters of a class's own ``__init__``, and whether it has ``**kwargs``."""
    function = vars(owner)["__init__"]
    parameters = list(inspect.signature(function).parameters.values())[1:]
    annotations = _annotations_of(function)
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = {
        p.name: SpiderArgument(p.name, annotations.get(p.name, MISSING), p.default, p.default is MISSING)
        for p in parameters
        if p.kind not in variable and p.kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    return found, any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


# --------------------------------------------------------------------------- reading


def _read_value(spider_class: type[Spider], argument: SpiderArgument, value: Any) -> Any:
    if argument.annotation in (MISSING, str, Any):
        return value
    try:
        adapter = TypeAdapter(argument.annotation)
    except (PydanticUserError, NameError, TypeError):
        raise UsageError(
            f"the argument {argument.name} of the spider {spider_class.name!r} is a {argument.type}, "
            "which cannot be given as text"
        ) from None
    try:
        return adapter.validate_python(_from_text(value, argument.annotation))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]["msg"]
        message = problem.removeprefix("Value error, ").removeprefix("Input ")
        raise UsageError(
            f"-a {argument.name}={shown_argument(argument.name, value)}: the argument {argument.name} of the "
            f"spider {spider_class.name!r} is of type {argument.type}; the value {message}"
        ) from None


def _from_text(value: Any, annotation: Any) -> Any:
    """Convert a text to a type; other text is left for validation.

    ``none`` is ``None``; lists are JSON, or elements separated by commas; dicts are JSON.
    """
    if not isinstance(value, str):
        return value
    parts = list(_alternatives_of(annotation))
    choices = {str(choice): choice for part in parts for choice in _choices_of(part)}
    if value in choices:
        return choices[value]
    kinds = [kind for part in parts if isinstance(kind := get_origin(part) or part, type)]
    if type(None) in kinds and str not in kinds and value.strip().lower() in _NOTHING:
        return None
    if any(issubclass(kind, Collection) and not issubclass(kind, bytes | str) for kind in kinds):
        return _parse_elements(value, is_dict=any(issubclass(kind, Mapping) for kind in kinds))
    return value


def _parse_elements(text: str, *, is_dict: bool) -> Any:
    """The elements of a list or dict."""
    if not is_dict and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")] if text.strip() else []
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _alternatives_of(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation."""
    if hasattr(annotation, "__metadata__"):  # Annotated
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _alternatives_of(part)
    else:
        yield type(None) if annotation is None else annotation


def _choices_of(part: Any) -> tuple[Any, ...]:
    """Return the possible values."""
    if get_origin(part) is Literal:
        return get_args(part)
    if isinstance(part, type) and issubclass(part, Enum):
        return tuple(member.value for member in part)
    return ()


def _format_type(annotation: Any) -> str:
    if annotation is MISSING:
        return "str"
    return " | ".join(
        " | ".join(map(repr, _choices_of(part))) or _format_part(part)
        for part in _alternatives_of(annotation)
    )


def _format_part(part: Any) -> str:
    if part is type(None):
        return "none"
    if isinstance(part, type) and not get_args(part):
        return part.__name__
    return re.sub(r"\b(\w+\.)+(?=\w)", "", str(part))


def _unknown_message(spider_class: type[Spider], name: str, value: Any, known: ArgumentRules) -> str:
    names = list(known.arguments)
    close = get_close_matches(name, names, n=1)
    if close:
        hint = f"; did you mean {close[0]!r}?"
    else:
        hint = (
            f"; it is a setting: -s {name}={shown_argument(name, value)}" if name in setting_fields() else ""
        )
    listed = ", ".join(f"{argument.name} ({argument.type})" for argument in known.arguments.values())
    return (
        f"the spider {spider_class.name!r} has no argument {name!r} "
        f"(= {shown_argument(name, value)!r}){hint}\n"
        f"  its arguments: {listed or 'none'}"
    )


_READ = re.compile(r"""\b(?:self|spider)\.(\w+)|getattr\(\s*(?:self|spider)\s*,\s*["'](\w+)""")
"""Where a source reads an attribute of a spider."""


def _check_mentioned(spider_class: type[Spider], name: str, value: Any, known: ArgumentRules) -> None:
    """Raise ``UsageError`` for an argument that nothing in a spider's source speaks of."""
    source = _source_of(spider_class)
    if source is None or not name.isidentifier() or hasattr(spider_class, name):
        return  # unknown, or set by the spider
    if re.search(rf"\b{re.escape(name)}\b", source):
        return
    reads = {first or second for first, second in _READ.findall(source)}
    free = [one for one in reads if not hasattr(spider_class, one) and _is_free(one)]
    others = {one: SpiderArgument(one) for one in sorted(free)}
    found = ArgumentRules({**known.arguments, **others}, others=False)
    declared = f'  should it be read elsewhere, declare it in the class: {name}: str = ""'
    raise UsageError(f"{_unknown_message(spider_class, name, value, found)}\n{declared}")


def _source_of(spider_class: type[Spider]) -> str | None:
    """The modules of a spider, its bases and its pipelines; ``None`` where their text is not all there."""
    steps = spider_class.pipelines if isinstance(spider_class.pipelines, Collection) else ()
    kinds = [*spider_class.__mro__[: spider_class.__mro__.index(Spider)]]
    kinds += [step if isinstance(step, type) else type(step) for step in steps if not inspect.isroutine(step)]
    modules = {inspect.getmodule(kind) for kind in kinds}
    try:
        return "\n".join(inspect.getsource(module) for module in modules if module is not None)
    except (OSError, TypeError):
        return None
