// One host, in a sheet: why it is asked as often as it is, and what can be done about that.
import { act, actButton } from "../actions.js";
import { bars, spark } from "../charts.js";
import { confirmDo, openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { count, duration, ms, share } from "../format.js";
import { jobHref } from "../places.js";
import { sheet } from "../sheet.js";
import {
  button,
  facts,
  field,
  foreign,
  hostName,
  input,
  linkButton,
  num,
  section,
  select,
  skeleton,
  sub,
} from "../ui.js";
import { STATUS_KINDS, when } from "./shared.js";

const HOLDS = [
  ["600", "10 minutes"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["0", "until it is released"],
];
const pathOf = (ctx, host) =>
  `/jobs/${encodeURIComponent(ctx.job)}/hosts/${encodeURIComponent(host)}/actions`;

export function hostSheet(ctx, neighbours, name) {
  const data = ctx.data("host"),
    listed = ctx.memory["rows-hosts"]?.last.get(name);
  return sheet(
    ctx,
    { title: hostName(name, 120, listed?.shown_host), param: "host", neighbours, id: name, what: "host" },
    ctx.show("host", () => body(ctx, data), { waiting: skeleton("lines", 10), what: "This host" }),
  );
}

function body(ctx, one) {
  const [first, second] = one.say ?? ["", ""],
    ledger = (query) => jobHref(ctx.job, "/attempts", { host: one.host, ...query });
  return [
    h("p", { class: "say" }, h("b", {}, foreign(first, { max: 400 })), " ", foreign(second, { max: 400 })),
    h("div", { class: "does" }, ways(ctx, one)),
    one.starts &&
      section(
        "Starts in the last minute",
        { level: 3, id: "host-starts", meta: one.starts.length ? `${count(one.starts.length)}` : "none" },
        starts(ctx, one),
      ),
    one.delays?.length > 1 &&
      section(
        "Delay in force, last hour",
        {
          level: 3,
          id: "host-delays",
          meta: [
            h("b", {}, duration(one.delay_s)),
            ` now, most ${duration(Math.max(...one.delays.filter((x) => x !== null)))}`,
          ],
        },
        spark(one.delays, {
          label: "delay in force in the last hour",
          wide: true,
          kind: one.why === "backoff" ? "held" : "",
        }),
      ),
    one.answers &&
      section(
        "Answers, last hour",
        { level: 3, id: "host-answers", meta: num(ledger({}), "all attempts") },
        answers(one, ledger),
      ),
    section("What is known", { level: 3, id: "host-known" }, known(ctx, one)),
  ];
}

function ways(ctx, one) {
  const isHeld = one.hold_until > ctx.now(),
    path = pathOf(ctx, one.host),
    expect = { hold_until: one.hold_until ?? null };
  return [
    isHeld
      ? actButton(
          ctx,
          "Ask it now",
          () =>
            act(ctx, path, { do: "release", expect }, "Its hold is lifted; one request is tried at once.", {
              undone: "It is held again.",
            }),
          { kind: "main" },
        )
      : actButton(ctx, "Hold it…", () => hold(ctx, one, path, expect)),
    actButton(ctx, "Set its pace…", () => setPace(ctx, one, path)),
    one.dead > 0 &&
      linkButton(jobHref(ctx.job, "/dead", { host: one.host }), `See ${count(one.dead)} dead letters`),
    one.pending > 0 && actButton(ctx, "Skip it…", () => skip(ctx, one, path), { kind: "grave" }),
  ];
}

function hold(ctx, one, path, expect) {
  const form = { seconds: "3600" };
  openDialog(`Hold ${one.host}`, ({ close }) => {
    const send = () => {
      close();
      act(
        ctx,
        path,
        { do: "hold", with: { seconds: Number(form.seconds) || null }, expect },
        `It is held ${HOLDS.find(([s]) => s === form.seconds)[1].replace(/^(\d)/, "for $1")}.`,
        { undone: "It may be asked again." },
      );
    };
    return {
      body: [
        h(
          "p",
          {},
          "No worker of this job asks it before that time. Its requests wait; nothing is lost or charged.",
        ),
        h(
          "div",
          { class: "form" },
          field(
            "For how long",
            select(HOLDS, form.seconds, {
              onchange: (event) => {
                form.seconds = event.target.value;
              },
            }),
          ),
        ),
      ],
      foot: [button("Do not hold it", close), button("Hold it", send, { kind: "main" })],
    };
  });
}

function setPace(ctx, one, path) {
  const form = {
    delay: one.set_delay_s === null || one.set_delay_s === undefined ? "" : String(one.set_delay_s),
    per_host: String(one.per_host ?? ""),
  };
  openDialog(`Pace of ${one.host}`, ({ close, again }) => {
    const faults = Object.fromEntries(
      Object.entries(form)
        .filter(([, text]) => text.trim() && !(Number(text) >= 0))
        .map(([name]) => [name, "A number, such as 2."]),
    );
    const numberOf = (text) => (text.trim() ? Number(text) : null),
      bind = (name) => ({
        value: form[name],
        inputmode: "decimal",
        oninput: (event) => {
          form[name] = event.target.value;
          again();
        },
      });
    const send = () => {
      close();
      act(
        ctx,
        path,
        {
          do: "pace",
          with: { delay: numberOf(form.delay), per_host: numberOf(form.per_host) },
          expect: { delay_s: one.set_delay_s ?? null },
        },
        "The pace holds from its next turn on.",
        { undone: "The former pace holds again." },
      );
    };
    return {
      body: [
        h("p", {}, "For this host in this job. robots.txt can only make it longer."),
        h(
          "div",
          { class: "form" },
          field(
            "Seconds between two starts",
            input({ placeholder: `${duration(one.delay_s)} (follows the host)`, ...bind("delay") }),
            { hint: "empty follows its response time", error: faults.delay },
          ),
          field("Requests at once", input(bind("per_host")), { error: faults.per_host }),
        ),
      ],
      foot: [
        button("Keep it", close),
        button("Set the pace", send, { kind: "main", disabled: Object.keys(faults).length > 0 }),
      ],
    };
  });
}

const skip = (ctx, one, path) =>
  confirmDo({
    title: `Skip ${one.host}`,
    leave: "Keep them",
    lines: [
      `Its ${count(one.pending)} pending requests become skipped. Their URLs stay known and are not fetched again in this job.`,
      "It can be undone until the job ends: they wait again then.",
    ],
    does: [
      [
        `Skip ${count(one.pending)} requests`,
        () =>
          act(
            ctx,
            path,
            { do: "skip", expect: { pending: one.pending } },
            `${count(one.pending)} requests were skipped.`,
            { undone: "They wait again." },
          ),
        "grave sure",
      ],
    ],
  });

function starts(ctx, one) {
  const now = ctx.now(),
    place = (t) => `${Math.max(0, Math.min(100, (1 - (now - t) / 60) * 97))}%`,
    recent = one.starts.filter((t) => now - t < 60);
  return [
    h(
      "div",
      {
        class: "starts",
        role: "img",
        "aria-label": `${recent.length} requests were started in the last minute`,
      },
      recent.map((t) => h("i", { css: { left: place(t) } })),
      one.next_at &&
        !(one.hold_until > now) &&
        h("i", { key: "next", class: "next", css: { left: "98.5%" } }),
    ),
    h(
      "div",
      { class: "starts-axis" },
      h("span", {}, "1 min ago"),
      h("span", {}, one.hold_until > now ? "no turn before the hold ends" : "next turn"),
    ),
  ];
}

const answers = (one, ledger) =>
  h(
    "ul",
    { class: "rows" },
    Object.entries(STATUS_KINDS).map(([status, kind]) => {
      const values = one.answers[status] ?? [],
        n = values.reduce((sum, value) => sum + (value ?? 0), 0);
      return h(
        "li",
        { key: status },
        h(
          "span",
          { class: "with-spark answers" },
          h("span", {}, num(ledger({ status }), status)),
          bars(values, { label: `${status}: ${count(n)}`, kind }),
        ),
        h("b", {}, count(n)),
      );
    }),
  );

const known = (ctx, one) =>
  facts([
    ["Pages", count(one.pages)],
    ["Pending, delayed", `${count(one.pending)}, ${count(one.delayed ?? 0)}`],
    ["In flight", one.per_host ? `${count(one.in_flight)} of ${count(one.per_host)}` : count(one.in_flight)],
    one.success !== null && one.success !== undefined && ["Success", share(one.success)],
    one.p50_s && ["p50, p95", `${ms(one.p50_s)}, ${ms(one.p95_s)}`],
    ["Incidents, silences", `${count(one.incidents)}, ${count(one.silences)}`],
    one.rung && [
      "Rung",
      one.rung,
      one.rung_since && sub(" since ", when(ctx, one.rung_since, false)),
      one.rung_why && sub(": ", foreign(one.rung_why, { max: 160 })),
    ],
    one.robots && [
      "robots.txt",
      one.robots.read_at ? ["read ", when(ctx, one.robots.read_at)] : "not read yet",
      sub(one.robots.crawl_delay_s ? `; Crawl-delay: ${one.robots.crawl_delay_s}` : "; no Crawl-delay"),
      one.robots.disallow?.length > 0 &&
        sub(
          "; disallows ",
          one.robots.disallow.map((path) => [foreign(path, { max: 40 }), " "]),
        ),
    ],
  ]);
