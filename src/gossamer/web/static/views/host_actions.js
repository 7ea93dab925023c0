// What can be done with one host of a job: hold it, ask it now, set its pace, skip it.
import { act, actButton } from "../actions.js";
import { confirmDo, openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { jobHref } from "../places.js";
import { button, field, input, linkButton, select } from "../ui.js";

const HOLDS = [
  ["600", "10 minutes"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["0", "until it is released"],
];
const pathOf = (ctx, host) =>
  `/jobs/${encodeURIComponent(ctx.job)}/hosts/${encodeURIComponent(host)}/actions`;
/** What a person set was seen: where somebody has set something else meanwhile, nothing is done. */
const seenOf = (one) => ({ set_delay_s: one.set_delay_s ?? null });

export function waysOut(ctx, one) {
  const dead =
    one.dead !== 0 &&
    linkButton(
      jobHref(ctx.job, "/dead", { host: one.host }),
      one.dead ? `See ${count(one.dead)} dead letters` : "See its dead letters",
    );
  if (one.why === "skipped")
    return [actButton(ctx, "Take it again", () => take(ctx, one), { kind: "main" }), dead];
  return [
    one.hold_until > ctx.now()
      ? actButton(ctx, "Ask it now", () => release(ctx, one), { kind: "main" })
      : actButton(ctx, "Hold it…", () => hold(ctx, one)),
    actButton(ctx, "Set its pace…", () => setPace(ctx, one)),
    dead,
    one.pending > 0 && actButton(ctx, "Skip it…", () => skip(ctx, one), { kind: "grave" }),
  ];
}

const send = (ctx, one, kind, given, said, undone) =>
  act(ctx, pathOf(ctx, one.host), { do: kind, with: given, expect: seenOf(one) }, said, { undone });

const release = (ctx, one) =>
  send(ctx, one, "release", {}, "Its hold is lifted; one request is tried at once.", "It is held again.");
const take = (ctx, one) =>
  send(ctx, one, "take", {}, "It is asked again, at its pace.", "It is skipped again.");

function hold(ctx, one) {
  const form = { seconds: "3600" };
  openDialog(`Hold ${one.host}`, ({ close }) => {
    const doIt = () => {
      close();
      const name = HOLDS.find(([seconds]) => seconds === form.seconds)[1].replace(/^(\d)/, "for $1");
      send(
        ctx,
        one,
        "hold",
        { seconds: Number(form.seconds) || null },
        `It is held ${name}.`,
        "It may be asked again.",
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
      foot: [button("Do not hold it", close), button("Hold it", doIt, { kind: "main" })],
    };
  });
}

function setPace(ctx, one) {
  const form = {
    delay: one.set_delay_s === null || one.set_delay_s === undefined ? "" : String(one.set_delay_s),
  };
  openDialog(`Pace of ${one.host}`, ({ close, again }) => {
    const text = form.delay.trim(),
      error = text && !(Number(text) >= 0) ? "A number of seconds, such as 2." : "";
    const doIt = () => {
      close();
      send(
        ctx,
        one,
        "pace",
        { delay: text ? Number(text) : null },
        "The pace holds from its next turn on.",
        "The former pace holds again.",
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
            input({
              value: form.delay,
              placeholder: duration(one.delay_s),
              inputmode: "decimal",
              oninput: (event) => {
                form.delay = event.target.value;
                again();
              },
            }),
            { hint: "empty follows its response time", error },
          ),
        ),
      ],
      foot: [
        button("Keep it", close),
        button("Set the pace", doIt, { kind: "main", disabled: Boolean(error) }),
      ],
    };
  });
}

const skip = (ctx, one) =>
  confirmDo({
    title: `Skip ${one.host}`,
    leave: "Keep them",
    lines: [
      `Its ${count(one.pending)} pending requests are not fetched in this job, as long as it is skipped.`,
      "It can be undone until the job ends: they wait again then.",
    ],
    does: [
      [
        `Skip ${count(one.pending)} requests`,
        () => send(ctx, one, "skip", {}, `${one.host} is skipped.`, "Its requests wait again."),
        "grave sure",
      ],
    ],
  });
