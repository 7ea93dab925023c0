// What can be done with dead letters: retry, edit and retry, drop.
import { act } from "../actions.js";
import { confirmDo, openDialog } from "../dialog.js";
import { h } from "../dom.js";
import { count, cut, plural } from "../format.js";
import { thaw } from "../table.js";
import { button, field, input, select } from "../ui.js";
import { apiOf, RUNGS } from "./shared.js";

const COUNTED = 10_000; // the server counts no further
/** `which` is {filter, count}: the server refuses where it finds another number than was seen. */
const orderFor = (which, more = {}) => ({
  filter: which.filter,
  expect: which.count > COUNTED ? {} : { count: which.count },
  ...more,
});
const wait = (n) => `${n === 1 ? "1 request waits" : `${count(n)} requests wait`} again.`;

const UNDONE = { retry: "Those not yet begun are dead letters again.", drop: "They are dead letters again." };

/** Does it; then the list is as it is, none is picked, and a sheet of what is gone is closed. */
async function send(ctx, what, order, said, many) {
  const done = await act(ctx, apiOf(ctx, `/dead/${what}`), order, said, { undone: UNDONE[what], many });
  if (!done) return;
  delete ctx.memory.picks;
  thaw(ctx, "dead");
  if (ctx.query.id) ctx.set({ id: null }, { replace: true });
}

export function retryLetters(ctx, which) {
  const go = () => send(ctx, "retry", orderFor(which), wait(which.count), which.count);
  if (which.count === 1) {
    go();
    return;
  }
  confirmDo({
    title: `Retry ${plural(which.count, "dead letter")}?`,
    lines: ["They wait again with their counts at zero, each at its host’s pace."],
    leave: "Leave them",
    does: [[`Retry ${count(which.count)} now`, go, "main"]],
  });
}

export function dropLetters(ctx, which) {
  const said = `${plural(which.count, "dead letter")} ${which.count === 1 ? "was" : "were"} dropped.`;
  confirmDo({
    title: `Drop ${plural(which.count, "dead letter")}?`,
    leave: which.count === 1 ? "Keep it" : "Keep them",
    lines: [
      which.count === 1
        ? "Its URL stays known and is not fetched again in this job; the ledger keeps its attempts."
        : "Their URLs stay known and are not fetched again in this job; the ledger keeps their attempts.",
      "It can be undone for 10 minutes, here or under Changes.",
    ],
    does: [[`Drop ${count(which.count)}`, () => send(ctx, "drop", orderFor(which), said, which.count), "grave sure"]],
  });
}

const AS_BEFORE = "as before";

/** What differs from the letter, as the server takes it; a fault where something cannot be read. */
function changesOf(form, letter) {
  const change = {},
    faults = {};
  if (letter && form.url.trim() && form.url !== letter.url) change.url = form.url.trim();
  if (form.rung !== AS_BEFORE) change.rung = form.rung;
  if (form.callback.trim() && form.callback.trim() !== (letter?.callback ?? ""))
    change.callback = form.callback.trim();
  if (form.priority.trim() && Number(form.priority) !== letter?.priority) {
    if (Number.isInteger(Number(form.priority))) change.priority = Number(form.priority);
    else faults.priority = "A whole number, such as 1.";
  }
  if (form.meta.trim() && form.meta !== metaText(letter)) {
    try {
      change.meta = JSON.parse(form.meta);
    } catch {
      faults.meta = "This is not JSON.";
    }
  }
  return { change, faults };
}
const metaText = (letter) =>
  letter && Object.keys(letter.meta ?? {}).length ? JSON.stringify(letter.meta, null, 1) : "";

/** A form with what differs; `letter` where it is one. */
export function editLetters(ctx, which, letter = null) {
  const form = {
    url: letter?.url ?? "",
    rung: AS_BEFORE,
    callback: letter?.callback ?? "",
    priority: letter ? String(letter.priority) : "",
    meta: metaText(letter),
  };
  const title = letter
    ? `Edit and retry letter ${count(letter.id)}`
    : `Edit and retry ${plural(which.count, "dead letter")}`;
  openDialog(
    title,
    ({ close, again }) => {
      const { change, faults } = changesOf(form, letter),
        names = Object.keys(change);
      const told = names.length
        ? `Changed: ${names.map((name) => `${name} → ${cut(typeof change[name] === "string" ? change[name] : JSON.stringify(change[name]), 80)}`).join("; ")}`
        : "Nothing is changed: the same as Retry.";
      const bind = (name) => ({
        value: form[name],
        oninput: (event) => {
          form[name] = event.target.value;
          again();
        },
      });
      const retry = () => {
        close();
        const order = orderFor(which, names.length ? { change } : {});
        send(ctx, "retry", order, wait(which.count), which.count);
      };
      return {
        body: [
          h(
            "p",
            {},
            letter
              ? "Only this request is changed; the spider and the job stay as they are."
              : `The same change for ${plural(which.count, "request")}.`,
          ),
          letter &&
            field("URL", h("textarea", { rows: 3, ...bind("url") }), {
              wide: true,
              hint: "Another URL becomes a request of its own; this letter is dropped.",
            }),
          h(
            "div",
            { class: "form" },
            field(
              "Rung",
              select([[AS_BEFORE, "as the ladder says"], ...RUNGS], form.rung, {
                onchange: (event) => {
                  form.rung = event.target.value;
                  again();
                },
              }),
            ),
            field("Callback", input({ placeholder: "as before", ...bind("callback") })),
            field(
              "Priority",
              input({ placeholder: "as before", inputmode: "numeric", ...bind("priority") }),
              { error: faults.priority },
            ),
          ),
          field("meta", h("textarea", { rows: 3, placeholder: "as before", ...bind("meta") }), {
            wide: true,
            hint: "JSON",
            error: faults.meta,
          }),
          h("p", { class: "hint", role: "status" }, told),
        ],
        foot: [
          button("Leave as it is", close),
          button(which.count > 1 ? `Retry ${count(which.count)}` : "Retry", retry, {
            kind: "main",
            disabled: Object.keys(faults).length > 0,
          }),
        ],
      };
    },
    { wide: true },
  );
}
