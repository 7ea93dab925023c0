"""The page in a tab, serialised: its address and its tree at one moment.

With ``flat``, open shadow roots are written in place, with the content of their slots, and frames of the
same origin behind their elements, in an ``object``, which no element of the page around it closes. A shadow
root whose content would end the elements around it is written there as well. Links with raw letters in
their query are written in the page's charset, since the tree is read as UTF-8. The page itself stays
unchanged: a copy is written, in a document that loads and runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from gossamer.fetch.browser.web_storage import READ_STORAGE, STORAGE_LIMIT, StorageRecord

Collected = Mapping[str, Mapping[str, str]]
"""Elements that were in the page's tree, as HTML, by the selector that found them and by a key."""

UNREAD_FRAME = "unread_frame"
"""The flag of a page with a frame of another origin that a visitor sees."""
UNREAD_SHADOW = "unread_shadow"
"""The flag of a page with an element that shows something which is in no tree: its shadow root is closed."""


class ShownPage(NamedTuple):
    """A page when it is read."""

    url: str = ""  # of the document, which scripts may have changed; empty without a document
    text: str = ""
    flags: tuple[str, ...] = ()
    stored: StorageRecord | None = None  # by the page, in its web storage; None: it was not read

    @classmethod
    def from_script(cls, said: Any, text: str | None = None) -> Self | None:
        """Convert the result of :func:`reading_script`; ``text`` is the tree if the script wrote none.

        ``None``: the tree is too large.
        """
        if said is None:
            return cls()
        written = said["tree"] if text is None else text
        stored = StorageRecord.from_script(said["stored"])
        flags = (*said["flags"], STORAGE_LIMIT) if stored and stored.is_cut else tuple(said["flags"])
        return None if written is None else cls(said["url"], written, flags, stored)


def reading_script(most: int, *, flat: bool, collected: Collected, writes_plain: bool = True) -> str:
    """Return the expression that describes the page, with a tree of at most ``most`` characters.

    ``collected`` replaces the elements that the same selectors find now. Without ``writes_plain``, a page
    is written only if it differs from the plain tree.
    """
    lists = {selector: [*found.values()] for selector, found in collected.items()}
    return f"({_READ})({json.dumps([most, flat, writes_plain, lists])})"


def collecting_script(selector: str) -> str:
    """Return the expression for the elements that a selector finds, as pairs of a key and HTML."""
    return f"({_READ})({json.dumps([0, True, True, {}, selector])})"


_READ = r"""([most, flat, writesPlain, collected, selector]) => {
    const open = new Set();  // elements that are not copied as they are, with all around them
    const frames = new Map();
    const flags = new Set();
    const placed = new Set();
    const resolved = new Set();
    const edges = new Set();  // elements of the copy with contents that no parser has seen in their place
    const open_up = node => {
        for (; node && !open.has(node); node = node.parentNode || node.host) open.add(node);
    };
    const isSeen = node => {
        const box = node.getBoundingClientRect();
        return box.width > 1 && box.height > 1;
    };
    const look = scope => {
        if ((scope.ownerDocument || scope).characterSet !== "UTF-8") {
            for (const link of scope.querySelectorAll("a[href],area[href]")) {
                if (!/\?.*[^\0-\x7f]/.test(link.getAttribute("href"))) continue;
                resolved.add(link);
                open_up(link);
            }
        }
        if (flat) lookInside(scope);
    };
    const lookInside = scope => {
        for (const node of scope.querySelectorAll("*")) if (node.shadowRoot) {
            open_up(node);
            for (const slot of node.shadowRoot.querySelectorAll("slot")) open_up(slot);
            look(node.shadowRoot);
        }
        for (const frame of scope.querySelectorAll("iframe,frame")) {
            let inner = null;
            try { inner = frame.contentDocument; } catch {}
            if (inner && inner.body && inner.body.childNodes.length) {
                frames.set(frame, inner);
                open_up(frame);
                look(inner);
            } else if (!inner && isSeen(frame)) flags.add("unread_frame");
        }
    };
    // Whether an element without anything in it is larger than its own style makes it.
    const isFilled = node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        if (!isSeen(node) || range.getClientRects().length) return false;
        const style = getComputedStyle(node), around = getComputedStyle(node.parentElement || node);
        const edge = (...names) => names.reduce((sum, name) => sum + (parseFloat(style[name]) || 0), 0);
        const sides = edge("paddingLeft", "paddingRight", "borderLeftWidth", "borderRightWidth");
        const box = node.getBoundingClientRect();
        const width = node.clientWidth - edge("paddingLeft", "paddingRight");
        const height = node.clientHeight - edge("paddingTop", "paddingBottom");
        if (style.display === "inline") return box.width - sides > 1;
        if (!node.computedStyleMap) {  // of Firefox
            return isNamed(node) && node.matches(":defined") &&
                style.backgroundImage === "none" && style.maskImage === "none" &&
                /^(transparent|rgba\(.*, 0\))$/.test(style.backgroundColor);
        }
        if (!/^(block|inline-block|flow-root|flex|inline-flex)$/.test(style.display)) return false;
        if (node.isContentEditable || !/static|relative/.test(style.position)) return false;
        const own = node.computedStyleMap();
        const isOpen = name => /^(auto|none|0px|0|null)$/.test(String(own.get(name)));
        const isFlex = /flex|box/.test(around.display);
        if (/grid/.test(around.display)) return false;
        if (isFlex && style.flexGrow !== "0") return false;
        if (isFlex && !/column/.test(around.flexDirection)) {
            return width > 1 && isOpen("width") && isOpen("min-width") && isOpen("flex-basis");
        }
        return height > 1 && isOpen("height") && isOpen("min-height") && isOpen("aspect-ratio") &&
            isOpen("contain-intrinsic-height") && !(isFlex && !isOpen("flex-basis"));
    };
    const isNamed = node => node.localName.includes("-");
    const lookForClosed = () => {
        const hosts = "article,aside,blockquote,div,footer,h1,h2,h3,h4,h5,h6,header,main,nav,p,section,span";
        const empty = [...document.querySelectorAll(`:is(${hosts}):empty`)].slice(0, 50);
        const counts = {};
        const named = document.evaluate(
            "//*[contains(local-name(), '-')]", document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
        for (let at = 0; at < named.snapshotLength; at++) {
            const node = named.snapshotItem(at);
            const count = counts[node.localName] = (counts[node.localName] || 0) + 1;
            if (count <= 5 && node instanceof HTMLElement) empty.push(node);  // of a kind, all are alike
        }
        const isDrawn = node => [null, "::before", "::after"].some(
            part => !/^(none|normal)$/.test(getComputedStyle(node, part).content));
        const isShut = node => !node.shadowRoot && isFilled(node) && !isDrawn(node);
        if (empty.some(isShut)) flags.add("unread_shadow");
    };
    const inert = document.implementation.createHTMLDocument("");
    const make = node => {
        const name = {frameset: node === document.body ? "body" : "div", frame: "iframe"}[node.localName];
        if (!name) return inert.importNode(node, false);
        const made = inert.createElement(name);
        for (const {name, value} of node.attributes) made.setAttribute(name, value);
        return made;
    };
    const copy = node => {
        if (!open.has(node)) return inert.importNode(node, true);
        const made = make(node);
        if (node.shadowRoot) edges.add(made);
        if (resolved.has(node)) made.setAttribute("href", node.href);
        for (const child of (node.shadowRoot || node).childNodes) add(made, child);
        if (node.shadowRoot) for (const child of node.childNodes) if (!placed.has(child)) add(made, child);
        return made;
    };
    const add = (made, node) => {
        const assigned = node.localName === "slot" && open.has(node) ? node.assignedNodes() : [];
        if (assigned.length) {
            made.append(inert.importNode(node, false));
            edges.add(made);
            for (const other of assigned) {
                placed.add(other);
                add(made, other);
            }
            return;
        }
        made.append(copy(node));
        if (frames.has(node)) made.append(copyFrame(frames.get(node)));
    };
    const copyFrame = inner => {
        const made = inert.createElement("object");
        made.setAttribute("data-frame", inner.URL);
        for (const node of inner.body.childNodes) add(made, node);
        for (const form of made.querySelectorAll("form:not([action]),form[action='']")) {
            if (/^http/.test(inner.URL)) form.setAttribute("action", inner.URL);
        }
        for (const name of ["href", "src", "action", "formaction", "poster", "data"]) {
            for (const node of made.querySelectorAll(`[${name}]`)) try {
                node.setAttribute(name, new URL(node.getAttribute(name), inner.baseURI).href);
            } catch {}
        }
        return made;
    };
    const names = ["id", "data-id", "data-key", "data-index", "data-item-index", "data-row-index", "row-id",
        "row-index", "aria-rowindex", "aria-posinset"];
    const collect = scope => {  // an element's key is its name in the list, or its whole content
        const found = [...scope.querySelectorAll(selector)].filter(
            node => !(node.parentElement && node.parentElement.closest(selector)));
        const pairs = found.map(node => {
            const html = copy(node).outerHTML;
            const name = names.find(name => node.hasAttribute(name));
            if (name) return [`${name}=${node.getAttribute(name)}`, html];
            const bare = inert.importNode(node, true);
            bare.removeAttribute("style");  // where it stands
            return [bare.outerHTML, html];
        });
        for (const node of scope.querySelectorAll("*")) {
            if (node.shadowRoot) pairs.push(...collect(node.shadowRoot));
        }
        return pairs;
    };
    const putBack = (made, selector, items) => {
        const found = [...made.querySelectorAll(selector)];
        const holder = inert.createElement("template");
        holder.innerHTML = items.join("");
        if (found.length) found[0].before(holder.content);
        else made.querySelector("body").append(holder.content);
        for (const node of found) node.remove();
    };
    const blocks = "address,article,aside,blockquote,details,div,dl,fieldset,figure,footer,form,h1,h2,h3," +
        "h4,h5,h6,header,hr,main,nav,ol,p,pre,section,table,ul";
    const ending = [  // elements, what ends them when it is parsed in them, and what keeps the two apart
        ["p", blocks, "table,button,object"],
        ["a", "a", "table,td,th,object"],
        ["button", "button", "table,td,th,object"],
        ["li", "li", "ul,ol,menu,table,object"],
        ["dd,dt", "dd,dt", "dl,table,object"],
    ];
    const isTorn = (edge, [outer, inner, between]) => {
        const around = edge.closest(outer);
        const isFree = (node, top) => {
            const found = node.closest(between);
            return !found || !top.contains(found) || found === top;
        };
        return around && isFree(edge, around) &&
            [...edge.querySelectorAll(inner)].some(node => isFree(node.parentNode, edge));
    };
    const writeFlat = root => {
        const made = copy(root);
        for (const edge of edges) if (ending.some(rule => isTorn(edge, rule))) {
            const box = inert.createElement("object");
            box.append(...edge.childNodes);
            edge.append(box);
        }
        for (const [selector, items] of Object.entries(collected)) putBack(made, selector, items);
        // Its content is text where scripts run; in a document without scripts it would be escaped.
        for (const node of made.querySelectorAll("noscript")) {
            const parsed = new DOMParser().parseFromString(`<body>${node.textContent}`, "text/html");
            node.replaceChildren(...parsed.body.childNodes);
        }
        return made.outerHTML;
    };
    const root = document.documentElement;
    let tree = null;
    if (root) try {
        look(document);
        if (flat) lookForClosed();
        if (selector) return collect(document);
        if (open.size || Object.keys(collected).length) tree = writeFlat(root);
    } catch (error) {
        if (selector) throw error;
        flags.add("unread_shadow");
    }
    const isPlain = tree === null;
    if (isPlain) tree = root ? root.outerHTML : "";
    const kind = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
    const isSmall = kind.length + tree.length <= most;
    const isLeft = isSmall && isPlain && !writesPlain;
    return {
        url: location.href, flags: [...flags], tree: isSmall && !isLeft ? kind + tree : null, isLeft,
        stored: STORED,
    };
}""".replace("STORED", READ_STORAGE)
