// Small charts: plain SVG that stretches (no text inside), labels beside it as HTML. Zero is on the axis, a gap is a gap.
import { h } from "./dom.js";
import { count } from "./format.js";

const WIDE = 1000; // units across each drawing; the page stretches it
const HIGH = 24;

/** A line through values; null is a gap and breaks it. */
export function linePath(values, top, height) {
  let path = "",
    isOpen = false;
  values.forEach((value, i) => {
    if (value === null || value === undefined) {
      isOpen = false;
      return;
    }
    path += `${isOpen ? "L" : "M"}${across(i, values)} ${up(value, top, height)}`;
    isOpen = true;
  });
  return path;
}

/** What is below that line. */
export function areaPath(values, top, height) {
  let path = "",
    isOpen = false;
  values.forEach((value, i) => {
    if (value === null || value === undefined) {
      if (isOpen) path += `L${across(i - 1, values)} ${height}Z`;
      isOpen = false;
      return;
    }
    path += isOpen ? "" : `M${across(i, values)} ${height}`;
    path += `L${across(i, values)} ${up(value, top, height)}`;
    isOpen = true;
  });
  return isOpen ? `${path}L${across(values.length - 1, values)} ${height}Z` : path;
}
const across = (i, values) => ((i / Math.max(1, values.length - 1)) * WIDE).toFixed(1);
const up = (value, top, height) => (height - (value / top) * height).toFixed(1);

const some = (values) => values.filter((value) => value !== null && value !== undefined);
export const most = (values) => Math.max(0, ...some(values));
export const latest = (values) => some(values).at(-1) ?? null;
export const mean = (values) => {
  const known = some(values);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
};
/** The round number at the top of an axis. */
export function roundTop(value) {
  if (value <= 0) return 1;
  const ten = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * ten >= value * 0.999) * ten;
}

const drawing = (props, ...kids) => h("svg", { preserveAspectRatio: "none", ...props }, ...kids);
const zeroLine = () => h("line", { class: "zero", x1: 0, x2: WIDE, y1: HIGH - 0.5, y2: HIGH - 0.5 });

/** One hour of one value from zero, on its own scale: read for its shape; the number beside it is the value. */
export function spark(values, { label, kind = "", top, wide } = {}) {
  const high = (top ?? (most(values) || 1)) * 1.08;
  return drawing(
    {
      class: ["spark", kind, wide && "wide-spark"],
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      role: "img",
      "aria-label": label,
    },
    zeroLine(),
    h("path", { class: "fill", d: areaPath(values, high, HIGH) }),
    h("path", { d: linePath(values, high, HIGH) }),
  );
}

export function bars(values, { label, kind = "" } = {}) {
  const high = most(values) || 1,
    wide = WIDE / Math.max(1, values.length);
  return drawing(
    { class: ["spark bars", kind], viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label },
    zeroLine(),
    values.map((value, i) => {
      const tall = value ? Math.max(1.5, (value / high) * (HIGH - 1)) : 0;
      return h("rect", {
        x: (i * wide + wide * 0.12).toFixed(1),
        y: (HIGH - tall).toFixed(1),
        width: (wide * 0.76).toFixed(1),
        height: tall.toFixed(1),
      });
    }),
  );
}

/** Used of allowed: the track is what is allowed. */
export const bullet = (used, allowed, label, kind = "") =>
  h(
    "span",
    { class: ["bullet", kind], role: "img", "aria-label": label },
    h("i", {
      css: { width: `${allowed > 0 ? Math.min(100, Math.max(0, (used / allowed) * 100)).toFixed(2) : 0}%` },
    }),
  );

/** Done, dead and waiting of what is known. Where a job finds more than it does, the end of the bar is open. */
export function progress({ done, dead, waiting, isGrowing, isStill }) {
  const known = Math.max(1, done + dead + waiting),
    part = (n) => `${((n / known) * 100).toFixed(3)}%`;
  return h(
    "span",
    {
      class: ["progress", isGrowing && "growing", isStill && "still"],
      role: "img",
      "aria-label": `${count(done)} done, ${count(dead)} dead, ${count(waiting)} waiting`,
    },
    h("i", { class: "done", css: { width: part(done) } }),
    dead / known > 0.0005 && h("i", { class: "dead", css: { width: `max(2px, ${part(dead)})` } }),
  );
}

/** Shares of one whole in one bar; every part is named beside it, never in a legend that must be matched by colour. */
export const shares = (list, label) =>
  h(
    "span",
    { class: "parts", role: "img", "aria-label": label },
    list
      .filter(([n]) => n > 0)
      .map(([n, kind]) => h("i", { key: kind, class: kind, css: { "flex-grow": String(n) } })),
  );
