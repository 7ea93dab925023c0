// Hosts of a job: which one holds it up, and why?
import { pathOf } from "../api.js";
import { bullet } from "../charts.js";
import { h } from "../dom.js";
import { count, duration, ms, plural, rate, rateOf, share } from "../format.js";
import { mark, noMark } from "../marks.js";
import { jobHref } from "../places.js";
import { freeze, noMatch, pager, table } from "../table.js";
import { blank, head, hostName, num, search, segments, select, skeleton, sub, tag } from "../ui.js";
import { hostSheet } from "./host.js";
import { apiOf, crumbsOf, until } from "./shared.js";

/** Why a host is asked as often as it is. */
export const WHYS = {
  adaptive: "follows its answers",
  robots: "robots.txt asks for it",
  set: "as set",
  pace: "refused faster requests",
  retry_after: "asked for time",
  backoff: "backs off",
  down: "is silent",
  hold: "is on hold",
  skipped: "is skipped",
  budget: "its budget is spent",
};
export const KIND_OF = {
  skipped: "info",
  retry_after: "held",
  backoff: "held",
  hold: "held",
  budget: "held",
  down: "dead",
};
const FILTERS = ["only", "why", "q"];
const question = (ctx) =>
  pathOf(
    apiOf(ctx, "/hosts"),
    Object.fromEntries([...FILTERS, "sort", "order", "cursor"].map((name) => [name, ctx.query[name]])),
  );
/** How bad a share of successes is; unknown is not bad. */
const successKind = (part) => (part === null || part >= 0.95 ? "" : part < 0.5 ? "is-dead" : "is-held");
const isHeld = (one, now) => one.hold_until > now;

function delayCell(one, now) {
  const kind = KIND_OF[one.why];
  return h(
    "span",
    { class: "delay" },
    h("span", {}, isHeld(one, now) ? "held" : duration(one.delay_s)),
    h(
      "span",
      {
        class: ["sub", kind === "held" && "is-held", kind === "dead" && "is-dead"],
        title: one.why_text,
      },
      one.why_text ?? WHYS[one.why] ?? one.why,
    ),
  );
}

function usedCell(one) {
  if (!one.allowed_per_s) return sub("not asked now");
  return h(
    "span",
    { class: "mem used" },
    bullet(
      one.started_per_s ?? 0,
      one.allowed_per_s,
      `${rate(one.started_per_s ?? 0)} of ${rate(one.allowed_per_s)}`,
    ),
    h("span", {}, rateOf(one.started_per_s ?? 0, one.allowed_per_s)),
  );
}

function columns(ctx, rows) {
  const now = ctx.now(),
    ledger = (one, query) => jobHref(ctx.job, "/attempts", { host: one.host, ...query });
  const all = [
    {
      key: "host",
      label: "Host",
      p: 1,
      sort: "host",
      cell: (one) =>
        h(
          "span",
          { class: "name" },
          KIND_OF[one.why] ? mark(KIND_OF[one.why], WHYS[one.why]) : noMark(),
          h("span", { class: "ell" }, hostName(one.host, 38)),
        ),
    },
    {
      key: "pending",
      label: "Pending",
      right: true,
      p: 2,
      sort: "pending",
      cell: (one) => count(one.pending),
    },
    { key: "used", label: "Asked of allowed", p: 3, sort: "used", cell: usedCell },
    {
      key: "delay",
      label: "Delay in force, and why",
      short: "Delay",
      p: 2,
      phone: "wide",
      sort: "delay",
      cell: (one) => delayCell(one, now),
    },
    {
      key: "next",
      label: "Next turn",
      right: true,
      p: 3,
      cell: (one) =>
        isHeld(one, now)
          ? h("span", { class: "is-held" }, until(ctx, one.hold_until))
          : one.in_flight >= (one.per_host ?? Infinity)
            ? sub("in flight")
            : until(ctx, one.next_at),
    },
    {
      key: "success",
      label: "Success",
      right: true,
      p: 3,
      sort: "success",
      cell: (one) => num(ledger(one, {}), h("span", { class: successKind(one.success) }, share(one.success))),
    },
    {
      key: "p95",
      known: "p50_s",
      label: "p50 / p95",
      right: true,
      p: 4,
      cell: (one) =>
        one.p50_s ? h("span", { class: "n" }, `${count(one.p50_s * 1000)} / ${ms(one.p95_s)}`) : sub("–"),
    },
    {
      key: "rung",
      label: "Rung",
      p: 4,
      cell: (one) =>
        !one.rung || one.rung === "http"
          ? sub("http")
          : tag(one.rung, one.rung.startsWith("gateway") ? "held" : "act"),
    },
    {
      key: "empties",
      label: "Empty in",
      right: true,
      p: 2,
      sort: "empties",
      cell: (one) =>
        one.empties_s === null || one.empties_s === undefined
          ? sub(isHeld(one, now) ? "held" : "–")
          : h("span", {}, duration(one.empties_s)),
    },
    {
      key: "dead",
      known: "dead",
      label: "Dead",
      right: true,
      p: 4,
      cell: (one) =>
        one.dead ? num(jobHref(ctx.job, "/dead", { host: one.host }), count(one.dead)) : sub("0"),
    },
  ];
  // What nobody counts for a whole list has no column.
  return all.filter(({ known }) => !known || rows.some((one) => one[known] !== null));
}

const ONLY = [
  ["work", "With work"],
  ["held", "Held"],
  ["slow", "Need > 1 h"],
  ["rung", "Higher rung"],
];
const filters = (ctx, data) =>
  h(
    "div",
    { key: "filters", class: "filters" },
    search("Part of a host’s name", ctx.query.q, (q) => ctx.set({ q, cursor: null })),
    segments(
      "Which hosts",
      ONLY.filter(([value]) => !data || data.totals[value] !== null).map(([value, label]) => [
        value,
        label,
        data?.totals?.[value],
      ]),
      ctx.query.only ?? "work",
      (only) => ctx.set({ only: only === "work" ? null : only, cursor: null }),
    ),
    select([["", "any reason of the delay"], ...Object.entries(WHYS)], ctx.query.why, {
      "aria-label": "Reason of the delay",
      onchange: (event) => ctx.set({ why: event.target.value, cursor: null }),
    }),
  );

function list(ctx, data) {
  const { rows, newer, at, again } = freeze(ctx, "hosts", data.hosts, (one) => one.host),
    { sort = "pending", order = "down" } = ctx.query;
  if (!rows.length && !FILTERS.some((name) => ctx.query[name]))
    return blank({ title: "No host with work.", text: "The first one shows with the first seed." });
  const choose = (by) =>
    ctx.set({
      sort: by === "pending" ? null : by,
      order: by === sort && order === "down" ? "up" : null,
      cursor: null,
    });
  return table({
    id: "hosts",
    label: "Hosts",
    columns: columns(ctx, rows),
    rows,
    idOf: (one) => one.host,
    sort: { by: sort, order, choose },
    newer,
    order: { at, again },
    open: (one) => ctx.set({ host: one.host }),
    chosen: ctx.query.host,
    empty: noMatch(ctx, "No host is like that.", FILTERS),
    foot:
      data.next_cursor || ctx.query.cursor
        ? pager(ctx, {
            shown: rows.length,
            total: data.total,
            isAtLeast: data.total_is_at_least,
            what: "hosts",
            next: data.next_cursor,
          })
        : `${data.total > rows.length ? `${count(rows.length)} of ` : ""}${plural(Math.max(rows.length, data.total ?? 0), "host")}. “Empty in” is pending by what the host allows.`,
  });
}

export const hosts = {
  title: () => "Hosts",
  crumbs: (ctx) => crumbsOf(ctx, "Hosts"),
  needs: (ctx) => [
    {
      name: "hosts",
      path: question(ctx),
      topic: ctx.query.cursor
        ? null
        : `hosts:${encodeURIComponent(ctx.job)}${question(ctx).includes("?") ? `:${question(ctx).split("?")[1]}` : ""}`,
      every: 5,
      keep: true,
    },
    ctx.query.host && {
      name: "host",
      path: apiOf(ctx, `/hosts/${encodeURIComponent(ctx.query.host)}`),
      every: 5,
    },
  ],
  sideId: (ctx) => ctx.query.host,
  side: (ctx) => ctx.query.host && hostSheet(ctx, ctx.memory["rows-hosts"]?.order ?? [], ctx.query.host),
  draw: (ctx) => {
    const data = ctx.data("hosts"),
      [first, second] = data?.say ?? ["Hosts", ""];
    return [
      head({ answer: first, say: second }),
      filters(ctx, data),
      ctx.show("hosts", (found) => list(ctx, found), { waiting: skeleton("table", 14), what: "The hosts" }),
    ];
  },
};
