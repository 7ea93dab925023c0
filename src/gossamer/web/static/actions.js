// What changes something: one request, with what its user saw (`expect`) and a key of its own, then a toast with Undo.
import { ask, tell } from "./api.js";
import { toast } from "./dialog.js";
import { count } from "./format.js";
import { button } from "./ui.js";

/**
 * Does something and says so. `path` takes the action, `order` is {do, with, expect}; `said` is what the toast says
 * (or a function of the answer), `undone` what it says after Undo. Where the server saw another state than this page,
 * nothing is done, the page is read again, and the toast says what has changed. `many`: how many it is done to; what the
 * server does in slices is followed in the toast.
 */
export async function act(ctx, path, order, said, { undone = "As before.", many = 0 } = {}) {
  let answer;
  try {
    answer = await tell(path, { ...order, key: newKey() });
  } catch (error) {
    toast(error.status === 409 ? error.message : `Not done: ${error.message}`, {
      kind: "failed",
    });
    ctx.again();
    return null;
  }
  const undo = answer.undo_until ? () => takeBack(ctx, answer.action, undone) : undefined;
  const note = toast(typeof said === "function" ? said(answer) : said, { undo });
  if (answer.after?.done < many) follow(ctx, answer, many, note);
  ctx.again();
  return answer;
}

const LOOK_MS = 1000;
const STILL = 10; // looks without anything new: what is left was taken by somebody else

/** How far the server has got, until it is through, it is undone, or nobody wants to know. */
async function follow(ctx, { action, after }, many, note) {
  let done = after.done,
    still = 0;
  while (note.isThere && done < many && still < STILL) {
    note.progress(`${count(done)} of ${count(many)} so far`);
    await new Promise((then) => setTimeout(then, LOOK_MS));
    const now = await ask(`/actions/${encodeURIComponent(action)}`).catch(() => null);
    if (!now || now.undone_at) break;
    still = now.after.done > done ? 0 : still + 1;
    done = now.after.done;
  }
  note.progress("");
  if (still === STILL) note.say(`${count(done)} of ${count(many)} were there; the others had gone already.`);
  ctx.again();
}

/** Undoes an action by its number. */
export async function takeBack(ctx, action, undone = "As before.") {
  try {
    await tell(`/actions/${encodeURIComponent(action)}`, undefined, { method: "DELETE" });
    toast(undone);
  } catch (error) {
    toast(`Not undone: ${error.message}`, { kind: "failed" });
  }
  ctx.again();
}

/** A button that changes something: it is there for all, and says why some cannot use it. */
export function actButton(ctx, label, doIt, props = {}) {
  const why = ctx.cannotAct;
  return button(label, doIt, why ? { ...props, disabled: true, why } : props);
}

/** An action that is sent twice by accident is done once: the server knows its key. */
const newKey = () =>
  crypto.randomUUID
    ? crypto.randomUUID()
    : [...crypto.getRandomValues(new Uint8Array(16))]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
