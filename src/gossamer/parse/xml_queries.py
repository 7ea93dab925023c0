"""CSS queries on XML, written as XPath: names keep their case, and ``prefix|name`` its namespace.

The translator for HTML writes all names in lower case and without their prefixes. So names are given
to it as placeholders, and the true ones are put in their places afterwards.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gossamer.parse.queries import STRING, css_arms

_NAME = r"(?:[\w-]|[^\x00-\x7f]|\\.)+"
_TOKEN = re.compile(
    rf"(?P<other>{STRING}|:(?:nth-[\w-]+|lang|contains|:attr)\((?:{STRING}|[^)])*\)|::?{_NAME}\(?|[.#]{_NAME})"
    rf"|(?P<open>\[\s*)(?:(?P<space>{_NAME}|\*)\|)?(?P<attribute>{_NAME})(?P<rest>(?:{STRING}|[^\]\"'])*\])"
    rf"|(?:(?P<prefix>{_NAME}|\*)\|)?(?P<name>{_NAME}|\*)",
    re.DOTALL,
)
_MARK = "gossamer-name-"
_PLACE = re.compile(rf"{_MARK}(\d+)-")


@lru_cache(maxsize=1024)
def css_to_xml_xpath(query: str) -> str:
    """Return the XPath expression of a CSS query; raises ``ValueError`` for a bad one."""
    tests: list[str] = []

    def place(prefix: str | None, name: str) -> str:
        name = name.replace("\\", "")
        if prefix == "*":
            tests.append("*" if name == "*" else f"*[local-name() = '{name}']")
        else:
            tests.append(f"{prefix}:{name}" if prefix else name)
        return f"{_MARK}{len(tests) - 1}-"

    def mark(match: re.Match[str]) -> str:
        if match["other"]:
            return match[0]
        if match["attribute"]:
            return f"{match['open']}{place(match['space'], match['attribute'])}{match['rest']}"
        return "*" if match["name"] == "*" and not match["prefix"] else place(match["prefix"], match["name"])

    try:
        arms = css_arms(_TOKEN.sub(mark, query))
    except (ValueError, RuntimeError) as error:  # its positions are those of the placeholders
        raise ValueError(str(error).rpartition(": ")[2].partition(" at position")[0]) from None
    return _PLACE.sub(lambda match: tests[int(match[1])], " | ".join(arms))
