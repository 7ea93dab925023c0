// A heat map is a table whose cells lead to their rows. Its steps never change: a colour means the same on every day.
import { h } from "./dom.js";
import { count, cut, share, short } from "./format.js";
import { foreign } from "./ui.js";

const STEPS = [0.01, 0.05, 0.2, 0.5];
const FEW = 10; // attempts: their share says little, so they are never dark
const NAMES = ["none", "to 1%", "to 5%", "to 20%", "to 50%", "more"];

/** The step of a cell by the share that failed. */
export function stepOf(failed, attempts) {
  if (!failed || !attempts) return 0;
  const step = 1 + STEPS.filter((limit) => failed / attempts > limit).length;
  return attempts < FEW ? Math.min(step, 2) : step;
}

/** `rows`: {name, cells: [[failed, attempts], …], total}; `columns`: the hours as two digits. */
export function heatmap(ctx, { rows, columns, label, what, href, state }) {
  const [x, y] = state.cell ?? [0, 0];
  const point = (column, row) => () => {
    state.cell = [column, row];
    state.isRead = true;
    ctx.redraw();
  };
  const cellOf = (row, column, at) => {
    const [failed, attempts] = row.cells[column],
      figure = failed >= 100 ? short(failed) : "";
    const name = `${figure && `${figure} failed, `}${row.name}, ${columns[column]}:00, ${count(failed)} of ${count(attempts)} attempts`;
    return h(
      "td",
      {},
      h(
        "a",
        {
          class: `cell heat-${stepOf(failed, attempts)}`,
          href: href(row, column),
          tabindex: column === x && at === y ? "0" : "-1",
          "data-x": column,
          "data-y": at,
          "aria-label": name,
          onpointerenter: point(column, at),
          onfocus: point(column, at),
        },
        figure,
      ),
    );
  };
  const grid = h(
    "table",
    { class: "heat", "aria-label": label, onkeydown: walk, made: showNewest },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, what),
        columns.map((hour, n) => h("th", { scope: "col", class: n % 3 ? "minor" : "" }, h("span", {}, hour))),
        h("th", { scope: "col" }, "24 h"),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row, at) =>
        h(
          "tr",
          { key: row.name },
          h("th", { scope: "row", title: cut(row.name, 600) }, foreign(row.name, { max: 30 })),
          columns.map((_, column) => cellOf(row, column, at)),
          h("td", { class: "right total" }, count(row.total)),
        ),
      ),
    ),
  );
  return h(
    "div",
    { key: "heat", class: "heat-box" },
    reading(state.isRead && rows[y] ? rows[y] : null, columns, x),
    h("div", { class: "table-box scroll", tabindex: "0", role: "region", "aria-label": label }, grid),
    scale(),
  );
}

function reading(row, columns, x) {
  const [failed, attempts] = row?.cells[x] ?? [0, 0];
  return h(
    "output",
    { class: "heat-read", "aria-live": "polite" },
    row
      ? [
          h("b", {}, foreign(row.name, { max: 48 })),
          `, ${columns[x]}:00 – ${columns[x]}:59: `,
          h("b", {}, count(failed)),
          ` of ${count(attempts)} attempts failed`,
          attempts > 0 && ` (${share(failed / attempts)})`,
        ]
      : h(
          "span",
          { class: "sub" },
          "Point at a cell, or walk with the arrow keys. A cell leads to its attempts.",
        ),
  );
}

const scale = () =>
  h(
    "p",
    { class: "heat-scale" },
    h("span", { class: "sub" }, "share of the hour’s attempts that failed"),
    NAMES.map((name, step) => h("span", { class: `cell heat-${step}` }, name)),
    h("span", { class: "sub" }, " figures: failures, where 100 or more"),
  );

function walk(event) {
  const cell = event.target.closest("a.cell"),
    go = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!cell || !go) return;
  event.preventDefault();
  event.currentTarget
    .querySelector(
      `a[data-x="${Number(cell.dataset.x) + go[0]}"][data-y="${Number(cell.dataset.y) + go[1]}"]`,
    )
    ?.focus();
}

/** The newest hour is seen first where it is narrow. */
const showNewest = (grid) =>
  requestAnimationFrame(() => {
    if (grid.parentElement) grid.parentElement.scrollLeft = grid.parentElement.scrollWidth;
  });
