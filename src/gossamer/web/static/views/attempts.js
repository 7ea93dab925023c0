// Attempts: the ledger of a job. It is what stands behind every number.
import { pathOf } from "../api.js";
import { h } from "../dom.js";
import { count, ms, size } from "../format.js";
import { freeze, noMatch, pager, table } from "../table.js";
import { blank, button, foreign, head, lifeHref, search, select, skeleton, sub, url } from "../ui.js";
import { apiOf, crumbsOf, RUNGS, STATUS_KINDS, statusText, VERDICTS, verdictTag, when } from "./shared.js";

const FILTERS = [
  "url",
  "host",
  "verdict",
  "reason",
  "status",
  "rung",
  "proxy",
  "worker",
  "flag",
  "from",
  "to",
];
const question = (ctx) =>
  pathOf(
    apiOf(ctx, "/attempts"),
    Object.fromEntries([...FILTERS, "cursor"].map((name) => [name, ctx.query[name]])),
  );
const idOf = (one) => String(one.id);

const columns = (ctx) => [
  { key: "url", label: "URL", p: 1, cell: (one) => url(one.url, { max: 400, job: ctx.job }) },
  { key: "at", label: "At", p: 2, cell: (one) => when(ctx, one.at) },
  { key: "n", label: "Try", right: true, p: 3, cell: (one) => count(one.attempt) },
  { key: "status", label: "Status", right: true, p: 2, cell: (one) => statusText(one.status) },
  { key: "verdict", label: "Verdict", p: 2, cell: (one) => verdictTag(one.verdict) },
  {
    key: "reason",
    label: "Reason",
    p: 2,
    phone: "wide",
    cell: (one) => one.reason && foreign(one.reason, { max: 40 }),
  },
  {
    key: "ms",
    label: "Time",
    right: true,
    p: 2,
    cell: (one) => (one.elapsed_ms ? ms(one.elapsed_ms / 1000) : sub("–")),
  },
  {
    key: "bytes",
    label: "Size",
    right: true,
    p: 4,
    cell: (one) => (one.size_bytes ? size(one.size_bytes) : sub("–")),
  },
  { key: "rung", label: "Rung", p: 4, cell: (one) => sub(one.rung) },
  { key: "worker", label: "Worker", p: 4, cell: (one) => sub(foreign(one.worker, { max: 24 })) },
];

/** "status 503": what narrows the list, each of them with its value. */
function told(ctx) {
  const set = FILTERS.filter((name) => ctx.query[name]);
  if (!set.length) return null;
  return [
    set.map((name) => [
      h(
        "span",
        { class: "tag act" },
        name,
        " ",
        /^(from|to)$/.test(name) ? when(ctx, Number(ctx.query[name])) : foreign(ctx.query[name], { max: 60 }),
      ),
      " ",
    ]),
    button(
      "Without filters",
      () => ctx.set({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), cursor: null }),
      { kind: "quiet" },
    ),
  ];
}

const filters = (ctx) =>
  h(
    "div",
    { key: "filters", class: "filters" },
    search("A host", ctx.query.host, (host) => ctx.set({ host, cursor: null })),
    select([["", "any verdict"], ...VERDICTS], ctx.query.verdict, {
      "aria-label": "Verdict",
      onchange: (event) => ctx.set({ verdict: event.target.value, cursor: null }),
    }),
    select(
      [
        ["", "any status"],
        ...Object.keys(STATUS_KINDS),
        ...(/^\d+$/.test(ctx.query.status ?? "") ? [ctx.query.status] : []),
      ],
      ctx.query.status,
      { "aria-label": "Status", onchange: (event) => ctx.set({ status: event.target.value, cursor: null }) },
    ),
    select([["", "any rung"], ...RUNGS], ctx.query.rung, {
      "aria-label": "Rung",
      onchange: (event) => ctx.set({ rung: event.target.value, cursor: null }),
    }),
  );

function list(ctx, data) {
  const { rows, newer, at, again } = freeze(ctx, "attempts", data.attempts, idOf),
    isNarrowed = FILTERS.some((name) => ctx.query[name]);
  const nothing = isNarrowed
    ? noMatch(ctx, "No attempt is like that.", FILTERS, {
        text: "The ledger of this job has none with these filters.",
        next: data.next_cursor,
      })
    : blank({ small: true, title: "No attempt yet.", text: "Each try at fetching a page shows here." });
  return table({
    id: "attempts",
    label: "Attempts",
    columns: columns(ctx),
    rows,
    idOf,
    go: (href) => ctx.go(href),
    href: (one) => lifeHref(one.url, ctx.job),
    newer,
    order: { at, again },
    empty: nothing,
    foot: pager(ctx, {
      shown: rows.length,
      total: data.total,
      isAtLeast: data.total_is_at_least,
      what: "attempts, newest first",
      next: data.next_cursor,
    }),
  });
}

export const attempts = {
  title: () => "Attempts",
  crumbs: (ctx) => crumbsOf(ctx, "Attempts"),
  needs: (ctx) => [{ name: "attempts", path: question(ctx), every: ctx.query.cursor ? 0 : 5, keep: true }],
  draw: (ctx) => [
    head({
      answer: FILTERS.some((name) => ctx.query[name])
        ? "The attempts behind that number."
        : "Every try at fetching, newest first.",
      say: told(ctx),
    }),
    filters(ctx),
    ctx.show("attempts", (data) => list(ctx, data), { waiting: skeleton("table", 14), what: "The ledger" }),
  ],
};
