"""Finds the needs of a spider in its source, without running it.

Each function is read in order; a variable stands for the :class:`~.needs.Need` whose result it holds. Values
that are passed to other functions of the file are followed there in the second round.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kit.side_by_side.expressions import ExpressionReader, name_of
from kit.side_by_side.needs import PageNeeds

_RESPONSES = {"response", "res", "resp", "respose", "html", "r", "hxs", "sel", "selector"}


def read_needs(sources: Iterable[str]) -> PageNeeds:
    """Return the needs of the spiders in these files."""
    needs = PageNeeds()
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        reader = _FileReader(tree, needs)
        for _ in range(2):
            reader.read_functions()
        reader.read_attributes()
    return needs


class _FileReader(ExpressionReader):
    """One file."""

    def __init__(self, tree: ast.Module, needs: PageNeeds) -> None:
        super().__init__(tree, needs)
        self._tree = tree
        self._functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]

    def read_functions(self) -> None:
        """Go through all functions."""
        for function in self._functions:
            self._variables, self._function = {}, function.name
            for name in self._parameters[function.name]:
                handed = self._handed.get((function.name, name))
                if name in _RESPONSES:
                    self._variables[name] = handed or self._needs.root
                elif handed is not None:
                    self._variables[name] = handed
                elif name in ("row", "node"):
                    self._variables[name] = self._needs.row
            self._read_statements(function.body)

    def read_attributes(self) -> None:
        """Read the attributes of classes and the calls outside of functions."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._read_attribute(node.targets[0].id, node.value)
            elif isinstance(node, ast.Call):
                self._read_link_extractor(node)
            elif isinstance(node, ast.ClassDef):
                self._needs.is_sitemap |= any("SitemapSpider" in ast.unparse(base) for base in node.bases)

    def _read_attribute(self, name: str, value: ast.expr) -> None:
        needs, texts = self._needs, self._constants.texts_of(value)
        if name in ("start_urls", "sitemap_urls", "start_url", "base_url"):
            needs.starts += texts
        elif name == "allowed_domains":
            needs.domains += texts
        elif name == "itertag":
            needs.node = "".join(texts)
        elif name == "headers" and isinstance(value, ast.List):
            needs.columns = texts
        elif name == "delimiter":
            needs.delimiter = "".join(texts) or ","
        elif name == "sitemap_rules" and isinstance(value, ast.List):
            needs.sitemap_patterns += [t for rule in value.elts for t in self._constants.texts_of(rule)[:1]]

    def _read_link_extractor(self, call: ast.Call) -> None:
        name = name_of(call.func)
        if name not in ("LinkExtractor", "LxmlLinkExtractor", "SgmlLinkExtractor"):
            return
        if call.args:
            self._needs.allowed += self._constants.texts_of(call.args[0])
        for keyword in call.keywords:
            texts = self._constants.texts_of(keyword.value)
            if keyword.arg == "allow":
                self._needs.allowed += texts
            elif keyword.arg == "restrict_xpaths":
                self._needs.regions += [("xpath", text) for text in texts]
            elif keyword.arg == "restrict_css":
                self._needs.regions += [("css", text) for text in texts]
        if not any(keyword.arg == "allow" for keyword in call.keywords) and not call.args:
            self._needs.allowed.append("")

    def _read_statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._read_statement(statement)

    def _read_statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self._find(value)
                for target in targets:
                    self._assign(target, found, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
            ):
                self._assign(target, self._find(value), value)
            case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source):
                self._iterate(target, source)
                self._read_statements(node.body + node.orelse)
            case ast.If(test=test):
                self._find(test)
                self._read_statements(node.body + node.orelse)
            case ast.While(test=test):
                self._find(test)
                self._read_statements(node.body + node.orelse)
            case ast.With(items=items):
                for item in items:
                    self._find(item.context_expr)
                self._read_statements(node.body)
            case ast.Try():
                self._read_statements(
                    node.body + [s for h in node.handlers for s in h.body] + node.orelse + node.finalbody
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        self._find(part)
