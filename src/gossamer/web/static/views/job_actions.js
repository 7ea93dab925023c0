// What can be done with a job: pause, resume, change its limits, cancel.
import { act } from "../actions.js";
import { ask } from "../api.js";
import { confirmDo, openDialog, toast } from "../dialog.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { button, field, input } from "../ui.js";
import { typed, untyped } from "./settings.js";

const path = (id, end = "/actions") => `/jobs/${encodeURIComponent(id)}${end}`;

export const pauseJob = (ctx, id) =>
  act(
    ctx,
    path(id),
    { do: "pause", expect: { state: "running" } },
    `${id} is paused. What is in flight is finished.`,
    { undone: `${id} goes on.` },
  );
export const resumeJob = (ctx, { job, state }) =>
  act(ctx, path(job), { do: "resume", expect: { state } }, `${job} goes on.`, {
    undone: `${job} is paused again.`,
  });

export const acceptJob = (ctx, id) =>
  act(ctx, path(id), { do: "accept" }, `Accepted. Later jobs are compared with ${id}.`);

export const cancelJob = (ctx, job) =>
  confirmDo({
    title: `Cancel ${job.job}?`,
    leave: "Let it run",
    lines: [
      "It stops for good: it cannot be resumed. What it has stored stays.",
      "It is paused at once, and cancelled after 10 s unless that is undone.",
    ],
    list: [
      `${count(job.waiting)} requests that wait are not fetched`,
      `${count(job.dead)} dead letters stay until its requests are forgotten`,
      `${count(job.items)} items stay`,
    ],
    does: [
      [
        `Cancel ${job.job}`,
        () =>
          act(
            ctx,
            path(job.job),
            { do: "cancel", expect: { state: job.state } },
            `${job.job} is paused, and is cancelled in 10 s.`,
            { undone: `${job.job} goes on.` },
          ),
        "grave sure",
      ],
    ],
  });

/** name -> [label, hint, what a change means] */
const LIMITS = {
  per_host: [
    "Requests in flight at one host",
    "1 … 64",
    "Hosts that answer in time are asked more at once; what robots.txt asks for stays.",
  ],
  delay: [
    "Seconds between two starts at one host",
    "empty follows the host",
    "One delay for all hosts; those that ask for more in robots.txt keep it.",
  ],
  min_delay: ["Least seconds of the delay that follows the host", "", "No host is asked faster than this."],
  max_pages: [
    "Pages of the whole crawl",
    "empty is no limit",
    "At this number the job ends as unfinished; what waits is kept.",
  ],
  max_depth: [
    "Hops from a seed",
    "only for what is found from now on",
    "What waits already is fetched all the same.",
  ],
  max_retries: ["Retries before a dead letter", "", "Counts for the next failure of each request."],
  max_time: [
    "Seconds the crawl may run",
    "empty is no limit",
    "The job ends as unfinished then; what waits is kept.",
  ],
};

/** A form with the limits that this job lets be changed while it runs: now, new, and what that means. */
export async function changeLimits(ctx, id) {
  let rows;
  try {
    rows = (await ask(path(id, "/settings"))).settings.filter((row) => row.is_live && LIMITS[row.key]);
  } catch (error) {
    toast(`The limits could not be read: ${error.message}`);
    return;
  }
  const former = Object.fromEntries(rows.map((row) => [row.key, row.value === null ? "" : typed(row.value)])),
    form = { ...former };
  openDialog(
    `Change the limits of ${id}`,
    ({ close, again }) => {
      const changed = Object.keys(form).filter((name) => form[name].trim() !== former[name]);
      const send = () => {
        close();
        const was = Object.fromEntries(
          changed.map((name) => [name, rows.find((row) => row.key === name).value]),
        );
        act(
          ctx,
          path(id),
          {
            do: "limits",
            with: Object.fromEntries(changed.map((name) => [name, untyped(form[name])])),
            expect: was,
          },
          `Limits of ${id} were changed; they hold from the next lease on.`,
          { undone: "The former limits hold again." },
        );
      };
      return {
        body: [
          h(
            "p",
            {},
            "They hold from the next lease on, for all workers, and are written to Changes with your token’s name.",
          ),
          h(
            "div",
            { class: "form" },
            rows.map(({ key }) =>
              field(
                LIMITS[key][0],
                input({
                  value: form[key],
                  placeholder: "none",
                  inputmode: "decimal",
                  oninput: (event) => {
                    form[key] = event.target.value;
                    again();
                  },
                }),
                { id: `limit-${key}`, hint: [key, LIMITS[key][1]].filter(Boolean).join(": ") },
              ),
            ),
          ),
          h(
            "div",
            { class: "hint", role: "status" },
            changed.length
              ? changed.map((name) =>
                  h(
                    "p",
                    {},
                    `${name}: ${former[name] || "none"} → ${form[name].trim() || "none"}. ${LIMITS[name][2]}`,
                  ),
                )
              : "Nothing is changed yet.",
          ),
        ],
        foot: [
          button("Keep as it is", close),
          button("Change limits", send, { kind: "main", disabled: !changed.length }),
        ],
      };
    },
    { wide: true },
  );
}
