// Keys: what each does, and where they do nothing (while one types, and in dialogs).
import { isDialogOpen, openDialog, openRail } from "./dialog.js";
import { h } from "./dom.js";
import { openGoTo } from "./goto.js";
import { FLEET, jobHref, OF_JOB } from "./places.js";
import { button } from "./ui.js";

const KEPT = "gossamer.keys"; // "off" where single keys do nothing on this machine
const SECOND_KEY_MS = 1200;

const MEANINGS = (places) => [
  ["/", "go to a job, host or URL"],
  ...places,
  ["g u", "explain a URL"],
  ["j k", "next, previous row"],
  ["Enter", "open the row"],
  ["x", "pick the row"],
  ["[ ]", "previous, next in the sheet"],
  ["Esc", "close the sheet"],
  ["p", "pause, resume the job"],
  ["l", "change limits"],
  ["r", "retry"],
  ["e", "edit and retry"],
  ["u", "undo what was just done"],
  ["s", "sort again, show newer"],
  ["t", "charts as tables"],
  ["n", "start a crawl"],
  [".", "hold, go on with live numbers"],
  ["?", "these keys"],
];
const ofPlaces = () => [...FLEET, ...OF_JOB].map(([, name, key]) => [`g ${key}`, name]);

export function openKeys() {
  openDialog(
    "Keys",
    ({ close }) => ({
      body: [
        h(
          "label",
          { class: "check first" },
          h("input", {
            type: "checkbox",
            checked: areOn(),
            onchange: (event) => localStorage.setItem(KEPT, event.target.checked ? "on" : "off"),
          }),
          h(
            "span",
            {},
            "Single keys do something ",
            h("span", { class: "sub" }, "(Enter, Esc and the arrows always do)"),
          ),
        ),
        h(
          "div",
          { class: "keys" },
          MEANINGS(ofPlaces()).map(([keys, what]) =>
            h(
              "div",
              {},
              h("span", {}, what),
              h(
                "span",
                {},
                keys.split(" ").map((key) => [h("kbd", {}, key), " "]),
              ),
            ),
          ),
        ),
      ],
      foot: button("Close", close, { kind: "main" }),
    }),
    { wide: true },
  );
}
const areOn = () => localStorage.getItem(KEPT) !== "off";

/** Presses the button that says it has this key, where one is shown. */
function press(selector) {
  const node = [...document.querySelectorAll(selector)].find(
    (one) => !one.disabled && one.getClientRects().length,
  );
  node?.click();
  return Boolean(node);
}

export function listenToKeys(app) {
  let waitsUntil = 0; // after g, for the key of a place
  document.addEventListener("keydown", (event) => {
    if (isDialogOpen() || event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openGoTo(app);
      return;
    }
    const isTyping = event.target.closest?.(
      "input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]",
    );
    if (event.key === "Escape") {
      onEscape(event, isTyping);
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !areOn() || app.isSignedOut) return;
    const isSecond = Date.now() < waitsUntil;
    waitsUntil = event.key === "g" && !isSecond ? Date.now() + SECOND_KEY_MS : 0;
    const isDone = isSecond ? goByKey(app, event.key) : onSingle(app, event);
    if (isDone) event.preventDefault();
  });
}

/** Esc leaves a field, closes the menu of a phone, then the sheet. */
function onEscape(event, isTyping) {
  const rail = document.getElementById("rail");
  if (isTyping) event.target.blur();
  else if (rail?.classList.contains("open")) openRail(false);
  else press(".side .tools [aria-label='Close (Esc)']");
}

function goByKey(app, key) {
  const place = FLEET.find((one) => one[2] === key),
    ofJob = OF_JOB.find((one) => one[2] === key),
    job = app.railJob;
  if (key === "u") app.go("/page");
  else if (place) app.go(place[0]);
  else if (ofJob && job) app.go(jobHref(job, ofJob[0]));
  else return false;
  return true;
}

function onSingle(app, event) {
  const { key } = event,
    by = (name, within = "main") => press(`${within} .btn[aria-keyshortcuts="${name}"]`);
  if (key === "/") openGoTo(app);
  else if (key === "?") openKeys();
  else if (key === ".") app.hold();
  else if (key === "n") app.go("/new");
  else if (key === "u") return press('.toast .btn[aria-keyshortcuts="u"]');
  else if (key === "j" || key === "k") return toFirstRow(event);
  else if (key === "[" || key === "]") return press(`.side [data-key="${key}"]`);
  else if (key === "r" || key === "e") return by(key, ".side") || by(key);
  else if (["p", "l", "s", "t"].includes(key)) return by(key);
  else return false;
  return true;
}

/** With the focus elsewhere, j and k begin at the row that Tab would go to. */
function toFirstRow(event) {
  if (event.target.closest("tr[data-row]")) return false;
  const row = document.querySelector('main tr[data-row][tabindex="0"]');
  row?.focus();
  return Boolean(row);
}
