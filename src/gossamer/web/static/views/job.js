// Job: does it go well, how fast, when is it done, what holds it back?
import { actButton, takeBack } from "../actions.js";
import { bullet, shares } from "../charts.js";
import { h } from "../dom.js";
import { count, duration, money, ms, pace, plural, rate, share, size } from "../format.js";
import { jobMark } from "../marks.js";
import { jobHref } from "../places.js";
import { table } from "../table.js";
import { foreign, head, link, num, section, skeleton, sub, tag } from "../ui.js";
import { cancelJob, changeLimits, pauseJob, resumeJob } from "./job_actions.js";
import { rates, ratesNeed } from "./rates.js";
import { when } from "./shared.js";
import { troubleList } from "./troubles.js";


function controls(ctx, job) {
  const change = actButton(ctx, "Change limits", () => changeLimits(ctx, job.job), { key: "l" }),
    cancel = actButton(ctx, "Cancel…", () => cancelJob(ctx, job), {
      kind: "grave",
    });
  if (job.state === "running")
    return [
      actButton(ctx, "Pause", () => pauseJob(ctx, job.job), { key: "p", icon: "paused" }),
      change,
      cancel,
    ];
  // One that ended with work left goes on here; on a fleet `gossamer submit` starts it again.
  if (job.state === "paused" || (job.state === "unfinished" && !ctx.me?.fleet))
    return [
      actButton(ctx, "Resume", () => resumeJob(ctx, job), { key: "p", icon: "running", kind: "main" }),
      change,
      cancel,
    ];
  return null;
}

const over = (ctx, job) => [
  jobMark(job),
  h("span", {}, job.state),
  " · ",
  foreign(job.target, { max: 60 }),
  h(
    "span",
    {},
    " · started ",
    when(ctx, job.created_at, false),
    job.state === "running" && `, ${duration(ctx.now() - job.created_at)} ago`,
    job.finished_at && [job.state === "paused" ? ", paused " : ", ended ", when(ctx, job.finished_at, false)],
  ),
];

// ---------------------------------------------------------------- what may hold it back

function limits(ctx, job) {
  const box = (key, name, value, used, of, href, kind) =>
    h(
      "a",
      { key, class: "limit", href },
      h("span", { class: "k" }, name, job.limit === key && tag("decides the pace", "act")),
      h("span", { class: "v" }, value),
      bullet(
        used,
        of,
        `${name}: ${of > 0 && Number.isFinite(of) ? share(Math.min(1, used / of)) : "no limit"}`,
        kind ?? (job.limit === key ? "" : "calm"),
      ),
    );
  const allowed = job.allowed_per_s,
    budget = job.max_pages;
  return h(
    "div",
    { key: "limits", class: "part" },
    h(
      "div",
      { class: "limits", role: "group", "aria-label": "What may hold it back" },
      box(
        "politeness",
        "Politeness",
        [
          h("b", {}, job.pages_per_s === null ? "–" : rate(job.pages_per_s).replace(/\/.*/, "")),
          allowed ? ` of ${pace(allowed, "pages")} allowed` : " pages a second",
        ],
        job.pages_per_s ?? 0,
        allowed || 1,
        jobHref(job.job, "/hosts"),
      ),
      box(
        "workers",
        "Workers",
        job.shifts === null || job.shifts === undefined
          ? [h("b", {}, plural(job.leased, "request")), " in flight"]
          : [
              h("b", {}, plural(job.shifts, "shift")),
              job.more_workers ? `; ${count(job.more_workers)} more would have work` : "; no more are needed",
            ],
        job.shifts ?? job.leased,
        (job.shifts ?? job.leased) + (job.more_workers || 3),
        ctx.me?.fleet ? "/workers" : jobHref(job.job, "/hosts"),
        job.limit === "workers" ? "held" : null,
      ),
      box(
        "store",
        "Store",
        job.store_lag_s === null ? "not measured" : [h("b", {}, ms(job.store_lag_s)), " behind"],
        job.store_lag_s ?? 0,
        2,
        jobHref(job.job),
      ),
      box(
        "budget",
        "Budget",
        budget
          ? [h("b", {}, share(job.pages / budget)), ` of ${count(budget)} pages`]
          : ["no limit of pages"],
        budget ? job.pages : 0,
        budget ?? Infinity,
        jobHref(job.job, "/settings"),
      ),
    ),
  );
}

// ---------------------------------------------------------------- frontier, due, budgets

function frontier(ctx, job) {
  if (job.done === null)
    return section(
      "Frontier",
      { id: "frontier" },
      h(
        "p",
        { class: "none" },
        "The requests of an ended job are forgotten after a time (frontier.keep). Its pages, items and ledger are kept.",
      ),
    );
  const base = (end, query) => jobHref(job.job, end, query),
    states = [
      ["pending", job.pending, "wait for their host’s turn", base("/hosts")],
      ["delayed", job.delayed, "wait for a time of their own", base("/hosts")],
      ["leased", job.leased, "in flight", ctx.me?.fleet ? "/workers" : base("/hosts")],
      ["done", job.done, "settled", base("/attempts")],
      ["dead", job.dead, "given up: yours to decide", base("/dead")],
    ];
  return section(
    "Frontier",
    { id: "frontier", meta: `${count(states.reduce((sum, [, n]) => sum + n, 0))} known` },
    shares(
      states.map(([name, n]) => [n, name]),
      "Requests by state",
    ),
    h(
      "ul",
      { class: "states" },
      states.map(([name, n, what, href]) =>
        h(
          "li",
          { key: name },
          h("i", { class: name }),
          name,
          h("span", { class: "n" }, num(href, count(n))),
          sub(what),
        ),
      ),
    ),
  );
}

const due = (job) =>
  job.due?.length > 0 &&
  section(
    "When what waits may start",
    { id: "due" },
    h(
      "ul",
      { class: "budgets" },
      job.due.map(([name, n]) => {
        const all = Math.max(
          1,
          job.due.reduce((sum, [, some]) => sum + some, 0),
        );
        return h(
          "li",
          { key: name },
          h("span", {}, name),
          h("b", {}, count(n)),
          bullet(n, all, `${name}: ${share(n / all)}`, "calm"),
        );
      }),
    ),
  );

const AMOUNTS = {
  max_pages: count,
  "budgets.cost": money,
  "budgets.bytes": size,
  "budgets.browser_seconds": duration,
};
const amountOf = (setting, n) => (AMOUNTS[setting] ?? count)(n);
const budgets = (ctx, job) =>
  job.budgets?.length > 0 &&
  section(
    "Budgets",
    { id: "budgets", meta: link(jobHref(job.job, "/settings"), "settings") },
    h(
      "ul",
      { class: "budgets" },
      job.budgets.map((one) =>
        h(
          "li",
          { key: one.name },
          h("span", {}, one.name),
          h("span", {}, h("b", {}, amountOf(one.setting, one.used)), ` of ${amountOf(one.setting, one.limit)}`),
          bullet(one.used, one.limit, `${one.name} used`, "calm"),
          one.note && sub(one.note),
        ),
      ),
    ),
  );

const listed = (job) =>
  job.goals?.length > 0 &&
  section(
    "Listed by the site",
    { id: "listed", meta: link(jobHref(job.job, "/items"), "items") },
    h(
      "ul",
      { class: "budgets" },
      job.goals.map((one) =>
        h(
          "li",
          { key: one.what },
          h("span", {}, foreign(one.what, { max: 40 })),
          h("span", {}, h("b", {}, count(one.done)), ` of ${count(one.total)}`),
          bullet(Math.min(one.done, one.total), one.total, `${one.what}: ${share(one.done / one.total)}`, "calm"),
        ),
      ),
    ),
  );

const counted = (job) =>
  Object.keys(job.stats ?? {}).length > 0 &&
  section(
    "Counted by the spider",
    { id: "counted" },
    h(
      "ul",
      { class: "budgets" },
      Object.entries(job.stats).map(([name, value]) =>
        h("li", { key: name }, h("span", {}, foreign(name, { max: 60 })), h("b", {}, value.toLocaleString("en-US", { maximumFractionDigits: 3 }))),
      ),
    ),
  );

// ---------------------------------------------------------------- what fails, who decides the end, who did what

const failing = (job) =>
  job.errors?.length > 0 &&
  section(
    "What fails most",
    { id: "failing", meta: link(jobHref(job.job, "/errors"), "all errors") },
    h(
      "ul",
      { class: "rows" },
      job.errors.map((one) =>
        h(
          "li",
          { key: one.reason },
          link(
            jobHref(job.job, "/errors", { group: one.id ?? one.reason }),
            foreign(one.text ?? one.reason, { max: 60 }),
          ),
          num(jobHref(job.job, "/attempts", { reason: one.reason }), count(one.count)),
          sub(one.reason),
        ),
      ),
    ),
  );

const slowest = (job) =>
  job.slowest?.length > 0 &&
  section(
    "Hosts that decide the end",
    { id: "slowest", meta: link(jobHref(job.job, "/hosts", { sort: "empties" }), "all hosts") },
    h(
      "ul",
      { class: "rows" },
      job.slowest.map((one) =>
        h(
          "li",
          { key: one.host },
          link(jobHref(job.job, "/hosts", { host: one.host }), foreign(one.host, { max: 34 })),
          h("b", {}, duration(one.empties_s)),
          sub(`${count(one.pending)} wait, ${duration(one.delay_s)} apart`),
        ),
      ),
    ),
  );

const changeColumns = (ctx) => [
  { key: "at", label: "At", p: 2, cell: (one) => when(ctx, one.at) },
  { key: "who", label: "Who", p: 2, cell: (one) => foreign(one.who, { max: 40 }) },
  { key: "what", label: "What", p: 1, cell: (one) => foreign(one.what, { max: 200 }) },
  {
    key: "does",
    label: "",
    right: true,
    p: 2,
    cell: (one) =>
      one.undone_at
        ? sub("undone")
        : one.undo_until > ctx.now()
          ? actButton(ctx, "Put back", () => takeBack(ctx, one.id), { kind: "quiet" })
          : null,
  },
];
const changes = (ctx, job) =>
  job.changes?.length > 0 &&
  section(
    "Changes",
    { id: "changes", meta: "who did what to this job" },
    table({
      id: "changes",
      label: "Changes",
      columns: changeColumns(ctx),
      rows: job.changes,
      idOf: (one) => one.id ?? `${one.at}-${one.what}`,
    }),
  );

function draw(ctx, job) {
  const [first, second] = job.say;
  return [
    head({ over: over(ctx, job), answer: first, say: second, does: controls(ctx, job) }),
    troubleList(ctx, job.troubles, { more: job.more_troubles, calm: "Nothing needs you." }),
    job.state === "running" && limits(ctx, job),
    h(
      "div",
      { key: "cols", class: "cols two-one" },
      h("div", {}, rates(ctx), h("div", { class: "cols halves" }, failing(job), slowest(job))),
      h("div", {}, listed(job), counted(job), frontier(ctx, job), due(job), budgets(ctx, job)),
    ),
    changes(ctx, job),
  ];
}

export const job = {
  title: () => "",
  crumbs: (ctx) => [["/", "Overview"], ctx.job],
  needs: (ctx) => [ratesNeed(ctx)],
  draw: (ctx) =>
    ctx.whole("job", ctx.job, [skeleton("chart", 2), skeleton("lines", 8)], (data) => draw(ctx, data)),
};
