"""Expressions in a spider's source: the parts of the page they hold, and their operations on them."""

from __future__ import annotations

import ast

from kit.side_by_side.constants import Constants
from kit.side_by_side.needs import Kind, Need, PageNeeds

_SELECTORS: dict[str, Kind] = {"xpath": "xpath", "select": "xpath", "css": "css"}
_LOADING = {f"{verb}_{kind}" for verb in ("add", "replace", "nested") for kind in ("css", "xpath")}
_MATCHING = {"search", "findall", "match", "finditer"}
_SAME = frozenset(
    {
        *(
            "extract",
            "extract_first",
            "get",
            "getall",
            "get_attribute",
            "group",
            "pop",
            "values",
            "items",
            "copy",
        ),
        *(
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "lower",
            "upper",
            "title",
            "split",
            "join",
            "encode",
            "decode",
        ),
        *("format", "splitlines"),
    }
)
_WRAPPERS = frozenset(
    {
        *(
            "Selector",
            "HtmlXPathSelector",
            "XmlXPathSelector",
            "BeautifulSoup",
            "str",
            "unicode",
            "list",
            "tuple",
        ),
        *("set", "dict", "sorted", "reversed", "enumerate", "iter", "next", "filter"),
    }
)
_REQUESTS = {"Request", "SplashRequest", "SeleniumRequest", "FormRequest", "JsonRequest"}


class ExpressionReader:
    """The expressions of one file; notes in the needs what each of them looks for."""

    def __init__(self, tree: ast.Module, needs: PageNeeds) -> None:
        self._needs = needs
        self._constants = Constants(tree)
        self._handed: dict[tuple[str, str], Need] = {}  # (function, parameter)
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        self._parameters = {
            f.name: [a.arg for a in f.args.args if a.arg not in ("self", "cls")] for f in functions
        }
        self._given: dict[tuple[str, str], list[str]] = {}  # constant strings, likewise
        self._function = ""  # that is being read
        self._variables: dict[str, Need] = {}
        self._attributes: dict[str, Need] = {}

    def _assign(self, target: ast.expr, found: Need | None, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                if found is not None:
                    self._variables[name] = found
                    found.names.append(name)
                else:
                    self._variables.pop(name, None)
            case ast.Attribute(attr=name) if found is not None:
                self._attributes[name] = found
                found.names.append(name)
            case ast.Subscript(slice=place) if found is not None:
                found.names.append(self._constants.text_of(place) or "")
            case ast.Tuple(elts=parts) if isinstance(value, ast.Tuple):
                for part, one in zip(parts, value.elts, strict=False):
                    self._assign(part, self._find(one), one)
            case ast.Tuple(elts=parts) if found is not None:
                found.is_list = True
                for part in parts:
                    self._assign(part, found, value)

    def _iterate(self, target: ast.expr, source: ast.expr) -> None:
        match source:
            case ast.Call(func=ast.Name(id="zip"), args=args) if isinstance(target, ast.Tuple):
                for part, one in zip(target.elts, args, strict=False):
                    self._iterate(part, one)
                return
            case ast.Call(func=ast.Name(id="enumerate"), args=[one, *_]) if isinstance(target, ast.Tuple):
                self._iterate(target.elts[-1], one)
                return
            case ast.Call(func=ast.Attribute(value=one, attr="items")) if isinstance(target, ast.Tuple):
                self._assign(target.elts[-1], self._find(one), source)
                return
        found = self._find(source)
        if found is not None:
            found.is_list = True
        self._assign(target, found, source)

    def _find(self, node: ast.expr | None) -> Need | None:
        """Return the page's part that an expression holds; visits its sub-expressions."""
        match node:
            case None | ast.Constant():
                return None
            case ast.Name(id=name):
                return self._variables.get(name)
            case ast.Attribute(value=value, attr=name):
                return self._find_attribute(value, name)
            case ast.Call():
                return self._find_call(node)
            case ast.Subscript(value=value, slice=place):
                return self._find_subscript(value, place)
            case ast.BinOp(left=left, right=right):
                return self._find_sum(node, left, right)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    found = self._find(value)
                    if found is not None:
                        found.names.append(self._constants.text_of(key) or "")
                return None
            case ast.ListComp(elt=inner) | ast.SetComp(elt=inner) | ast.GeneratorExp(elt=inner):
                for generator in node.generators:
                    self._iterate(generator.target, generator.iter)
                return self._find(inner)
            case ast.Lambda():
                return self._find_lambda(node, None)
        first = None
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                first = self._find(part) or first
        return first if not isinstance(node, ast.Compare) else None

    def _find_attribute(self, value: ast.expr, name: str) -> Need | None:
        holder = self._find(value)
        if holder is self._needs.root and name == "url":
            return self._needs.address
        if holder is self._needs.root:
            return holder if name in ("text", "body", "selector", "body_as_unicode") else None
        if isinstance(value, ast.Name) and value.id == "self":
            return self._attributes.get(name)
        return holder if name in ("text", "attrib", "selector", "string") else None

    def _find_subscript(self, value: ast.expr, place: ast.expr) -> Need | None:
        holder = self._find(value)
        key = self._constants.value_of(place)
        if holder is None:
            return None
        if place.__class__ is ast.Slice or (isinstance(key, int) and holder.kind != "root"):
            holder.least = max(holder.least, self._count_needed(place))
        match value:
            case ast.Call(func=ast.Attribute(attr="split"), args=[separator, *_]) if isinstance(key, int):
                holder.cuts.append((self._constants.text_of(separator) or " ", key))
            case ast.Attribute(attr="attrib") if isinstance(key, str):
                return holder.part("xpath", f"@{key}")
        if isinstance(key, str) and holder.kind in ("root", "key"):
            return (self._needs.json if holder is self._needs.root else holder).part("key", key)
        if isinstance(place, ast.Constant) and holder.kind == "key":
            holder.is_list = True
        return holder

    def _count_needed(self, place: ast.expr) -> int:
        """How many there have to be for a place or a slice of them."""
        first = place.lower if isinstance(place, ast.Slice) else place
        key = self._constants.value_of(first)
        if not isinstance(key, int):
            return 0
        return (-key if key < 0 else key + 1) + (1 if isinstance(place, ast.Slice) else 0)

    def _find_sum(self, node: ast.BinOp, left: ast.expr, right: ast.expr) -> Need | None:
        found = self._find(left)
        other = self._find(right)
        text = self._constants.text_of(left) if isinstance(node.op, ast.Add) else None
        if other is not None and text and text.startswith(("http", "/")):
            other.link = "path"
        return found or other

    def _find_lambda(self, node: ast.Lambda, given: Need | None) -> Need | None:
        if given is not None and node.args.args:
            self._variables[node.args.args[0].arg] = given
        return self._find(node.body)

    def _find_call(self, call: ast.Call) -> Need | None:
        name = name_of(call.func)
        holder = self._find(call.func.value) if isinstance(call.func, ast.Attribute) else None
        found = [self._find(one) for one in call.args]
        named = {keyword.arg: self._find(keyword.value) for keyword in call.keywords}
        for argument, need in named.items():
            if need is not None and argument:
                need.names.append(argument)
        self._note_arguments(name, call, found, named)
        first = next((need for need in found if need is not None), None)
        if name in _SELECTORS:
            return self._find_selectors(name, call, holder or self._needs.root)
        if name in _LOADING:
            return self._add_of_loader(name, call, holder)
        if name.endswith("Loader"):
            return next((need for need in [*named.values(), first] if need is not None), self._needs.root)
        if name in ("loads", "json", "json_loads"):
            return self._needs.json
        text = self._constants.text_of(call.args[0]) if call.args else None
        if text and name in ("re", "re_first") and holder is not None:
            holder.patterns.append(text)
            return holder
        if text and name in _MATCHING and isinstance(call.func, ast.Attribute):
            (first or self._needs.root).patterns.append(text)
            return first
        if text and name == "get" and holder is not None and holder.kind in ("root", "key"):
            return (self._needs.json if holder is self._needs.root else holder).part("key", text)
        if holder is not None and name in _SAME:
            holder.is_list = holder.is_list or name == "getall"
            return holder
        if name == "map" and len(call.args) == 2 and isinstance(call.args[0], ast.Lambda):
            return self._find_lambda(call.args[0], found[1])
        return first if name in _WRAPPERS or name[:1].islower() else None

    def _texts_of(self, node: ast.expr) -> list[str]:
        """Constant strings; for a parameter of a function those that it is called with."""
        name = node.id if isinstance(node, ast.Name) else ""
        return self._constants.texts_of(node) or self._given.get((self._function, name), [])

    def _find_selectors(self, name: str, call: ast.Call, holder: Need) -> Need:
        found = holder
        for text in self._texts_of(call.args[0]) if call.args else []:
            found = holder.part(_SELECTORS[name], text)
        return found

    def _note_arguments(
        self, name: str, call: ast.Call, found: list[Need | None], named: dict[str | None, Need | None]
    ) -> None:
        first = found[0] if found else None
        url = named.get("url") or first
        if name in _REQUESTS and url is not None and url.kind != "root":
            url.link = url.link or "absolute"
        if name in ("urljoin", "follow", "follow_all", "get_base_url"):
            for need in [*found, named.get("url")]:
                if need is not None and need.kind != "root":
                    need.link = "path"
        if name == "follow_all":
            for keyword in call.keywords:
                if keyword.arg in ("css", "xpath"):
                    for text in self._constants.texts_of(keyword.value):
                        self._needs.root.part(_SELECTORS[keyword.arg], text).link = "path"
        if name in ("int", "float", "Decimal") and first is not None:
            first.is_number = True
        if name == "strptime" and first is not None and len(call.args) > 1:
            first.date_format = self._constants.text_of(call.args[1]) or ""
        if name in ("FormRequest", "from_response"):
            for keyword in call.keywords:
                value = self._constants.value_of(keyword.value) if keyword.arg == "formdata" else None
                self._needs.fields += list(value) if isinstance(value, dict) else []
        for parameter, need, node in zip(self._parameters.get(name, ()), found, call.args, strict=False):
            if need is not None:
                self._handed[name, parameter] = need
            elif text := self._constants.text_of(node):
                texts = self._given.setdefault((name, parameter), [])
                if text not in texts:
                    texts.append(text)

    def _add_of_loader(self, name: str, call: ast.Call, holder: Need | None) -> Need | None:
        place = holder or self._needs.root
        kind: Kind = "xpath" if name.endswith("xpath") else "css"
        is_nested = name.startswith("nested")
        for argument in call.args[0 if is_nested else 1 :][:1]:
            for text in self._constants.texts_of(argument):
                need = place.part(kind, text)
                if is_nested:
                    return need
                need.names.append(self._constants.text_of(call.args[0]) or "")
        return None


def name_of(function: ast.expr) -> str:
    """Return the last part of a called name."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
