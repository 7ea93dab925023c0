// Schedules: what runs next, and did it run?
import { act, actButton } from "../actions.js";
import { h } from "../dom.js";
import { clock, duration, plural } from "../format.js";
import { mark } from "../marks.js";
import { jobHref } from "../places.js";
import { table } from "../table.js";
import { blank, foreign, head, link, section, skeleton, sub } from "../ui.js";
import { until } from "./shared.js";

const DAY_S = 86_400;
const TICKS = 8;
const LEAST = 12; // the height of the shortest run, in percent
const UNKNOWN = 60; // that of one that did not begin
const OUTCOMES = {
  running: "runs now",
  waiting: "waits",
  paused: "is paused",
  finished: "finished",
  stopped: "was stopped",
  failed: "failed",
  skipped: "was left out",
  missed: "was missed",
};
const LOOKS = { stopped: "paused", failed: "trouble", skipped: "missed", waiting: "missed" };

const sayRun = (run) =>
  run.seconds === null ? OUTCOMES[run.outcome] : `${OUTCOMES[run.outcome]}, ${duration(run.seconds)}`;

/** The latest runs: how high is how long, beside the longest of them. */
function past(one) {
  if (!one.runs.length) return sub("none yet");
  const longest = Math.max(...one.runs.map((run) => run.seconds ?? 0), 1);
  return h(
    "span",
    { class: "past", role: "img", "aria-label": `Latest runs: ${one.runs.map(sayRun).join("; ")}` },
    one.runs.map((run) =>
      h("i", {
        key: `r-${run.due_at}`,
        class: `run-${LOOKS[run.outcome] ?? run.outcome}`,
        title: sayRun(run),
        css: { height: `${(run.seconds === null ? UNKNOWN : Math.max(LEAST, (run.seconds / longest) * 100)).toFixed(0)}%` },
      }),
    ),
  );
}

function columns(ctx) {
  return [
    {
      key: "id",
      label: "Schedule",
      p: 1,
      cell: (one) =>
        h(
          "span",
          { class: "name" },
          mark(one.is_on ? "running" : "paused", one.is_on ? "on" : "off"),
          h("span", { class: "two" }, h("b", {}, foreign(one.name)), sub(foreign(one.target, { max: 44 }))),
        ),
    },
    {
      key: "when",
      label: "When",
      p: 2,
      phone: "wide",
      cell: (one) => h("span", { class: "two" }, one.words, sub(h("code", {}, one.cron), ` ${one.zone}`)),
    },
    {
      key: "next",
      label: "Next",
      p: 2,
      phone: "wide",
      cell: (one) =>
        one.next_at === null
          ? sub(one.is_on ? "never" : "off")
          : h("span", { class: "two" }, one.next_there, sub(until(ctx, one.next_at))),
    },
    { key: "past", label: "Latest runs, by how long", p: 2, phone: "block", cell: past },
    { key: "note", label: "What to know", p: 3, cell: (one) => sub(noteOf(one)) },
    {
      key: "last",
      label: "Latest",
      p: 4,
      cell: (one) => (one.last_job ? link(jobHref(one.last_job), foreign(one.last_job)) : sub("–")),
    },
    { key: "does", label: "", right: true, p: 2, cell: (one) => doesCell(ctx, one) },
  ];
}

function noteOf(one) {
  if (!one.is_here) return "run elsewhere: by another data directory, or another fleet";
  return foreign(one.note, { max: 120 });
}

function doesCell(ctx, one) {
  const path = `/schedules/${encodeURIComponent(one.name)}/actions`,
    expect = { is_on: one.is_on };
  const run = () =>
    act(ctx, path, { do: "run", expect }, `${one.name} starts now.`, { undone: `${one.name} is cancelled.` });
  const turn = () =>
    act(ctx, path, { do: one.is_on ? "disable" : "enable", expect }, `${one.name} is ${one.is_on ? "off" : "on"}.`);
  return one.is_here
    ? [
        actButton(ctx, "Run now", run, { kind: "quiet" }),
        actButton(ctx, one.is_on ? "Turn off" : "Turn on", turn, { kind: "quiet" }),
      ]
    : actButton(ctx, one.is_on ? "Turn off" : "Turn on", turn, { kind: "quiet" });
}

/** The next 24 hours: a bar for each run, as long as runs take, dashed where the one before will not be over. */
function day(data) {
  const rows = data.schedules.filter((one) => one.starts.length);
  if (!rows.length) return null;
  const part = (s) => `${((s / DAY_S) * 100).toFixed(2)}%`;
  const bars = (one) => {
    let busyUntil = 0;
    return one.starts.map((start) => {
      const lasts = Math.min(one.expected_s ?? 0, DAY_S - start),
        isClash = start < busyUntil;
      if (!isClash) busyUntil = start + (one.expected_s ?? 0);
      return h("i", {
        key: `b-${start}`,
        class: isClash && "clash",
        css: { left: part(start), width: `max(3px, ${part(lasts)})` },
      });
    });
  };
  return section(
    "The next 24 hours",
    { id: "day", meta: "length: median of the latest runs; dashed: would overlap" },
    h(
      "ul",
      { class: "day" },
      rows.map((one) =>
        h(
          "li",
          { key: `d-${one.name}` },
          h("span", { class: "day-name" }, foreign(one.name, { max: 30 })),
          h(
            "span",
            { class: "line", role: "img", "aria-label": `${one.name}: ${plural(one.starts.length, "run")}` },
            bars(one),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "day-axis", "aria-hidden": "true" },
      h("span", {}),
      Array.from({ length: TICKS }, (_, i) => h("span", {}, clock(data.at + (i * DAY_S) / TICKS, false))),
    ),
  );
}

const watchHint = (ctx) =>
  ctx.me?.fleet
    ? "On a fleet the supervisor that leads runs them: gossamer supervisor, or gossamer up."
    : "gossamer scheduler runs them, on the machine with the data directory.";

function draw(ctx, data) {
  if (!data.schedules.length)
    return [
      head({ answer: "Schedules" }),
      blank({
        title: "Nothing is crawled again by itself.",
        text: 'A schedule begins a crawl at set times: gossamer schedule add NAME "30 6 * * *" TARGET --zone Europe/Berlin.',
      }),
    ];
  const [first, second] = data.say;
  const more = data.has_more ? `The first ${data.schedules.length} are shown. ` : "";
  return [
    head({ answer: first, say: data.is_watched ? second : `${watchHint(ctx)} ${second}` }),
    section(
      "All schedules",
      { id: "schedules" },
      table({
        id: "schedules",
        label: "Schedules",
        columns: columns(ctx),
        rows: data.schedules,
        idOf: (one) => one.name,
        foot: `${more}A run that would overlap the one before it is left out or waits, as its schedule says.`,
      }),
    ),
    day(data),
  ];
}

export const schedules = {
  title: () => "Schedules",
  crumbs: () => [["/", "Overview"], "Schedules"],
  needs: () => [{ name: "schedules", path: "/schedules", every: 5 }],
  draw: (ctx) => ctx.whole("schedules", "Schedules", skeleton("table", 6), (data) => draw(ctx, data)),
};
