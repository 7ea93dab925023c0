// Overview: is anything wrong, and does everything move?
import { progress, spark } from "../charts.js";
import { h } from "../dom.js";
import { about, count, rate } from "../format.js";
import { jobMark, mark } from "../marks.js";
import { jobHref } from "../places.js";
import { freeze, pager, table } from "../table.js";
import { blank, foreign, head, linkButton, middle, num, section, segments, skeleton, sub } from "../ui.js";
import { firstRun } from "./new.js";
import { troubleList } from "./troubles.js";

const MANY = 10_000_000; // known requests, from which on they are said in words
const known = (job) => job.done + job.dead + job.waiting;
const isGrowing = (job) => job.left_text === "finding";

const nameCell = (job) =>
  h(
    "span",
    { class: "name" },
    jobMark(job),
    h(
      "span",
      { class: "two" },
      h(
        "a",
        { class: "job-name", href: jobHref(job.job), "aria-label": job.job },
        middle(job.job, { max: 80 }),
      ),
      sub(foreign(job.target, { max: 34 })),
    ),
  );

function progressCell(job) {
  if (job.done === null || job.done === undefined) return sub("its requests are forgotten");
  const all = known(job),
    words = `${count(job.done)} of ${all >= MANY ? about(all) : count(all)}`;
  return h(
    "span",
    { class: "progress-cell" },
    progress({
      done: job.done,
      dead: job.dead,
      waiting: job.waiting,
      isGrowing: isGrowing(job),
      isStill: job.state !== "running",
    }),
    h("span", {}, all ? words : "adding its seeds"),
  );
}

const MINUTE_S = 60;
/** The minutes of the last hour in which the job was there: before, nothing is no zero. */
const lived = ({ spark: values, created_at: begun }, now) =>
  values.map((value, i) => (now - (values.length - 1 - i) * MINUTE_S < begun ? null : value));

function paceCell(job, now) {
  if (job.state !== "running") return sub(job.state_note ?? job.state);
  return h(
    "span",
    { class: "with-spark" },
    h("span", {}, rate(job.pages_per_s)),
    job.spark?.length > 1 &&
      spark(lived(job, now), {
        label: `${job.job}: pages per second in the last hour`,
        kind: job.trouble_kind === "held" ? "held" : "",
      }),
  );
}

function whatCell(job) {
  if (job.trouble)
    return h(
      "span",
      { class: "what-say" },
      mark(
        job.trouble_kind,
        job.trouble_kind === "dead"
          ? "needs you"
          : job.trouble_kind === "held"
            ? "is being handled"
            : undefined,
      ),
      h("span", {}, foreign(job.trouble, { max: 160 })),
    );
  return sub(job.state === "running" && job.limit === "politeness" ? "as fast as its hosts allow" : "");
}

const columns = (now) => [
  { key: "job", label: "Job", p: 1, cell: nameCell },
  { key: "progress", label: "Done of known", p: 2, phone: "block", cell: progressCell },
  { key: "rate", label: "Pages, last hour", p: 2, phone: "wide", cell: (job) => paceCell(job, now) },
  {
    key: "left",
    label: "Left",
    right: true,
    p: 2,
    cell: (job) =>
      job.left_s !== null && job.left_s !== undefined ? job.left_text : sub(job.left_text || "–"),
  },
  {
    key: "items",
    label: "Items",
    right: true,
    p: 2,
    cell: (job) => num(jobHref(job.job, "/items"), count(job.items)),
  },
  {
    key: "dead",
    label: "Dead",
    right: true,
    p: 2,
    cell: (job) =>
      job.dead
        ? num(
            jobHref(job.job, "/dead"),
            h(
              "span",
              { class: job.trouble_kind === "dead" && job.dead > 1000 ? "is-dead" : "" },
              count(job.dead),
            ),
          )
        : sub(count(job.dead)),
  },
  { key: "what", label: "What to know", p: 2, phone: "block", cell: whatCell },
];

function jobs(ctx, data) {
  const { rows, newer, at, again } = freeze(ctx, "overview", data.jobs, (job) => job.job),
    shown = ctx.query.show ?? "open";
  return section(
    "Jobs",
    {
      meta: segments(
        "Which jobs",
        [
          ["open", "Open", data.open],
          ["ended", "Ended", data.ended],
        ],
        shown,
        (show) => ctx.set({ show: show === "open" ? null : show, cursor: null }),
      ),
    },
    table({
      id: "jobs",
      label: "Jobs",
      columns: columns(ctx.now()),
      rows,
      idOf: (job) => job.job,
      go: (href) => ctx.go(href),
      href: (job) => jobHref(job.job),
      newer,
      order: { at, again },
      foot:
        data.next_cursor || ctx.query.cursor
          ? pager(ctx, {
              shown: rows.length,
              total: shown === "open" ? data.open : data.ended,
              what: "jobs",
              next: data.next_cursor,
            })
          : shown === "open"
            ? "Those that need you first, then by what is left to do."
            : "Newest first.",
      empty: blank({
        small: true,
        title: shown === "open" ? "No job is open." : "No job has ended yet.",
        ways: [shown === "open" ? linkButton("/new", "Start a crawl") : null],
      }),
    }),
  );
}

// ---------------------------------------------------------------- the fleet in six numbers

/** Of each: its title, where it leads, and how its line is drawn. */
const VITALS = {
  pages: ["Pages", () => "/", ""],
  in_flight: ["In flight", ({ fleet, job }) => fleet || job, ""],
  failed: ["Failed", ({ errors }) => errors, "dead"],
  p95: ["Response p95", ({ job }) => job, ""],
  workers: ["Workers", ({ fleet }) => fleet, "calm"],
  store_lag: ["Store lag", ({ fleet, job }) => fleet || job, "calm"],
};

function vital(ctx, one, job) {
  const [title, leadsTo, kind] = VITALS[one.name] ?? [one.name, () => "", ""];
  const places = {
    fleet: ctx.me?.fleet ? "/workers" : "",
    job: job ? jobHref(job) : "",
    errors: job ? jobHref(job, "/errors") : "",
  };
  return h(
    "a",
    { key: one.name, class: "vital", href: leadsTo(places) || "/" },
    h("span", { class: "k" }, title),
    h("span", { class: "v" }, one.text, one.more && sub(one.more)),
    one.values.length > 1 && spark(one.values, { label: `${title} in the last hour`, kind }),
  );
}

const vitals = (ctx, data) =>
  data.vitals?.length > 0 &&
  h(
    "div",
    { key: "vitals", class: "part" },
    h(
      "div",
      { class: "vitals", role: "group", "aria-label": "The last hour" },
      data.vitals.map((one) => vital(ctx, one, data.jobs[0]?.job)),
    ),
  );

function draw(ctx, data) {
  if (!data.open && !data.ended && !data.jobs.length) return firstRun(ctx);
  const [first, second] = data.say;
  return [
    head({
      answer: first,
      say: second,
      does: linkButton("/new", "Start a crawl", { kind: "main", key: "n" }),
    }),
    troubleList(ctx, data.troubles, { more: data.more_troubles }),
    vitals(ctx, data),
    jobs(ctx, data),
  ];
}

export const overview = {
  isOverview: true,
  title: () => "Overview",
  crumbs: () => ["Overview"],
  needs: () => [],
  draw: (ctx) =>
    ctx.whole("overview", "Overview", [skeleton("lines", 3), skeleton("table", 9)], (data) =>
      draw(ctx, data),
    ),
};
