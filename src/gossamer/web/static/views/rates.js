// The rates of a job over time: pages, response times and answers by status on one axis.
import { pathOf } from "../api.js";
import { bands } from "../bands.js";
import { count, cut, ms, rate } from "../format.js";
import { jobHref } from "../places.js";
import { blank, section, segments, skeleton } from "../ui.js";
import { apiOf, STATUS_KINDS } from "./shared.js";

const RANGES = [
  ["15m", "15 min", "The last 15 minutes"],
  ["1h", "1 h", "The last hour"],
  ["6h", "6 h", "The last 6 hours"],
  ["24h", "24 h", "The last day"],
  ["all", "whole job", "The whole job"],
];
const MOST_MARKS = 12;

export const ratesNeed = (ctx) => ({
  name: "series",
  path: pathOf(apiOf(ctx, "/series"), { range: ctx.query.range ?? "1h" }),
  every: 5,
  keep: true,
  optional: true,
});

/** What people did stands on the axis of time. */
const marksOf = (ctx, data) =>
  (ctx.data("job")?.changes ?? [])
    .filter((one) => one.at > data.since && one.at < data.until)
    .slice(0, MOST_MARKS)
    .map((one) => ({ at: one.at, kind: "person", text: cut(one.what, 32) }));

const tooFew = (job) =>
  job?.pages && job.state !== "running"
    ? blank({ small: true, title: "Too short to draw.", text: "It was over within one step of the chart." })
    : blank({ small: true, title: "No page yet.", text: "Rates show 20 s after the first pages." });

/** The series of the answer by their names; what is not counted is not drawn. */
function charts(ctx, data) {
  const series = data.series,
    base = (query) => jobHref(ctx.job, "/attempts", query),
    perSecond = (v) => `${v >= 10 ? count(v) : Number(v.toFixed(2))}/s`;
  const line = (name, kind, href, fill) =>
    series[name] && { name: kind, kind, values: series[name], fill, href };
  const list = [
    {
      title: "Pages a second",
      height: 108,
      show: rate,
      axis: perSecond,
      lines: [
        line("allowed", "allowed", jobHref(ctx.job, "/hosts")),
        line("pages", "pages", base({ verdict: "success" }), true),
      ].filter(Boolean),
    },
    {
      title: "Response time",
      height: 76,
      show: ms,
      axis: (v) => ms(v),
      lines: [line("p95", "p95", base({})), line("p50", "p50", base({}))].filter(Boolean),
    },
    {
      title: "Answers by status,",
      strips: Object.entries(STATUS_KINDS)
        .filter(([name]) => series[name])
        .map(([name, kind]) => ({ name, kind, values: series[name], href: base({ status: name }) })),
    },
  ].filter((band) => (band.lines ?? band.strips).length);
  const points = Math.max(0, ...Object.values(series).map((values) => values.length));
  if (points < 2) return tooFew(ctx.data("job"));
  return bands(ctx, {
    bands: list,
    points,
    step_s: data.step_s,
    until: data.since + (points - 1) * data.step_s,
    marks: marksOf(ctx, data),
    gaps: data.gaps,
    label: `${ctx.job}: rates`,
    state: (ctx.memory.bands ??= {}),
  });
}

export function rates(ctx) {
  const range = ctx.query.range ?? "1h",
    isOver = Boolean(ctx.data("job")?.finished_at),
    named = RANGES.find(([value]) => value === range)?.[2] ?? "Rates",
    title = isOver ? named.replace(/^The last/, "Its last") : named;
  return section(
    title,
    {
      id: "rates",
      meta: segments(
        "How far back",
        RANGES.map(([value, label]) => [value, label]),
        range,
        (value) => ctx.set({ range: value === "1h" ? null : value }),
      ),
    },
    ctx.show("series", (data) => charts(ctx, data), { waiting: skeleton("chart", 2), what: "The rates" }),
  );
}
