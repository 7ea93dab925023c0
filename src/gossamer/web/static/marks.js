// Marks: shape first, colour second. 14 px, drawn with the text (design, section 6).
import { h } from "./dom.js";

const TICK = "M2.5 8.5 6.5 12.5 13.5 4",
  CROSS = "M3.5 3.5l9 9M12.5 3.5l-9 9";
const SHAPES = {
  running: ["M4 2.5 12.5 8 4 13.5z", true],
  paused: ["M4 3h3v10H4zM9 3h3v10H9z", true],
  finished: [TICK, false],
  cancelled: [CROSS, false],
  unfinished: ["M8 2.5a5.5 5.5 0 1 1-5.5 5.5M8 5v3.2l2.2 1.6", false],
  failed: ["M8 1.8 14.2 8 8 14.2 1.8 8z", true],
  dead: ["M8 1.8 14.2 8 8 14.2 1.8 8z", true],
  held: ["M8 2 15 14H1z", true],
  info: ["M8 7v5M8 4v.6", false],
  ok: [TICK, false],
  lost: ["M3 3l10 10M8 1.8 14.2 8 8 14.2 1.8 8z", false],
  seed: [
    "M8 14V7M8 9C8 6 5.5 4.5 2.5 4.5 2.5 7.5 5 9 8 9ZM8 7c0-2.5 2-4.2 5.5-4.5 0 3-2 4.5-5.5 4.5Z",
    false,
  ],
  search: ["M11 11l3.5 3.5M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10z", false],
  close: [CROSS, false],
  menu: ["M2 4h12M2 8h12M2 12h12", false],
  down: ["M4 6l4 4 4-4", false],
  up: ["M4 10l4-4 4 4", false],
  next: ["M6 3.5 10.5 8 6 12.5", false],
  back: ["M10 3.5 5.5 8 10 12.5", false],
  copy: ["M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3", false],
  out: ["M6 3H3v10h10v-3M9 3h4v4M13 3 7.5 8.5", false],
  save: ["M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11", false],
  keys: ["M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6", false],
  theme: ["M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12", false],
};

/** A mark; with a label it is an image that is read out, without one it is decoration. */
export function mark(name, label) {
  const [d, filled] = SHAPES[name] ?? SHAPES.info;
  const said = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return h(
    "svg",
    { class: ["mark", `mark-${name}`, filled && "filled"], viewBox: "0 0 16 16", ...said },
    h("path", { d }),
  );
}
/** The room of a mark, where other rows have one. */
export const noMark = () => h("i", { class: "mark" });

const THREADS =
  "M10 1.5V18.5M2.6 5.7 17.4 14.3M2.6 14.3 17.4 5.7M10 5.2Q7.6 7 5.8 7.6 6.1 10 5.8 12.4 7.6 13 10 14.8 " +
  "12.4 13 14.2 12.4 13.9 10 14.2 7.6 12.4 7 10 5.2Z";
/** Three threads and what they hold: drawn in ink, never coloured, never animated. */
export const brandMark = () =>
  h("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, h("path", { d: THREADS }));

const OF_STATE = {
  running: "running",
  paused: "paused",
  finished: "finished",
  cancelled: "cancelled",
  unfinished: "unfinished",
};
/** The mark of a job: what is wrong with it, else its state. */
export function jobMark(job) {
  if (job.state === "running" && job.trouble_kind === "held") return mark("held", "held");
  if (job.state === "running" && job.limit === "held") return mark("held", "held");
  if (job.state === "running" && job.is_fresh) return mark("seed", "just begun");
  return mark(OF_STATE[job.state] ?? (job.state === "failed" ? "dead" : "unfinished"), job.state);
}
