// Alerts: what is wrong now, what somebody knows of already, and whom the news have reached.
import { h } from "../dom.js";
import { count, plural } from "../format.js";
import { mark } from "../marks.js";
import { jobHref } from "../places.js";
import { table } from "../table.js";
import { blank, foreign, head, link, section, skeleton, sub } from "../ui.js";
import { when } from "./shared.js";
import { troubleLine, troubleList } from "./troubles.js";

const MARKS = { sent: "ok", waiting: "held", failed: "dead" };
const SEVERITIES = { needs_you: "needs you", takes_care: "takes care of itself", know: "good to know" };

/** The list in which an alert that was acknowledged has no other way out than to look at it. */
const known = (ctx, list) =>
  list.length > 0 &&
  section(
    "Acknowledged",
    { id: "known", meta: plural(list.length, "alert") },
    h(
      "ul",
      { class: "troubles", "aria-label": "Acknowledged alerts" },
      list.map((one) => troubleLine(ctx, { ...one, ways: one.ways.filter((way) => way.place) })),
    ),
  );

const targetColumns = (ctx) => [
  {
    key: "name",
    label: "Target",
    p: 1,
    cell: (one) =>
      h(
        "span",
        { class: "name" },
        mark(one.error ? "dead" : one.waiting ? "held" : "ok", one.error ? "takes none" : ""),
        h("span", { class: "two" }, h("b", {}, foreign(one.name, { max: 40 })), sub(one.kind)),
      ),
  },
  {
    key: "wants",
    label: "Severities",
    p: 3,
    cell: (one) => sub(one.severities.map((word) => SEVERITIES[word] ?? word).join(", ")),
  },
  { key: "sent", label: "Last sent", p: 2, cell: (one) => (one.sent_at ? when(ctx, one.sent_at, false) : sub("not lately")) },
  { key: "waiting", label: "Waiting", right: true, p: 2, cell: (one) => count(one.waiting) },
  { key: "error", label: "Last error", p: 2, phone: "wide", cell: (one) => sub(foreign(one.error, { max: 160 })) },
];

const noticeColumns = (ctx) => [
  {
    key: "text",
    label: "Notification",
    p: 1,
    cell: (one) =>
      h(
        "span",
        { class: "name" },
        mark(MARKS[one.state] ?? "info", one.state),
        h(
          "span",
          { class: "two" },
          foreign(one.text, { max: 200 }),
          one.error ? sub(foreign(one.error, { max: 200 })) : sub(one.change),
        ),
      ),
  },
  { key: "target", label: "Target", p: 2, cell: (one) => foreign(one.target, { max: 40 }) },
  { key: "state", label: "State", p: 2, cell: (one) => stateCell(ctx, one) },
  { key: "tries", label: "Tries", right: true, p: 3, cell: (one) => count(one.tries) },
  {
    key: "job",
    label: "Job",
    p: 4,
    cell: (one) => (one.job ? link(jobHref(one.job), foreign(one.job, { max: 40 })) : sub("–")),
  },
  { key: "found", label: "Found", p: 3, cell: (one) => when(ctx, one.at, false) },
];

const stateCell = (ctx, one) =>
  one.state === "waiting"
    ? h("span", { class: "is-held" }, "waits")
    : h("span", { class: one.state === "failed" ? "is-dead" : "" }, `${one.state} `, when(ctx, one.settled_at, false));

function draw(ctx, data) {
  const [first, second] = data.say;
  return [
    head({ answer: first, say: second }),
    troubleList(ctx, data.alerts),
    known(ctx, data.acknowledged),
    data.targets.length > 0 &&
      section(
        "Who is notified",
        { id: "targets", meta: "names only; addresses are never shown" },
        table({ id: "targets", label: "Targets", columns: targetColumns(ctx), rows: data.targets, idOf: (one) => one.name }),
      ),
    data.notices.length
      ? section(
          "Notifications",
          { id: "notices", meta: "those that wait, then the newest" },
          table({
            id: "notices",
            label: "Notifications",
            columns: noticeColumns(ctx),
            rows: data.notices,
            idOf: (one) => `${one.target}-${one.alert}-${one.job}-${one.change}-${one.at}-${one.text}`,
            foot: "A target that is away gets each notification later: both that an alert began and that it is over.",
          }),
        )
      : blank({
          title: "No notifications yet.",
          text: data.targets.length
            ? "Each alert that begins or ends is sent to the targets above."
            : "The section alerts.targets of the settings names who is notified.",
          small: true,
        }),
  ];
}

export const alerts = {
  title: () => "Alerts",
  crumbs: () => [["/", "Overview"], "Alerts"],
  needs: () => [{ name: "alerts", path: "/alerts", every: 2 }],
  draw: (ctx) => ctx.whole("alerts", "Alerts", skeleton("table", 8), (data) => draw(ctx, data)),
};
