// What a view is given: the address, the answers to its questions, the time, and what it may do.
import { h } from "./dom.js";
import { clock } from "./format.js";
import { button, head, skeleton } from "./ui.js";

const MAY_ACT = new Set(["operate", "admin"]);

export class Context {
  constructor(app, { path, query, job }) {
    this.app = app;
    this.path = path;
    this.query = query;
    this.job = job; // the id of the job that the view is about, or null
    this.memory = {}; // what the view keeps until another one is shown: frozen rows, what is picked, open tables
  }
  get me() {
    return this.app.me;
  }
  now() {
    return this.app.now();
  }
  redraw() {
    this.app.redraw();
  }
  go(href) {
    this.app.go(href);
  }
  /** Changes the query of the address: null leaves a name out. */
  set(changes, { replace = false } = {}) {
    this.app.go(addressOf(this.path, { ...this.query, ...changes }), { replace });
  }
  /** All questions anew, in the order of now where rows are frozen. */
  again() {
    this.app.parts.everythingAgain({ anew: true });
  }

  /** Why nothing can be changed now; "" where it can. */
  get cannotAct() {
    if (this.app.live.isLost) return "Not now: there is no connection.";
    return MAY_ACT.has(this.me?.role) ? "" : "Your token may look, not change (role read).";
  }

  part(name) {
    return this.app.parts.get(name);
  }
  data(name) {
    return this.part(name)?.data;
  }

  /** A part when it is there; before, what stands in its place; and after a failure what is known, with its time. */
  show(name, draw, { waiting = skeleton("lines", 6), what } = {}) {
    const part = this.part(name);
    if (!part || (part.optional && part.error?.status === 404)) return null; // this server does not offer it
    if (part.data === undefined) return part.error ? this.fault(part, what) : this.waiting(part, waiting);
    return part.error
      ? [this.fault(part, what), h("div", { key: `old-${name}`, class: "stale" }, draw(part.data))]
      : draw(part.data);
  }
  /** A view that is one part: its head is the answer; its name while there is none; and what failed, if it did. */
  whole(name, title, waiting, draw) {
    const part = this.part(name),
      failed = part?.error && head({ answer: part.error.what });
    if (part?.data === undefined)
      return [failed || head({ answer: title }), this.show(name, draw, { waiting, what: "" })];
    return [failed, this.show(name, draw, { what: "" })];
  }

  waiting(part, blocks) {
    if (part.isQuiet) return null;
    return [
      blocks,
      part.isLate &&
        h(
          "p",
          { class: "sub", role: "status" },
          "This takes longer than usual: the dashboard’s server has not answered yet.",
        ),
    ];
  }

  /** `what` is empty where the head of the view says already what failed. */
  fault(part, what = "This") {
    return h(
      "div",
      { key: `fault-${part.name}`, class: "fault", role: "alert" },
      h("p", {}, what ? [h("b", {}, `${what} could not be read. `), part.error.message] : part.error.why),
      h(
        "p",
        { class: "sub" },
        part.error.way && `${part.error.way} `,
        "The crawls do not depend on this page.",
        part.data !== undefined && ` What you see below is of ${clock(part.at)}.`,
      ),
      h(
        "div",
        { class: "ways" },
        button("Try again", () => this.app.parts.again(part.name)),
        h(
          "span",
          { class: "sub" },
          `Tried at ${clock(part.askedAt / 1000)}.`,
          part.error.way.includes("doctor") ? null : [" On the server: ", h("code", {}, "gossamer doctor")],
        ),
      ),
    );
  }
}

export function addressOf(path, query) {
  const set = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return set.length ? `${path}?${new URLSearchParams(set)}` : path;
}
