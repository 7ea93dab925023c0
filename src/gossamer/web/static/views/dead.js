// Dead letters: what was given up, and what shall become of it?
import { pathOf } from "../api.js";
import { h } from "../dom.js";
import { ago, count } from "../format.js";
import { freeze, noMatch, pager, pickColumn, picks, table } from "../table.js";
import { blank, button, foreign, head, search, segments, select, skeleton, sub, tag, url } from "../ui.js";
import { dropLetters, editLetters, retryLetters } from "./dead_actions.js";
import { letterSheet } from "./letter.js";
import { apiOf, crumbsOf } from "./shared.js";
import { actButton } from "../actions.js";

const FILTERS = ["reason", "host", "older_than", "q"];
const DAY_S = 86_400;
const idOf = (letter) => String(letter.id);
/** The filter of the address, as the server takes it: for lists, and for what is done to all that match. */
export const filterOf = (ctx) =>
  Object.fromEntries(FILTERS.filter((name) => ctx.query[name]).map((name) => [name, ctx.query[name]]));
/** The same for what is done to all that match: there, an age is a number. */
function meantBy(ctx) {
  const filter = filterOf(ctx);
  return filter.older_than ? { ...filter, older_than: Number(filter.older_than) } : filter;
}
const question = (ctx) => pathOf(apiOf(ctx, "/dead"), { ...filterOf(ctx), cursor: ctx.query.cursor });

/** Whether there is none at all: then there is nothing to choose from. */
const isEmpty = (ctx, data) => data?.letters.length === 0 && !Object.keys(filterOf(ctx)).length;

const columns = (ctx) => [
  { key: "url", label: "URL", p: 1, cell: (letter) => url(letter.url, { max: 400, plain: true }) },
  {
    key: "reason",
    label: "Reason",
    p: 2,
    cell: (letter) =>
      tag(letter.reason, ["callback", "server", "parse"].includes(letter.reason) ? "dead" : ""),
  },
  { key: "tries", label: "Tries", right: true, p: 3, cell: (letter) => count(letter.attempts) },
  {
    key: "callback",
    label: "Callback",
    p: 4,
    cell: (letter) => h("code", {}, foreign(letter.callback ?? "parse", { max: 30 })),
  },
  { key: "died", label: "Given up", right: true, p: 2, cell: (letter) => ago(ctx.now() - letter.died_at) },
  { key: "id", label: "Number", right: true, p: 4, cell: (letter) => sub(count(letter.id)) },
];

function filters(ctx, data) {
  const reasons = Object.entries(data?.by_reason ?? {}).sort((a, b) => b[1] - a[1]),
    all = reasons.reduce((sum, [, n]) => sum + n, 0),
    few = reasons.slice(0, 4);
  const named =
    ctx.query.reason && !few.some(([reason]) => reason === ctx.query.reason)
      ? [[ctx.query.reason, null]]
      : [];
  return h(
    "div",
    { key: "filters", class: "filters" },
    segments(
      "Reason",
      [["", "All", data ? all : null], ...[...few, ...named].map(([reason, n]) => [reason, reason, n])],
      ctx.query.reason ?? "",
      (reason) => ctx.set({ reason, cursor: null }),
    ),
    search("Part of a URL", ctx.query.q, (q) => ctx.set({ q, cursor: null })),
    search("A host", ctx.query.host, (host) => ctx.set({ host, cursor: null })),
    select(
      [
        ["", "any age"],
        [String(3600), "older than 1 hour"],
        [String(DAY_S), "older than 1 day"],
        [String(7 * DAY_S), "older than 7 days"],
      ],
      ctx.query.older_than,
      { "aria-label": "Age", onchange: (event) => ctx.set({ older_than: event.target.value, cursor: null }) },
    ),
  );
}

/** What is done with those that are picked: the buttons say how many, and are off where it is none. */
function bulk(ctx, data, state) {
  const total = data.total ?? null,
    many = state.all ? (total ?? 0) : state.ids.size;
  const which = {
    filter: state.all ? meantBy(ctx) : { ids: [...state.ids].map(Number) },
    count: many,
  };
  const pickAll = () => {
      state.all = true;
      state.ids.clear();
      ctx.redraw();
    },
    pickNone = () => {
      state.all = false;
      state.ids.clear();
      ctx.redraw();
    };
  const off = { disabled: !many };
  return h(
    "div",
    { key: "bulk", class: ["bulk", !many && "idle"], role: "group", "aria-label": "What to do with dead letters" },
    h(
      "span",
      { role: "status" },
      many
        ? [
            h("b", {}, `${count(many)} picked`),
            state.all ? ": all that match, on every page" : " on this page",
          ]
        : ["None picked. ", sub("x picks a row.")],
    ),
    !state.all &&
      total > 0 &&
      !ctx.query.q &&
      button(`Pick all ${count(total)} that match`, pickAll, { kind: "quiet" }),
    many > 0 && button("Pick none", pickNone, { kind: "quiet" }),
    h(
      "div",
      { class: "ways" },
      actButton(ctx, many ? `Retry ${count(many)}` : "Retry", () => retryLetters(ctx, which), {
        ...off,
        key: "r",
      }),
      actButton(ctx, "Edit and retry…", () => editLetters(ctx, which), { ...off, key: "e" }),
      actButton(ctx, many ? `Drop ${count(many)}…` : "Drop…", () => dropLetters(ctx, which), {
        ...off,
        kind: "grave",
      }),
    ),
  );
}

function list(ctx, data) {
  const asked = question(ctx),
    { rows, newer, at, again } = freeze(ctx, "dead", data.letters, idOf),
    state = picks(ctx, asked);
  if (!rows.length && isEmpty(ctx, data))
    return blank({
      title: "No dead letters.",
      text: "A request that fails for good, or too often, waits here for you. Nothing has.",
    });
  return [
    bulk(ctx, data, state),
    table({
      id: "dead",
      label: "Dead letters",
      columns: columns(ctx),
      rows,
      idOf,
      pick: pickColumn(ctx, state, rows, idOf, (letter) => `Pick letter ${count(letter.id)}`),
      newer,
      order: { at, again },
      open: (letter) => ctx.set({ id: idOf(letter) }),
      chosen: ctx.query.id,
      empty: noMatch(ctx, "No dead letter is like that.", FILTERS, { next: data.next_cursor }),
      foot: pager(ctx, {
        shown: rows.length,
        total: data.total,
        isAtLeast: data.total_is_at_least,
        what: "dead letters, latest first",
        next: data.next_cursor,
      }),
    }),
  ];
}

const answerOf = (data) =>
  data.say ??
  (data.total
    ? [
        `${count(data.total)} ${data.total === 1 ? "request was" : "requests were"} given up.`,
        "They wait for you: retry those whose cause is gone, drop the rest. None is fetched again before.",
      ]
    : ["No request was given up.", ""]);

export const dead = {
  title: () => "Dead letters",
  crumbs: (ctx) => crumbsOf(ctx, "Dead letters"),
  needs: (ctx) => [
    { name: "dead", path: question(ctx), every: ctx.query.cursor ? 0 : 5, keep: true },
    ctx.query.id && { name: "letter", path: apiOf(ctx, `/dead/${encodeURIComponent(ctx.query.id)}`) },
  ],
  sideId: (ctx) => ctx.query.id,
  side: (ctx) => ctx.query.id && letterSheet(ctx, ctx.memory["rows-dead"]?.order ?? [], ctx.query.id),
  draw: (ctx) => {
    const data = ctx.data("dead"),
      [first, second] = data ? answerOf(data) : ["Dead letters", ""];
    return [
      head({ answer: first, say: second }),
      isEmpty(ctx, data) ? null : filters(ctx, data),
      ctx.show("dead", (found) => list(ctx, found), {
        waiting: skeleton("table", 14),
        what: "The dead letters",
      }),
    ];
  },
};
