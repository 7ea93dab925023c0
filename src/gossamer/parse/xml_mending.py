"""XML before it is parsed: the slips that cost a text its words become what their authors meant.

These are a bare ``&`` or ``<``, the names that HTML has for characters (``&nbsp;``), references to characters
that XML does not allow, control characters. A parser of XML stops at each of them, or leaves it out.
"""

from __future__ import annotations

import re

from gossamer.parse.references import resolve_reference, resolve_references

_DOCTYPE = r"DOCTYPE[^\[<>]{0,2000}\["
_MARK = re.compile(
    r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[^\W\d][\w.:-]{0,199});|&|\]\]>"
    r"|<(?:(?![A-Za-z_:!?/\x80-\U0010ffff])"
    rf"|!(?:\[CDATA\[[^\]]*+(?:\](?!\]>)[^\]]*+)*+\]\]>|--.*?-->|{_DOCTYPE}[^\]]*\])|\?.*?\?>"
    rf"|(?P<open>!\[CDATA\[|!--|\?|!{_DOCTYPE}).*)",
    re.DOTALL,
)
"""A reference, something bare, a section, or the beginning of one."""
_MENDED = {
    "&": "&#38;", "<": "&#60;", "]]>": "]]&#62;",
    "&amp;": "&#38;", "&lt;": "&#60;", "&gt;": "&#62;", "&quot;": "&#34;", "&apos;": "&#39;",
}  # fmt: skip
"""XML's own names by number as well: after its first error, libxml2 drops named entities."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_ENDS = {"<![": "]]>", "<!-": "-->", "<!D": "]", "<?": "?>"}
_UNFINISHED = re.compile(r"(?:<[!?A-Z\[-]{0,9}|&[#\w.:-]{0,40}|\]{1,2}|-{1,2}|\?)\Z")
_LOOK_BACK = 50
"""Characters at the end of a slice that may be a part of something."""
_ENTITY = re.compile(r"<!ENTITY\s+([^\s%\"'<>&;]{1,200})\s+(?:\"([^\"]*)\"|'([^']*)')?")


class XmlSlipFilter:
    """Mends a document in slices, the first of which has its DOCTYPE.

    CDATA sections, comments, declarations and processing instructions stay as they are.
    An entity that the document itself declares stays a reference, unless it means what HTML means by it.
    ``has_lost_entities`` says afterwards whether the text of one is missing.
    """

    def __init__(self) -> None:
        self.has_lost_entities = False
        self._held = ""
        self._end = ""  # within a section: its end
        self._declared: dict[str, bool] = {}  # reference: whether it has a text of its own

    def mend(self, text: str, *, is_last: bool = False) -> str:
        """Return the next part of the document; its last characters may come with the part after it."""
        text = _CONTROL.sub("", self._held + text)
        self._held = ""
        if not is_last:
            tail = _UNFINISHED.search(text, max(len(text) - _LOOK_BACK, 0))
            if tail is not None:
                text, self._held = text[: tail.start()], tail[0]
        start = self._section_end(text) if self._end else 0
        return text[:start] + _MARK.sub(self._mend_mark, text[start:] if start else text)

    def _section_end(self, text: str) -> int:
        """Return where the text begins that is not of the section before it."""
        found = text.find(self._end)
        if found < 0:
            return len(text)
        end = found + len(self._end)
        self._end = ""
        return end

    def _mend_mark(self, match: re.Match[str]) -> str:
        found = match[0]
        if (mended := _MENDED.get(found)) is not None:
            return mended
        if found[0] == "&":
            return self._mend_reference(found)
        if match["open"]:
            self._end = _ENDS[found[:3] if found[1] == "!" else "<?"]
        if found.startswith("<!D"):
            self._note_entities(found)
        return found

    def _note_entities(self, declarations: str) -> None:
        for name, *texts in _ENTITY.findall(declarations):
            reference, text = f"&{name};", texts[0] or texts[1]
            if not text or resolve_references(resolve_references(text)) != resolve_reference(reference):
                self._declared[reference] = bool(text)

    def _mend_reference(self, found: str) -> str:
        if found in self._declared:
            self.has_lost_entities |= self._declared[found]
            return found
        meant = resolve_reference(found)
        if meant is None:
            return f"&#38;{found[1:]}"
        return "".join(f"&#{ord(one)};" for one in _FORBIDDEN.sub("\ufffd", meant))


def mend_xml(text: str) -> tuple[str, bool]:
    """Return a whole document, and whether the text of entities that it declares is missing."""
    slips = XmlSlipFilter()
    return slips.mend(text, is_last=True), slips.has_lost_entities
