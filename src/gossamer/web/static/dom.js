// Elements. A view describes what it shows with `h`; `patch` changes the page until it looks like that.
//
// What is already there stays the same node: its focus, its scroll and the pointer that rests on it are kept while
// its text changes. All text becomes a text node. Nothing here, or anywhere in the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "line", "circle", "g"]);

// A number stays on the line of its unit. What others wrote (bdi, code, pre) is left as it is.
const AS_IS = new Set(["bdi", "code", "pre", "textarea", "option"]);
const bound = (text) => text.replace(/(\d) (?=(?:s|ms|B|kB|MB|GB|TB|min|h)\b)/g, "$1\u00a0");

/** A description of an element. `key` tells rows apart; null, undefined and false among `kids` are nothing. */
export function h(tag, props, ...kids) {
  const asIs = AS_IS.has(tag);
  const flat = kids.flat(Infinity).map((kid) => {
    if (kid === null || kid === undefined || kid === false || kid === "") return null;
    return typeof kid === "object" ? kid : { text: asIs ? String(kid) : bound(String(kid)) };
  });
  return { tag, props: props ?? {}, key: props?.key, kids: flat };
}

const drawn = new WeakMap(); // node -> the description that it was last given
const listeners = new WeakMap(); // node -> {event: function}, so that a new function takes the place of the old one

/** Makes the children of `root` look as described. */
export function patch(root, kids) {
  const next = h("div", null, kids);
  patchKids(root, drawn.get(root)?.kids ?? [], next.kids);
  drawn.set(root, next);
}

/** A node of its own, for what is put into the page outside of a view. */
export function build(description) {
  if (description.text !== undefined) {
    description.node = document.createTextNode(description.text);
    return description.node;
  }
  const { tag, props, kids } = description;
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  description.node = node;
  patchKids(node, [], kids);
  for (const [name, value] of Object.entries(props)) setProp(node, name, value, undefined);
  drawn.set(node, description);
  props.made?.(node);
  return node;
}

function update(old, next) {
  const node = old.node;
  next.node = node;
  if (next.text !== undefined) {
    if (old.text !== next.text) node.data = next.text;
    return;
  }
  patchKids(node, old.kids, next.kids);
  for (const name of Object.keys(old.props))
    if (!(name in next.props)) setProp(node, name, undefined, old.props[name]);
  for (const [name, value] of Object.entries(next.props)) setProp(node, name, value, old.props[name]);
  drawn.set(node, next);
}

function setProp(node, name, value, former) {
  if (name === "key" || name === "made" || value === former) return;
  const absent = value === undefined || value === null || value === false;
  if (name.startsWith("on")) listen(node, name.slice(2), absent ? null : value);
  else if (name === "css") setStyle(node, value ?? {}, former ?? {});
  else if (name === "value" || name === "checked" || name === "indeterminate") node[name] = value ?? "";
  else if (absent) node.removeAttribute(name);
  else {
    const text = Array.isArray(value) ? value.filter(Boolean).join(" ") : value === true ? "" : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}

function setStyle(node, style, former) {
  for (const key of Object.keys(former)) if (!(key in style)) node.style.removeProperty(key);
  for (const [key, value] of Object.entries(style))
    if (former[key] !== value) node.style.setProperty(key, value);
}

function listen(node, event, act) {
  const all = listeners.get(node) ?? {};
  if (!(event in all)) node.addEventListener(event, (happened) => listeners.get(node)[event]?.(happened));
  all[event] = act;
  listeners.set(node, all);
}

/** Keyed kids are found by their key, others by their place; what is not found again goes, what is new is built. */
function patchKids(node, old, next) {
  const byKey = new Map(
    old.filter((kid) => kid?.key !== undefined && kid !== null).map((kid) => [kid.key, kid]),
  );
  const found = next.map((kid, at) => {
    if (kid === null) return null;
    const same = kid.key !== undefined ? byKey.get(kid.key) : old[at];
    byKey.delete(kid.key); // a second one of that name is another element
    return same && same.key === kid.key && same.tag === kid.tag ? same : null;
  });
  const kept = new Set(found);
  for (const kid of old) if (kid && !kept.has(kid)) kid.node.remove();
  let place = node.firstChild;
  next.forEach((kid, at) => {
    if (kid === null) return;
    const same = found[at];
    if (same) update(same, kid);
    if (same && same.node === place) place = place.nextSibling;
    else node.insertBefore(same ? same.node : build(kid), place);
  });
}
