// Quality of a job's items, field by field beside earlier jobs: what has become worse, and what was dropped.
import { h } from "../dom.js";
import { count, plural, share } from "../format.js";
import { mark, noMark } from "../marks.js";
import { jobHref } from "../places.js";
import { table } from "../table.js";
import { button, foreign, lifeHref, link, linkButton, num, section, sub, trouble, url } from "../ui.js";
import { apiOf, when } from "./shared.js";

const MOST = 12; // fields that are shown at first
const nameOf = (field) => `${field.type}.${field.field}`;

export const qualityNeed = (ctx) => ({
  name: "quality",
  path: apiOf(ctx, "/quality"),
  every: 30,
  keep: true,
  optional: true,
});

const kindOf = (data) => (data.accepted_at ? "held" : "dead"); // an alert, until a person accepts it

const findings = (ctx, data) =>
  data.findings.length > 0 &&
  h(
    "ul",
    { key: "findings", class: "troubles", "aria-label": "What has become worse" },
    data.findings.map((one) =>
      trouble({
        key: `${one.kind}-${one.field}`,
        kind: kindOf(data),
        text: one.text,
        since: one.since ? when(ctx, one.since, false) : "",
        ways: one.url ? [linkButton(lifeHref(one.url, ctx.job), "See its first page")] : [],
      }),
    ),
  );

/** How many have it: a bar, a line where it was in earlier jobs, and the share, which leads to those without. */
function filled(ctx, field, finding, kind) {
  const usual = field.usual_fill,
    before = usual === null ? "" : `, usually ${share(usual)}`;
  return h(
    "span",
    { class: "fill" },
    h(
      "span",
      {
        class: ["bullet", finding?.kind === "fill" ? kind : "calm"],
        role: "img",
        "aria-label": `${share(field.fill)}${before}`,
      },
      h("i", { css: { width: `${(field.fill * 100).toFixed(2)}%` } }),
      usual !== null && h("b", { css: { left: `${(usual * 100).toFixed(2)}%` } }),
    ),
    num(jobHref(ctx.job, "/items", { type: field.type, missing: field.field }), share(field.fill)),
  );
}

const number = (value) => (Math.abs(value) >= 1000 ? count(value) : String(Number(value.toPrecision(6))));
const between = (least, most, show) => (least === most ? show(least) : `${show(least)} … ${show(most)}`);

/** The least and the most of the numbers, or of the lengths. */
function rangeOf(field) {
  if (field.least !== null) return between(field.least, field.most, number);
  if (field.shortest === null) return "";
  const unit = { text: "characters", list: "values", object: "fields" }[field.kind];
  return unit ? `${between(field.shortest, field.longest, count)} ${unit}` : "";
}

const wrongOf = (field) =>
  [field.wrong && `${count(field.wrong)} wrong`, field.dropped && `${count(field.dropped)} dropped`]
    .filter(Boolean)
    .join(", ");

function fieldCell(field, finding, hasTypes, kind) {
  return h(
    "span",
    { class: "name" },
    finding ? mark(kind, "worse than usual") : noMark(),
    h(
      "span",
      { class: "two" },
      h("b", {}, foreign(field.field, { max: 40 })),
      hasTypes && sub(foreign(field.type, { max: 40 })),
    ),
  );
}

function columns(ctx, data) {
  const worse = new Map(data.findings.map((one) => [one.field, one])),
    hasTypes = new Set(data.fields.map((field) => field.type)).size > 1;
  return [
    {
      key: "field",
      label: "Field",
      p: 1,
      cell: (field) => fieldCell(field, worse.get(nameOf(field)), hasTypes, kindOf(data)),
    },
    {
      key: "fill",
      label: "Filled, and usually (line)",
      short: "Filled",
      p: 2,
      phone: "wide",
      cell: (field) => filled(ctx, field, worse.get(nameOf(field)), kindOf(data)),
    },
    { key: "was", label: "Usually", right: true, p: 3, cell: (field) => sub(share(field.usual_fill)) },
    { key: "kind", label: "Values", p: 3, cell: (field) => sub(field.kind || "–") },
    {
      key: "wrong",
      label: "Type errors",
      p: 2,
      cell: (field) => {
        const wrong = wrongOf(field);
        return wrong ? h("span", { class: "is-held" }, wrong) : sub("none");
      },
    },
    {
      key: "distinct",
      label: "Different",
      right: true,
      p: 2,
      cell: (field) => (field.filled ? share(Math.min(1, field.distinct / field.filled)) : sub("–")),
    },
    { key: "range", label: "From … to", p: 2, phone: "wide", cell: (field) => sub(rangeOf(field) || "–") },
  ];
}

function fields(ctx, data) {
  const shown = ctx.query.fields === "all" ? data.fields : data.fields.slice(0, MOST),
    more = data.fields.length - shown.length;
  return [
    table({
      id: "quality",
      label: "Quality by field",
      columns: columns(ctx, data),
      rows: shown,
      idOf: nameOf,
      foot: [
        data.sampled < data.items
          ? `${plural(data.sampled, "item")} of ${count(data.items)} looked at. `
          : "All items looked at. ",
        data.more_fields > 0 && `${plural(data.more_fields, "more field")}: gossamer report quality ${data.job}`,
      ],
    }),
    more > 0 && button(`Show ${plural(more, "more field")}`, () => ctx.set({ fields: "all" }), { kind: "quiet" }),
  ];
}

const dropColumns = (ctx) => [
  { key: "reason", label: "Because of", p: 1, cell: (one) => foreign(one.reason, { max: 90 }) },
  { key: "count", label: "Items", right: true, p: 2, cell: (one) => count(one.items) },
  { key: "by", label: "By", p: 3, cell: (one) => sub(one.sample ? one.sample.stage || one.sample.type : "–") },
  {
    key: "value",
    label: "One of them had",
    p: 2,
    phone: "wide",
    cell: (one) => (one.sample?.value ? h("code", {}, foreign(one.sample.value, { max: 80 })) : sub("–")),
  },
  {
    key: "page",
    label: "Its page",
    p: 2,
    phone: "wide",
    cell: (one) => (one.sample ? url(one.sample.url, { max: 80, job: ctx.job }) : sub("–")),
  },
];

const drops = (ctx, data) =>
  data.drops.length > 0 &&
  section(
    "Items that were dropped",
    { id: "drops", meta: count(data.dropped) },
    table({
      id: "drops",
      label: "Items that were dropped, by reason",
      columns: dropColumns(ctx),
      rows: data.drops,
      idOf: (one) => one.reason,
    }),
  );

const baseline = (data) =>
  data.jobs.length
    ? h(
        "span",
        {},
        "usual: ",
        data.jobs.slice(0, 3).map((id, i) => [i > 0 && ", ", link(jobHref(id), foreign(id, { max: 40 }))]),
      )
    : h("span", {}, "no earlier job says what is usual");

/** What is known of the quality; nothing where there are no items, and none were dropped. */
export function qualityOf(ctx, data) {
  if (!data.fields.length && !data.drops.length && !data.findings.length) return null;
  return [
    section(
      "Quality by field",
      {
        id: "quality",
        meta: [data.items > 0 && h("span", {}, `score ${share(data.score)}`), baseline(data)],
      },
      findings(ctx, data),
      data.fields.length > 0 && fields(ctx, data),
    ),
    drops(ctx, data),
  ];
}
