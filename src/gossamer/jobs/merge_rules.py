"""Reads the rules of a merge from command-line options."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.errors import UsageError
from gossamer.policy.merge import MergeKind, MergeRules
from gossamer.targets.custom_rule import CustomRule


def read_rules(by: str, rule: str, prefer: Iterable[str]) -> tuple[MergeRules, CustomRule | None]:
    """Read the rules of ``--by``, ``--rule`` and ``--prefer``, and a function that makes the items.

    Raises ``UsageError``.
    """
    fields = tuple(name.strip() for name in by.split(",")) if by else ()
    if not all(fields):
        raise UsageError(f"--by {by!r} has an empty name; write --by sku or --by brand,model")
    kind, custom = MergeKind.LATEST, None
    if ":" in rule:
        custom = CustomRule.from_text(rule)
    elif rule in tuple(MergeKind):
        kind = MergeKind(rule)
    else:
        raise UsageError(f"--rule {rule!r} is none; there are {', '.join(MergeKind)}, and module:function")
    return MergeRules(by=fields, kind=kind, prefer=_read_preferences(prefer)), custom


def _read_preferences(prefer: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for text in prefer:
        field, equals, sources = text.partition("=")
        names = tuple(name.strip() for name in sources.split(","))
        if not field or not equals or not all(names):
            raise UsageError(f"--prefer {text!r} is not of the form FIELD=HOST,JOB")
        found[field] = names
    return found
