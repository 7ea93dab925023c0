// Bands: several charts on one time axis, with one cursor through all of them. Values are read in the column beside.
import { areaPath, latest, linePath, mean, most, roundTop } from "./charts.js";
import { h } from "./dom.js";
import { clock, duration, moment, rate } from "./format.js";
import { button } from "./ui.js";

/**
 * `bands`: {title, height, show, axis, lines: [{name, kind, values, fill, href}]} or {title, strips: [...]}.
 * `marks`: {at, kind, text}, `gaps`: {since, until, text}; times in seconds. What the cursor points at, and whether the
 * table is shown instead, is kept in `state` while the view is shown.
 */
export function bands(ctx, { bands: list, points, step_s, until, marks = [], gaps = [], label, state }) {
  const from = until - (points - 1) * step_s;
  const place = (t) => Math.max(0, Math.min(100, ((t - from) / Math.max(1, until - from)) * 100));
  const axis = { points, step_s, from, until, place, marks, gaps, cursor: state.cursor ?? null };
  const at =
    axis.cursor === null
      ? `now, ${clock(until)}`
      : `${moment(from + axis.cursor * step_s, until, true)}, ${duration((points - 1 - axis.cursor) * step_s)} ago`;
  const asTable = button(
    "As a table",
    () => {
      state.isTable = !state.isTable;
      ctx.redraw();
    },
    { kind: "quiet", key: "t", pressed: String(Boolean(state.isTable)) },
  );
  return h(
    "div",
    {
      key: "bands",
      class: "bands",
      tabindex: "0",
      role: "group",
      "aria-label": `${label}. Arrow keys read it point by point.`,
      onkeydown: (event) => onKey(event, ctx, axis, state),
    },
    h(
      "div",
      { class: "bands-head" },
      h("output", { class: "bands-time", "aria-live": "polite" }, at),
      asTable,
    ),
    state.isTable ? asRows(list, axis, label) : stage(ctx, list, axis, state),
  );
}

function stage(ctx, list, axis, state) {
  const point = (event) => {
    const box = event.currentTarget.querySelector(".band-plot").getBoundingClientRect(),
      x = (event.clientX - box.left) / box.width;
    state.cursor = x < 0 || x > 1 ? null : Math.round(x * (axis.points - 1));
    ctx.redraw();
  };
  return h(
    "div",
    {
      key: "stage",
      class: "bands-stage",
      onpointermove: point,
      onpointerleave: () => {
        state.cursor = null;
        ctx.redraw();
      },
    },
    eventsBand(axis),
    list.map((band) => (band.strips ? stripsOf(band, axis) : bandOf(band, axis))),
    axisBand(axis),
  );
}

const readAt = (values, show, { cursor }) => {
  const value = cursor === null ? latest(values) : values[cursor];
  return value === null || value === undefined ? "no data" : show(value);
};

function bandOf(band, axis) {
  const high = roundTop(Math.max(...band.lines.map((line) => most(line.values))) * 1.02),
    tall = band.height;
  const rule = (kind, y) => h("line", { class: kind, x1: 0, x2: 1000, y1: y, y2: y });
  const plot = h(
    "svg",
    { class: "plot", viewBox: `0 0 1000 ${tall}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    rule("rule", 0.5),
    rule("rule", tall / 2),
    rule("zero", tall - 0.5),
    band.lines.map((line) => [
      line.fill && h("path", { class: "fill flow", d: areaPath(line.values, high, tall) }),
      h("path", { class: ["line", line.kind], d: linePath(line.values, high, tall) }),
    ]),
  );
  return [
    h("h3", { class: "band-title" }, band.title),
    h(
      "div",
      { class: "band" },
      h(
        "div",
        { class: "band-plot", css: { height: `${tall}px` } },
        plot,
        overlay(axis),
        h("span", { class: "tick top" }, band.axis(high)),
        h("span", { class: "tick mid" }, band.axis(high / 2)),
      ),
      h(
        "dl",
        { class: "band-read" },
        band.lines.map((line) => [
          h(
            "dt",
            { class: line.kind },
            h("i", { class: ["key", line.kind] }),
            line.href ? h("a", { class: "num", href: line.href }, line.name) : line.name,
          ),
          h("dd", {}, h("b", {}, readAt(line.values, band.show, axis))),
        ]),
      ),
    ),
  ];
}

function stripsOf(band, axis) {
  return [
    h(
      "h3",
      { class: "band-title" },
      band.title,
      h("span", { class: "sub" }, " each strip has its own scale and names its peak"),
    ),
    band.strips.map((strip) => {
      const high = most(strip.values) || 1;
      return h(
        "div",
        { class: "band strip" },
        h(
          "div",
          { class: "band-plot" },
          h(
            "svg",
            {
              class: ["plot", strip.kind],
              viewBox: "0 0 1000 20",
              preserveAspectRatio: "none",
              "aria-hidden": "true",
            },
            h("path", { class: "fill", d: areaPath(strip.values, high * 1.05, 20) }),
          ),
          overlay(axis),
        ),
        h(
          "dl",
          { class: "band-read" },
          h("dt", {}, h("a", { class: "num", href: strip.href }, strip.name)),
          h("dd", {}, h("b", {}, readAt(strip.values, rate, axis))),
          h("dd", { class: "peak" }, h("span", { class: "sub" }, `peak ${rate(most(strip.values))}`)),
        ),
      );
    }),
  ];
}

/** Gaps, what happened, and the cursor, over each plot. */
const overlay = ({ gaps, marks, place, cursor, points }) => [
  gaps.map((gap) =>
    h("span", {
      class: "gap",
      css: { left: `${place(gap.since)}%`, width: `${Math.max(0.4, place(gap.until) - place(gap.since))}%` },
    }),
  ),
  marks.map((one) => h("span", { class: ["event", one.kind], css: { left: `${place(one.at)}%` } })),
  cursor !== null &&
    h("span", { class: "cursor", css: { left: `${(cursor / Math.max(1, points - 1)) * 100}%` } }),
];

const LABEL_SHARE = 24; // of the axis: so far apart two labels in two lines do not touch

/** What happened close together has one label, that of the latest: the lines below show each, the changes name them. */
function foldEvents(told, place) {
  const groups = [];
  for (const one of told) {
    const latest = groups.at(-1);
    if (latest && place(one.at) - place(latest[0].at) < LABEL_SHARE) latest.push(one);
    else groups.push([one]);
  }
  return groups.map((group) => ({
    ...group.at(-1),
    text: group.length > 1 ? `${group.at(-1).text}, and ${group.length - 1} before` : group[0].text,
  }));
}

function eventsBand({ marks, gaps, place }) {
  const told = foldEvents(
    [...marks, ...gaps.map((gap) => ({ at: gap.since, text: gap.text, kind: "none" }))].sort(
      (a, b) => a.at - b.at,
    ),
    place,
  );
  if (!told.length) return null;
  const side = (t) => (place(t) > 66 ? { right: `${100 - place(t)}%` } : { left: `${place(t)}%` });
  return h(
    "div",
    { class: "band events" },
    h(
      "ul",
      { class: "band-plot" },
      told.map((one) => h("li", { class: one.kind, css: side(one.at) }, one.text)),
    ),
    h("div", { class: "band-read" }),
  );
}

function axisBand({ from, until, place }) {
  const span = until - from,
    every =
      [10, 20, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400].find((s) => span / s <= 8) ??
      30 * 86_400;
  const ticks = [];
  for (let t = Math.ceil(from / every) * every; t <= until - span * 0.02; t += every) ticks.push(t);
  return h(
    "div",
    { class: "band axis" },
    h(
      "div",
      { class: "band-plot", "aria-hidden": "true" },
      ticks.map((t) =>
        h(
          "span",
          { css: { left: `${place(t)}%` } },
          span > 2 * 86_400 ? moment(t, until).slice(0, 5) : clock(t, every < 60),
        ),
      ),
    ),
    h("div", { class: "band-read" }),
  );
}

function onKey(event, ctx, { points }, state) {
  if (event.target !== event.currentTarget) return;
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -15, PageDown: 15 }[event.key];
  if (step) state.cursor = Math.max(0, Math.min(points - 1, (state.cursor ?? points - 1) + step));
  else if (event.key === "Escape" && state.cursor !== null && state.cursor !== undefined) {
    state.cursor = null;
    event.stopPropagation();
  } else return;
  event.preventDefault();
  ctx.redraw();
}

const ROWS = 12;
function asRows(list, { points, step_s, from, until }, label) {
  const columns = list.flatMap((band) =>
    band.strips
      ? band.strips.map((strip) => [strip.name, strip.values, rate])
      : band.lines.map((line) => [`${band.title}: ${line.name}`, line.values, band.show]),
  );
  const each = points / ROWS;
  const row = (n) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, moment(from + n * each * step_s, until)),
      columns.map(([, values, show]) => {
        const value = mean(values.slice(Math.floor(n * each), Math.ceil((n + 1) * each)));
        return h("td", { class: "right" }, value === null ? "no data" : show(value));
      }),
    );
  return h(
    "div",
    { key: "rows", class: "table-box scroll", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      { class: "grid plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "from"),
          columns.map(([name]) => h("th", { scope: "col", class: "right" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        Array.from({ length: ROWS }, (_, n) => row(n)),
      ),
    ),
  );
}
