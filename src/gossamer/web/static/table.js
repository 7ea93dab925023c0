// Tables. Values change in place; which rows there are, and their order, changes only when a person asks.
import { h } from "./dom.js";
import { clock, count } from "./format.js";
import { mark } from "./marks.js";
import { blank, button } from "./ui.js";

/**
 * The rows as they were first shown, with the values of now.
 *
 * `name` is that of the part with the rows: an answer to another question is another order. While that is asked, the
 * rows are still those of the former one. A row that is gone keeps its last values, new ones are counted.
 * `frozen.again()` takes the order of now.
 */
export function freeze(ctx, name, rows, idOf) {
  const kept = ctx.memory[`rows-${name}`],
    question = ctx.part(name).answers;
  const fresh = () => ({
    question,
    at: ctx.now(),
    order: rows.map(idOf),
    last: new Map(rows.map((row) => [idOf(row), row])),
  });
  const isThawing = Date.now() < (ctx.memory[`thaw-${name}`] ?? 0);
  const state = kept?.question === question && !isThawing ? kept : fresh();
  ctx.memory[`rows-${name}`] = state;
  let newer = 0;
  for (const row of rows) {
    const id = idOf(row);
    if (state.last.has(id)) state.last.set(id, row);
    else newer += 1;
  }
  const again = () => {
    delete ctx.memory[`rows-${name}`];
    ctx.again();
  };
  return { rows: state.order.map((id) => state.last.get(id)), newer, at: state.at, again };
}

/** Whoever has done something to rows wants to see what became of them: for a moment they are as they are. */
export function thaw(ctx, name) {
  ctx.memory[`thaw-${name}`] = Date.now() + THAW_MS;
  ctx.redraw();
}
const THAW_MS = 4000;

/**
 * columns: {key, label, cell(row), right, p, phone, sort}. `p`: 1 names the row, 2 stays on a phone, 3 and 4 go when
 * it is narrow. `sort` is the name that the server sorts by. `order` is from `freeze`, where rows come and go.
 */
export function table({
  id,
  label,
  columns,
  rows,
  idOf,
  href,
  open,
  chosen,
  pick,
  sort,
  foot,
  order,
  newer = 0,
  before,
  empty,
  go,
}) {
  if (!rows.length) return empty ?? h("p", { class: "none" }, "Nothing here.");
  const opens = open || href;
  const enter = (row) => (open ? open(row) : go(href(row)));
  const body = rows.flatMap((row, at) => {
    const name = String(idOf(row));
    const props = {
      key: `r-${name}`,
      role: "row",
      class: [opens && "opens", chosen === name && "chosen"],
      "data-row": at,
      "data-id": name,
    };
    if (opens)
      Object.assign(props, {
        tabindex: at === 0 ? "0" : "-1",
        onclick: (event) => onRowClick(event, () => enter(row)),
        onkeydown: (event) => onRowEnter(event, () => enter(row)),
      });
    return [
      before?.(row, at),
      h(
        "tr",
        props,
        pick && h("td", { role: "cell", class: "c-pick" }, pick.cell(row)),
        columns.map((column, n) => cell(column, row, n)),
      ),
    ];
  });
  return h(
    "div",
    { key: `table-${id}`, class: "table-box" },
    // Roles are written out, since a narrow table is laid out as blocks and must stay a table for those who hear it.
    h(
      "table",
      { role: "table", class: ["grid", `grid-${id}`], "aria-label": label, onkeydown: walk },
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          pick && h("th", { scope: "col", role: "columnheader", class: "c-pick" }, pick.head()),
          columns.map((column) => heading(column, sort)),
        ),
      ),
      h("tbody", { role: "rowgroup" }, body),
    ),
    (foot || order) &&
      h("div", { class: "table-foot" }, foot && h("p", {}, foot), order && orderFoot(order, newer)),
  );
}

function cell(column, row, n) {
  const props = {
    role: n === 0 ? "rowheader" : "cell",
    class: [`p${column.p ?? 2}`, column.right && "right", column.phone, `c-${column.key}`],
    "data-label": column.short ?? column.label,
  };
  return h(n === 0 ? "th" : "td", n === 0 ? { scope: "row", ...props } : props, column.cell(row));
}

function heading(column, sort) {
  const isOn = sort && sort.by === column.sort && column.sort !== undefined;
  const title = column.label || h("span", { class: "visually-hidden" }, "What can be done");
  return h(
    "th",
    {
      scope: "col",
      role: "columnheader",
      class: [`p${column.p ?? 2}`, column.right && "right", `c-${column.key}`],
      "aria-sort": isOn ? (sort.order === "up" ? "ascending" : "descending") : null,
    },
    sort && column.sort
      ? h(
          "button",
          { type: "button", class: "sort", onclick: () => sort.choose(column.sort) },
          title,
          isOn && mark(sort.order === "up" ? "up" : "down"),
        )
      : title,
  );
}

const orderFoot = ({ at, again }, newer) =>
  h(
    "p",
    { class: "order" },
    `order of ${clock(at)}`,
    newer > 0 && h("span", { class: "newer" }, `${count(newer)} newer`),
    button(newer > 0 ? "Show them" : "Sort again", again, { kind: "quiet", key: "s" }),
  );

/** The whole row opens; its links and buttons do what they say, and its text can be selected. */
function onRowClick(event, enter) {
  if (event.target.closest("a,button,input,label,select") || window.getSelection().toString()) return;
  enter();
}
function onRowEnter(event, enter) {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  event.preventDefault();
  enter();
}

/** j, k and the arrows walk over rows; x picks one. Rows have one tab stop together. */
function walk(event) {
  const row = event.target.closest("tr[data-row]");
  if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (event.key === "x") row.querySelector("input[type=checkbox]")?.click();
  if (!step) return;
  event.preventDefault();
  const all = [...row.parentNode.querySelectorAll("tr[data-row]")],
    to = all[all.indexOf(row) + step];
  if (!to) return;
  row.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

/**
 * "1–50 of 1,312 dead letters, latest first", with the way to the next ones. A cursor leads on; where each part begins,
 * and which one was before it, is remembered for as long as the view is shown.
 */
export function pager(ctx, { shown, total, isAtLeast, what, next }) {
  const cursor = ctx.query.cursor ?? "",
    places = (ctx.memory.places ??= {}),
    here = cursor ? places[cursor] : { from: 0 };
  const of =
    total === null || total === undefined ? "" : ` of ${isAtLeast ? "more than " : ""}${count(total)}`;
  const place =
    here && shown ? `${count(here.from + 1)}–${count(here.from + shown)}${of}` : `${count(shown)}${of}`;
  const forward = () => {
    if (here) places[next] = { from: here.from + shown, before: cursor };
    ctx.set({ cursor: next, id: null });
  };
  const back = () => ctx.set({ cursor: here?.before || null, id: null });
  const step = (label, act, isOff, kids) =>
    h(
      "button",
      { key: label, type: "button", class: "btn quiet", disabled: isOff || null, onclick: act },
      kids,
    );
  return h(
    "span",
    { class: "pager" },
    h("span", {}, `${place} ${what}`),
    (cursor || next) && [
      step("back", back, !cursor, [mark("back"), h("span", {}, here ? "Previous" : "First")]),
      step("next", forward, !next, [h("span", {}, "Next"), mark("next")]),
    ],
  );
}

/**
 * What is said where nothing matches, with the button that shows all. The server looks for a bounded time: `next` is
 * where it would go on looking.
 */
export function noMatch(ctx, title, filters, { text, next } = {}) {
  const none = Object.fromEntries(filters.map((name) => [name, null]));
  return blank({
    small: true,
    title: next ? "Nothing like that so far." : title,
    text: next ? "The list is long, and only a part of it was looked at." : text,
    ways: [
      next && button("Go on looking", () => ctx.set({ cursor: next, id: null }), { kind: "main" }),
      button("Show all", () => ctx.set({ ...none, cursor: null })),
    ],
  });
}

/** Which rows of a list are picked: kept for as long as the list has the same filters. */
export function picks(ctx, question) {
  const kept = ctx.memory.picks;
  const state = kept?.question === question ? kept : { question, ids: new Set(), all: false };
  ctx.memory.picks = state;
  return state;
}

export function pickColumn(ctx, state, rows, idOf, labelOf) {
  const isPicked = (row) => state.all || state.ids.has(idOf(row));
  const flip = (row, yes) => {
    state.all = false;
    if (yes) state.ids.add(idOf(row));
    else state.ids.delete(idOf(row));
  };
  const some = rows.filter(isPicked).length;
  return {
    head: () =>
      h("input", {
        type: "checkbox",
        "aria-label": "Pick all on this page",
        checked: some === rows.length && some > 0,
        indeterminate: some > 0 && some < rows.length,
        onchange: (event) => {
          rows.forEach((row) => flip(row, event.target.checked));
          ctx.redraw();
        },
      }),
    cell: (row) =>
      h("input", {
        type: "checkbox",
        "aria-label": labelOf(row),
        checked: isPicked(row),
        onchange: (event) => {
          flip(row, event.target.checked);
          ctx.redraw();
        },
      }),
  };
}
