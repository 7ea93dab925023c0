// The small parts of every view: links, buttons, choices, texts of strangers, sections, troubles.
import { h } from "./dom.js";
import { count, cut, pieces } from "./format.js";
import { mark } from "./marks.js";

// ---------------------------------------------------------------- links and buttons

export const link = (href, ...kids) => h("a", { href }, ...kids);
/** A number that leads to its rows. */
export const num = (href, ...kids) =>
  href ? h("a", { class: "num", href }, ...kids) : h("span", {}, ...kids);
export const sub = (...kids) => h("span", { class: "sub" }, ...kids);
export const linkButton = (href, label, { kind = "", key, icon } = {}) =>
  h(
    "a",
    { class: ["btn", kind], href, "aria-keyshortcuts": key },
    icon && mark(icon),
    h("span", {}, label),
    hint(key),
  );

/** `why` says why it is disabled. `acts` marks what changes something: not for those who may only look. */
export function button(label, act, { kind = "", key, icon, disabled, why, title, pressed } = {}) {
  const props = {
    type: "button",
    class: ["btn", kind],
    onclick: act,
    disabled: disabled || null,
    title: why ?? title,
  };
  return h(
    "button",
    { ...props, "aria-keyshortcuts": key, "aria-pressed": pressed },
    icon && mark(icon),
    h("span", {}, label),
    hint(key),
  );
}
export const iconButton = (icon, label, act, props) =>
  h(
    "button",
    { type: "button", class: "btn icon", "aria-label": label, title: label, onclick: act, ...props },
    mark(icon),
  );
const hint = (key) => (key ? h("kbd", { "aria-hidden": "true" }, key) : null);

export const copyText = (text) =>
  navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));

// ---------------------------------------------------------------- what strangers wrote

/** Text from a page or a server: isolated in its direction, oddities shown, cut in the middle. */
export function foreign(text, { max = 160, ...props } = {}) {
  if (text === null || text === undefined) return h("span", { class: "null" }, "empty");
  const whole = String(text);
  if (whole && !whole.trim())
    return h("span", { class: "null" }, `${whole.length} ${whole.length === 1 ? "blank" : "blanks"}`);
  const short = cut(whole, max);
  return h(
    "bdi",
    { class: "foreign", title: short === whole ? null : cut(whole, 600), ...props },
    pieces(short).map(([piece, odd]) => (odd ? h("span", { class: "odd" }, piece) : piece)),
  );
}

/**
 * Text whose middle goes where it has no room: its end is what tells it from the others. `tail` characters always stay.
 */
export function middle(text, { max = 80, tail = 6, ...props } = {}) {
  const all = [...cut(text, max)];
  if (all.length <= 2 * tail) return foreign(text, { max, ...props });
  return h(
    "bdi",
    { class: "foreign mid", title: cut(text, 600), css: { "--tail": String(tail) }, ...props },
    h("span", { class: "mid-head" }, foreignPieces(all.slice(0, -tail).join(""))),
    h("span", { class: "mid-tail" }, foreignPieces(all.slice(-tail).join(""))),
  );
}

const TAIL = 16; // characters at the end of a URL that stay

/** A URL is text. It leads to its life here, never straight to the site. In a table its middle goes, not its end. */
export function url(address, { job = "", max = 96, plain = false } = {}) {
  const [, scheme, host, rest] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)(.*)$/is.exec(address) ?? [
    null,
    "",
    "",
    String(address),
  ];
  const all = [...cut(rest, Math.max(2 * TAIL, max - Math.min(host.length, 60)))],
    tail = all.splice(-TAIL);
  const inside = [
    h(
      "span",
      { class: "mid-head" },
      h("span", { class: "url-scheme" }, scheme),
      h("span", { class: "url-host" }, foreignPieces(cut(host, 60))),
      h("bdi", { class: "foreign url-rest" }, foreignPieces(all.join(""))),
    ),
    h("bdi", { class: "foreign url-rest mid-tail" }, foreignPieces(tail.join(""))),
  ];
  const props = { class: "url", title: cut(address, 600), css: { "--tail": String(tail.length) } };
  return plain
    ? h("span", props, inside)
    : h("a", { ...props, "aria-label": cut(address, 600), href: lifeHref(address, job) }, inside);
}
const foreignPieces = (text) =>
  pieces(text).map(([piece, odd]) => (odd ? h("span", { class: "odd" }, piece) : piece));
export const lifeHref = (address, job) =>
  `/page?${new URLSearchParams({ ...(job && { job }), url: cut(address, 4000) })}`;

/** A name of a host, in ASCII. */
export const hostName = (host, max = 40) => foreign(host, { max });

// ---------------------------------------------------------------- sentences and sections

export const tag = (text, kind = "") => h("span", { class: ["tag", kind] }, text);
export const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs.filter(Boolean).map(([name, ...value]) => [h("dt", {}, name), h("dd", {}, ...value)]),
  );

export function section(title, { id, meta, level = 2, kind = "", note } = {}, ...kids) {
  const name = id ?? title.toLowerCase().replace(/\W+/g, "-"),
    head = `h-${name}`;
  return h(
    "section",
    { key: name, class: ["part", kind], "aria-labelledby": head },
    h(
      "header",
      { class: "part-head" },
      h(`h${level}`, { id: head }, title),
      note && h("p", { class: "part-note" }, note),
      meta && h("div", { class: "part-meta" }, meta),
    ),
    ...kids,
  );
}

/** The head of a view: its answer, the reason, and what can be done. */
export const head = ({ over, answer, say, does }) =>
  h(
    "header",
    { key: "head", class: "head" },
    over && h("p", { class: "over" }, over),
    h("h1", {}, answer),
    say && h("p", { class: "say" }, say),
    does && h("div", { class: "does" }, does),
  );

const MEANING = { dead: "needs you", held: "is being handled", info: "for your information" };
/** What is wrong, with which thing, since when, and the ways out. */
export const trouble = ({ key, kind, who, href, text, since, ways = [] }) =>
  h(
    "li",
    { key, class: ["trouble", kind] },
    mark(kind, MEANING[kind]),
    h(
      "p",
      {},
      who &&
        (href ? link(href, h("b", {}, foreign(who, { max: 80 }))) : h("b", {}, foreign(who, { max: 80 }))),
      foreign(text, { max: 600 }),
      since && h("span", { class: "since" }, since),
    ),
    h("div", { class: "ways" }, ways),
  );

export const blank = ({ title, text, ways = [], small, heading = "h2" }) =>
  h(
    "div",
    { key: "blank", class: ["blank", small && "small"] },
    h(heading, {}, title),
    text && h("p", {}, text),
    ways.length ? h("div", { class: "ways" }, ways) : null,
  );
export const skeleton = (kind, n = 6) =>
  h(
    "div",
    { class: ["skeleton", kind], role: "status", "aria-label": "Loading" },
    Array.from({ length: n }, () => h("i", {})),
  );

// ---------------------------------------------------------------- choices

export const segments = (name, options, chosen, choose) =>
  h(
    "div",
    { class: "segments", role: "group", "aria-label": name },
    options.filter(Boolean).map(([value, label, extra]) =>
      h(
        "button",
        {
          key: `s-${value}`,
          type: "button",
          "aria-pressed": String(value === chosen),
          onclick: () => choose(value),
        },
        label,
        extra !== undefined &&
          extra !== null &&
          h("span", { class: "seg-count" }, typeof extra === "number" ? count(extra) : extra),
      ),
    ),
  );

/** A control with its label, its hint, and what is wrong with it. `control` is a function of the props to add. */
export function field(label, control, { hint: help, error, wide, id } = {}) {
  const name = id ?? `f-${label.toLowerCase().replace(/\W+/g, "-")}`,
    told = help || error;
  control.props.id = name;
  if (told) control.props["aria-describedby"] = `${name}-hint`;
  if (error) control.props["aria-invalid"] = "true";
  return h(
    "div",
    { key: name, class: ["field", wide && "wide"] },
    h("label", { for: name }, label),
    control,
    told && h("p", { class: error ? "field-error" : "hint", id: `${name}-hint` }, error ?? help),
  );
}
export const input = (props) =>
  h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });
export const select = (options, chosen, props) =>
  h(
    "select",
    { ...props, value: chosen ?? "" },
    options
      .filter(Boolean)
      .map((option) => (Array.isArray(option) ? option : [option, option]))
      .map(([value, label]) => h("option", { key: value, value }, label)),
  );
/** A search box of a list: what is typed counts when it is entered or left, not at each key. */
export const search = (label, value, enter) =>
  h("input", {
    type: "search",
    placeholder: label,
    "aria-label": label,
    value: value ?? "",
    spellcheck: "false",
    autocomplete: "off",
    onchange: (event) => enter(event.target.value.trim() || null),
  });
