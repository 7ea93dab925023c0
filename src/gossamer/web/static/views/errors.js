// Errors: what goes wrong, since when, whose fault is it?
import { pathOf } from "../api.js";
import { bars } from "../charts.js";
import { h } from "../dom.js";
import { ago, count, cut, share } from "../format.js";
import { heatmap } from "../heatmap.js";
import { mark } from "../marks.js";
import { jobHref } from "../places.js";
import {
  blank,
  facts,
  foreign,
  head,
  linkButton,
  num,
  section,
  segments,
  skeleton,
  sub,
  url,
} from "../ui.js";
import { apiOf, crumbsOf, isTraceback, span, traceback } from "./shared.js";

const HOUR_S = 3600;
/** Words for a reason without its name, where the name stands beside them. */
const bare = (text, reason) => (text.endsWith(` (${reason})`) ? text.slice(0, -reason.length - 3) : text);
const titleOf = (group) => bare(group.title ?? group.reason, group.reason);
/** Where there is little room, what was chosen is below the list. */
const showDetail = () =>
  requestAnimationFrame(() => {
    if (window.innerWidth <= NARROW_PX)
      document.getElementById("h-group")?.closest("section").scrollIntoView({ block: "start" });
  });
const NARROW_PX = 760;
const kindOf = (group) => (group.dead > 0 ? "dead" : "held");

const line = (ctx, group, chosen, total) =>
  h(
    "button",
    {
      key: group.reason,
      type: "button",
      class: "group",
      "aria-pressed": String(group === chosen),
      onclick: () => {
        ctx.set({ group: group.reason });
        showDetail();
      },
    },
    mark(kindOf(group), kindOf(group) === "dead" ? "needs you" : "is being handled"),
    h(
      "span",
      {},
      h("b", { title: cut(titleOf(group), 600) }, foreign(titleOf(group), { max: 70 })),
      h(
        "span",
        { class: "sub" },
        `${group.reason}; ${group.hosts === 1 ? "1 host" : `${count(group.hosts)} hosts`}`,
      ),
    ),
    group.hours
      ? bars(group.hours, { label: `${titleOf(group)}: by hour`, kind: kindOf(group) })
      : h("span", {}),
    h(
      "span",
      { class: "n" },
      count(group.count),
      h(
        "span",
        { class: "sub" },
        group.dead ? `${count(group.dead)} dead` : share(total ? group.count / total : null),
      ),
    ),
  );

function detail(ctx, group) {
  const base = (end, query) => jobHref(ctx.job, end, query),
    samples = group.samples ?? [];
  return section(
    titleOf(group),
    { id: "group", meta: span(group.first_at, group.last_at) },
    group.advice && h("p", { class: "say" }, h("b", {}, foreign(group.advice, { max: 500 }))),
    h(
      "div",
      { class: "does ways" },
      group.dead > 0 &&
        linkButton(base("/dead", { reason: group.reason }), `See ${count(group.dead)} dead letters`),
      group.host && linkButton(base("/hosts", { host: group.host }), "See its host"),
      linkButton(base("/attempts", { reason: group.reason }), `See ${count(group.count)} attempts`),
    ),
    facts([
      ["Reason", h("code", {}, group.reason)],
      group.fate && ["Its requests are", group.fate],
      group.detail && [
        "What came",
        isTraceback(group.detail) ? traceback(group.detail) : foreign(group.detail, { max: 400 }),
      ],
    ]),
    samples.length > 0 && [
      h("h3", { class: "band-title" }, "Samples, the latest"),
      samples.map((one, i) =>
        h(
          "div",
          { key: `sample-${i}`, class: "sample" },
          url(one.url, { max: 84, job: ctx.job }),
          sub(
            `${one.status || "no answer"}, ${ago(ctx.now() - one.at)}`,
            one.detail && [": ", foreign(String(one.detail).trim().split("\n").at(-1), { max: 120 })],
          ),
        ),
      ),
    ],
  );
}

function groups(ctx, data) {
  const total = data.groups.reduce((sum, group) => sum + group.count, 0),
    chosen =
      data.groups.find((group) => group.reason === ctx.query.group) ??
      data.groups[0];
  return h(
    "div",
    { key: "groups", class: "cols one-two" },
    section(
      "By reason",
      { id: "reasons", meta: "most first" },
      h(
        "div",
        { class: "groups", role: "group", "aria-label": "Failures by reason, most first" },
        data.groups.map((group) => line(ctx, group, chosen, total)),
      ),
    ),
    detail(ctx, chosen),
  );
}

function leftOut(ctx, data) {
  const list = data.left_out ?? [];
  return (
    list.length > 0 &&
    section(
      "Left out on purpose",
      { id: "left-out", meta: "answers and rules, no failures" },
      h(
        "ul",
        { class: "left-out" },
        list.map((one) =>
          h(
            "li",
            { key: one.reason },
            h("span", {}, bare(one.text ?? one.reason, one.reason), " ", h("code", { class: "sub" }, one.reason)),
            num(
              one.is_attempt === false ? "" : jobHref(ctx.job, "/attempts", { reason: one.reason }),
              count(one.count),
            ),
          ),
        ),
      ),
    )
  );
}

function heat(ctx, data) {
  const by = ctx.query.by ?? "host",
    hours = data.hours.map((t) => String(new Date(t * 1000).getHours()).padStart(2, "0")),
    total = (row) => row.cells.reduce((sum, [failed]) => sum + failed, 0);
  if (!data.rows.length) return null;
  return heatmap(ctx, {
    rows: data.rows.map((row) => ({ ...row, total: total(row) })),
    columns: hours,
    what: by === "host" ? "Host" : "Proxy",
    label: `Failures by ${by} and hour`,
    state: (ctx.memory.heat ??= {}),
    href: (row, x) =>
      jobHref(ctx.job, "/attempts", {
        ...(row.is_rest ? {} : { [by]: row.name }),
        from: data.hours[x],
        to: data.hours[x] + HOUR_S,
      }),
  });
}

function draw(ctx, data) {
  const [first, second] = data.say,
    range = ctx.query.range ?? "all",
    by = ctx.query.by ?? "host";
  return [
    head({
      answer: first,
      say: second,
      does: segments(
        "How far back",
        [
          ["1h", "1 h"],
          ["24h", "24 h"],
          ["all", "whole job"],
        ],
        range,
        (value) => ctx.set({ range: value === "all" ? null : value }),
      ),
    }),
    data.groups.length
      ? groups(ctx, data)
      : blank({
          title: "Nothing failed.",
          text: "Pages that are gone (404, 410) and what robots.txt forbids are answers, not failures; they are counted under “Left out on purpose”.",
        }),
    data.groups.length > 0 &&
      ctx.part("heat") &&
      !(ctx.part("heat").error?.status === 404) &&
      section(
        "Failures by hour",
        {
          id: "heat",
          meta: (by === "proxy" || ctx.me?.has_proxies) && segments(
            "By what",
            [
              ["host", "by host"],
              ["proxy", "by proxy"],
            ],
            by,
            (value) => ctx.set({ by: value === "host" ? null : value }),
          ),
        },
        ctx.show("heat", (found) => heat(ctx, found), { waiting: skeleton("chart", 1), what: "The hours" }),
      ),
    leftOut(ctx, data),
  ];
}

export const errors = {
  title: () => "Errors",
  crumbs: (ctx) => crumbsOf(ctx, "Errors"),
  needs: (ctx) => [
    { name: "errors", path: pathOf(apiOf(ctx, "/errors"), { range: ctx.query.range }), every: 5, keep: true },
    {
      name: "heat",
      path: pathOf(apiOf(ctx, "/errors/heat"), { by: ctx.query.by ?? "host" }),
      every: 20,
      keep: true,
      optional: true,
    },
  ],
  draw: (ctx) =>
    ctx.whole("errors", "Errors", [skeleton("table", 10), skeleton("chart", 1)], (data) => draw(ctx, data)),
};
