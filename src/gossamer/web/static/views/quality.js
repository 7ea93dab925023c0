// The quality of a job's items, field by field, against the last job that finished.
import { spark } from "../charts.js";
import { h } from "../dom.js";
import { share } from "../format.js";
import { mark, noMark } from "../marks.js";
import { jobHref } from "../places.js";
import { table } from "../table.js";
import { foreign, link, num, section, sub } from "../ui.js";

const kindOf = (one) => (one.drift ? (one.fill < 0.5 ? "dead" : "held") : "calm");

function fillOf(ctx, one) {
  const label =
    one.base === null || one.base === undefined
      ? share(one.fill)
      : `${share(one.fill)}, before ${share(one.base)}`;
  return h(
    "span",
    { class: "fill" },
    h(
      "span",
      { class: ["bullet", kindOf(one)], role: "img", "aria-label": label },
      h("i", { css: { width: `${one.fill * 100}%` } }),
      one.base !== null && one.base !== undefined && h("b", { css: { left: `${one.base * 100}%` } }),
    ),
    num(jobHref(ctx.job, "/items", { missing: one.field, type: one.type }), share(one.fill)),
  );
}

const qualityColumns = (ctx) => [
  {
    key: "field",
    label: "Field",
    p: 1,
    cell: (one) =>
      h(
        "span",
        { class: "name" },
        one.drift ? mark(kindOf(one), "drifts") : noMark(),
        h("b", { class: "ell" }, foreign(one.field, { max: 40 })),
      ),
  },
  { key: "type", label: "Type", p: 3, cell: (one) => sub(foreign(one.kind ?? one.type ?? "", { max: 30 })) },
  {
    key: "fill",
    label: "Filled, and in the last job (line)",
    short: "Filled",
    p: 2,
    phone: "wide",
    cell: (one) => fillOf(ctx, one),
  },
  { key: "was", label: "Before", right: true, p: 3, cell: (one) => sub(share(one.base)) },
  {
    key: "hours",
    label: "Last 24 h",
    p: 3,
    cell: (one) =>
      one.hours?.length
        ? spark(one.hours, { label: `${one.field}: share filled by hour`, kind: kindOf(one), top: 1 })
        : sub("–"),
  },
  {
    key: "say",
    label: "What to know",
    p: 2,
    phone: "block",
    cell: (one) =>
      one.drift ? foreign(one.drift, { max: 300 }) : sub(foreign(one.range ?? "", { max: 80 })),
  },
];

export const quality = (ctx, data) =>
  data.fields?.length
    ? section(
        "Quality by field",
        {
          id: "quality",
          meta: [
            data.score !== undefined && data.score !== null && `score ${share(data.score)}`,
            data.base_job && h("span", {}, "baseline: ", link(jobHref(data.base_job), data.base_job)),
          ],
        },
        table({
          id: "quality",
          label: "Quality by field",
          columns: qualityColumns(ctx),
          rows: data.fields,
          idOf: (one) => `${one.type}-${one.field}`,
        }),
      )
    : null;
