// Workers and shifts: who does what, and is anybody stuck or missing?
import { act, actButton } from "../actions.js";
import { openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { ago, count, duration, plural, rate, size } from "../format.js";
import { mark, noMark } from "../marks.js";
import { jobHref } from "../places.js";
import { freeze, table } from "../table.js";
import { blank, button, foreign, head, link, section, skeleton, sub } from "../ui.js";
import { when } from "./shared.js";
import { troubleList } from "./troubles.js";

const WHY = {
  idle: "nothing was due any more",
  time: "as long as a shift may be",
  seeded: "all seeds are in",
  yield: "made room for another job",
  stopped: "its job does not run",
  drained: "its worker drains",
  refused: "this worker cannot do this job",
  failed: "storage trouble or an error",
  lost: "its worker went silent",
};

function nameCell(one) {
  const shape = one.is_silent
    ? mark("lost", "silent")
    : one.state !== "working"
      ? mark("paused", one.state)
      : one.refuses?.length
        ? mark("held", "cannot do a job")
        : noMark();
  return h(
    "span",
    { class: "name" },
    shape,
    h(
      "span",
      { class: "two" },
      h("span", { title: one.id }, `:${one.pid || one.id.split(":")[1] || one.id}`),
      one.is_silent
        ? h("span", { class: "sub is-dead" }, "silent")
        : one.state === "draining"
          ? sub("drains")
          : one.state === "paused"
            ? sub("paused")
            : null,
    ),
  );
}

function slotCell(one) {
  const free = one.state === "working" ? "free" : "takes no more";
  return h(
    "span",
    { class: "slots", css: { "--n": String(Math.max(1, one.slots)) } },
    Array.from({ length: one.slots }, (_, i) => {
      const shift = one.shifts[i];
      if (!shift)
        return h("span", { class: ["slot", one.is_silent ? "lost" : "free"] }, one.is_silent ? "–" : free);
      return h(
        "a",
        {
          class: "slot",
          href: jobHref(shift.job),
          title: `${shift.job}, lane ${shift.lane}, since ${duration(shift.age_s)}, ${count(shift.pages)} pages`,
        },
        foreign(shift.lane === "seed" ? `${shift.job} seeds` : shift.job, { max: 40 }),
      );
    }),
  );
}

function doesCell(ctx, one) {
  const path = `/workers/${encodeURIComponent(one.id)}/actions`,
    expect = { state: one.state };
  if (one.is_silent)
    return actButton(
      ctx,
      "Forget it",
      () => act(ctx, path, { do: "forget", expect }, `${one.id} is forgotten; it shows again if it beats.`),
      { kind: "quiet" },
    );
  if (one.state === "draining")
    return actButton(
      ctx,
      "Keep it",
      () => act(ctx, path, { do: "keep", expect }, `${one.id} takes shifts again.`, { undone: "It drains." }),
      { kind: "quiet" },
    );
  return actButton(
    ctx,
    "Drain",
    () =>
      act(ctx, path, { do: "drain", expect }, `${one.id} drains: it finishes what it has and leaves.`, {
        undone: `${one.id} takes shifts again.`,
      }),
    { kind: "quiet" },
  );
}

const columns = (ctx, rows) =>
  [
    { key: "worker", label: "Worker", p: 1, cell: nameCell },
    { key: "slots", label: "Slots: what each works on", p: 2, phone: "block", cell: slotCell },
    {
      key: "beat",
      label: "Last beat",
      right: true,
      p: 2,
      cell: (one) => h("span", { class: one.is_silent ? "is-dead" : "" }, ago(one.unseen_s)),
    },
    { key: "flight", label: "In flight", right: true, p: 2, cell: (one) => count(one.in_flight) },
    {
      key: "rate",
      label: "Pages",
      right: true,
      p: 2,
      cell: (one) => (one.pages_per_s ? rate(one.pages_per_s) : sub("0/s")),
    },
    { key: "memory", known: "memory_bytes", label: "Memory", right: true, p: 3, cell: (one) => (one.memory_bytes ? size(one.memory_bytes) : sub("–")) },
    { key: "version", label: "Version", p: 4, cell: (one) => sub(foreign(one.version, { max: 16 })) },
    { key: "does", label: "", p: 2, right: true, cell: (one) => doesCell(ctx, one) },
  ].filter(({ known }) => !known || rows.some((one) => one[known])); // what workers do not tell has no column

function who(ctx, data) {
  if (!data.workers.length)
    return blank({
      title: "No worker is there.",
      text: [
        "On any machine with the same settings and the project’s folder: ",
        h("code", {}, "gossamer worker"),
        ". It shows here within a second.",
      ],
    });
  const { rows, newer, at, again } = freeze(ctx, "fleet", data.workers, (one) => one.id),
    shown = columns(ctx, rows);
  const machine = (row, i) =>
    i > 0 && rows[i - 1].host === row.host
      ? null
      : machineRow(
          row.host,
          rows.filter((one) => one.host === row.host),
          shown.length,
        );
  return section(
    "Who does what",
    {
      id: "who",
      meta:
        data.slots_free !== undefined && `${count(data.slots_free)} of ${plural(data.slots, "slot")} free`,
    },
    table({
      id: "workers",
      label: "Workers",
      columns: shown,
      rows,
      idOf: (one) => one.id,
      newer,
      order: { at, again },
      before: machine,
      foot: "A worker that is silent for 10 s loses its shifts; it is shown for some minutes more.",
    }),
  );
}
const machineRow = (name, mine, span) =>
  h(
    "tr",
    { key: `m-${name}`, role: "row", class: "machine" },
    h(
      "th",
      { role: "rowheader", colspan: span, scope: "rowgroup" },
      h("b", {}, foreign(name || "machine", { max: 60 })),
      ` ${plural(mine.length, "worker")}, lane ${[...new Set(mine.flatMap((one) => one.lanes))].join(", ")}`,
    ),
  );

const wants = (data) =>
  data.wants?.length > 0 &&
  section(
    "Jobs and what they get",
    { id: "wants" },
    table({
      id: "wants",
      label: "Jobs and what they get",
      rows: data.wants,
      idOf: (one) => one.job,
      columns: [
        {
          key: "job",
          label: "Job",
          p: 1,
          cell: (one) => link(jobHref(one.job), foreign(one.job, { max: 40 })),
        },
        { key: "shifts", label: "Shifts", right: true, p: 2, cell: (one) => count(one.shifts) },
        {
          key: "more",
          label: "Could use",
          right: true,
          p: 2,
          cell: (one) => (one.more ? h("b", {}, `${count(one.more)} more`) : sub("–")),
        },
        { key: "why", label: "Why", p: 2, phone: "wide", cell: (one) => sub(one.why) },
      ],
    }),
  );

const ends = (ctx, data) =>
  data.ends?.length > 0 &&
  section(
    "Latest shifts that ended",
    { id: "ends" },
    table({
      id: "ends",
      label: "Latest shifts that ended",
      rows: data.ends,
      idOf: (one) => one.id,
      columns: [
        { key: "at", label: "At", p: 2, cell: (one) => when(ctx, one.at) },
        {
          key: "job",
          label: "Job",
          p: 1,
          cell: (one) => link(jobHref(one.job), foreign(one.job, { max: 40 })),
        },
        {
          key: "why",
          label: "Why",
          p: 2,
          phone: "wide",
          cell: (one) =>
            h(
              "span",
              { class: "two" },
              h(
                "span",
                {
                  class:
                    one.why === "lost" || one.why === "failed"
                      ? "is-dead"
                      : one.why === "refused"
                        ? "is-held"
                        : "",
                },
                `${one.why}: ${WHY[one.why] ?? ""}`,
              ),
              one.detail && sub(foreign(one.detail, { max: 200 })),
            ),
        },
        { key: "pages", label: "Pages", right: true, p: 2, cell: (one) => count(one.pages) },
        { key: "worker", label: "Worker", p: 3, cell: (one) => foreign(one.worker, { max: 30 }) },
      ],
    }),
  );

const addWorkers = () =>
  openDialog("Add workers", ({ close }) => ({
    body: [
      h(
        "p",
        {},
        "Workers are started where they run; this page cannot start machines. On any machine with the same settings and the project’s folder:",
      ),
      h("pre", { class: "code", tabindex: "0" }, "gossamer worker --slots 4"),
      h(
        "p",
        {},
        "With Docker Compose: ",
        h("code", {}, "docker compose up -d --scale worker=8"),
        ". They take shifts within a second.",
      ),
    ],
    foot: button("Close", close, { kind: "main" }),
  }));

function draw(ctx, data) {
  const [first, second] = data.say;
  return [
    head({ answer: first, say: second, does: button("Add workers", addWorkers) }),
    troubleList(ctx, data.troubles),
    who(ctx, data),
    h("div", { key: "cols", class: "cols halves" }, wants(data), ends(ctx, data)),
  ];
}

/** Whether it is known that there is no fleet. */
const isHere = (ctx) => ctx.me?.fleet === "";

export const workers = {
  title: () => "Workers",
  crumbs: () => [["/", "Overview"], "Workers"],
  needs: (ctx) => isHere(ctx) ? [] : [{ name: "fleet", path: "/fleet", topic: "fleet", every: 5 }],
  draw: (ctx) =>
    isHere(ctx)
      ? [
          head({ answer: "Crawls run on this machine, each in a process of its own." }),
          h(
            "p",
            { class: "say" },
            "There is no fleet, and so there are no workers: the settings name no Redis and no PostgreSQL.",
          ),
        ]
      : ctx.whole("fleet", "Workers", skeleton("table", 15), (data) => draw(ctx, data)),
};
