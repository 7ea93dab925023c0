// Go to: a job, a host, a place; a URL is explained.
import { ask, pathOf } from "./api.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { count, cut } from "./format.js";
import { FLEET, jobHref, OF_JOB } from "./places.js";
import { button, foreign, lifeHref } from "./ui.js";

const ASK_AFTER_MS = 150; // without another key
const isUrl = (text) => /^https?:\/\//i.test(text) || /^[\w-]+(\.[\w-]+)+(:\d+)?\/./.test(text);

export function openGoTo(app, { onlyJobs = false } = {}) {
  const state = { text: "", at: 0, jobs: app.parts.get("overview")?.data?.jobs ?? [], hosts: [] };
  let later = null;
  const find = () => {
    clearTimeout(later);
    later = setTimeout(() => look(app, state, dialog.again), ASK_AFTER_MS);
  };
  const dialog = openDialog(onlyJobs ? "Go to a job" : "Go to", ({ close, again }) => {
    const list = choices(app, state, onlyJobs),
      chosen = Math.max(0, Math.min(state.at, list.length - 1));
    const enter = (href) => {
      close();
      app.go(href);
    };
    const onKey = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        state.at = Math.max(0, Math.min(list.length - 1, chosen + step));
        again();
        document.getElementById(`o-${state.at}`)?.scrollIntoView({ block: "nearest" });
      } else if (event.key === "Enter" && list[chosen]) enter(list[chosen].href);
      else return;
      event.preventDefault();
    };
    const box = h("input", {
      class: "big",
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "found",
      "aria-label": "A job, a host, a place, or a URL",
      "aria-activedescendant": list.length ? `o-${chosen}` : null,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "shops-7, lamps.example, https://…",
      onkeydown: onKey,
      oninput: (event) => {
        state.text = event.target.value.trim();
        state.at = 0;
        again();
        find();
      },
    });
    const options = list.map(({ kind, name, more, href }, i) =>
      h(
        "a",
        {
          key: `${kind}-${href}`,
          href,
          role: "option",
          id: `o-${i}`,
          tabindex: "-1",
          "aria-selected": String(i === chosen),
          onclick: (event) => {
            event.preventDefault();
            enter(href);
          },
        },
        h("span", { class: "sub" }, kind),
        h("span", {}, foreign(name, { max: 80 }), more && h("span", { class: "sub" }, ` ${more}`)),
      ),
    );
    return {
      body: [
        box,
        h("div", { class: "found", id: "found", role: "listbox", "aria-label": "What was found" }, options),
        !list.length &&
          h("p", { class: "none" }, "No job, host or place has that in its name. A URL is explained."),
      ],
      foot: [
        h("p", { class: "sub for-keys" }, "↑ ↓ choose, Enter goes, Esc closes"),
        button("Close", close),
      ],
    };
  });
  look(app, state, dialog.again);
}

function choices(app, { text, jobs, hosts }, onlyJobs) {
  const low = text.toLowerCase(),
    job = app.railJob,
    has = (name) => name.toLowerCase().includes(low);
  const ofJobs = jobs
    .filter((one) => has(one.job))
    .slice(0, onlyJobs ? 12 : 6)
    .map((one) => ({ kind: "job", name: one.job, more: one.state, href: jobHref(one.job) }));
  if (onlyJobs) return ofJobs;
  const places = [
    ...FLEET.map(([address, name]) => [name, address]),
    ...(job ? OF_JOB.map(([end, name]) => [`${job}: ${name}`, jobHref(job, end)]) : []),
    ["One page’s life", "/page"],
    ["Start a crawl", "/new"],
  ];
  return [
    ...(isUrl(text)
      ? [
          {
            kind: "explain",
            name: cut(text, 80),
            href: lifeHref(/^https?:/i.test(text) ? text : `https://${text}`, job),
          },
        ]
      : []),
    ...ofJobs,
    ...hosts
      .filter((one) => low.length > 1 && has(one.host))
      .slice(0, 6)
      .map((one) => ({
        kind: "host",
        name: one.host,
        more: `${count(one.pending)} pending`,
        href: jobHref(job, "/hosts", { host: one.host }),
      })),
    ...places
      .filter(([name]) => has(name))
      .slice(0, 8)
      .map(([name, href]) => ({ kind: "place", name, href })),
  ];
}

/** What the server knows by that name. It is only help: without an answer, what is known here is offered. */
async function look(app, state, again) {
  const { text } = state,
    job = app.railJob;
  const [jobs, hosts] = await Promise.all([
    ask(pathOf("/jobs", { limit: 100 })).catch(() => null),
    job && text.length > 1
      ? ask(pathOf(`/jobs/${encodeURIComponent(job)}/hosts`, { q: text })).catch(() => null)
      : null,
  ]);
  if (state.text !== text) return;
  if (jobs?.jobs) state.jobs = jobs.jobs.map((one) => ({ job: one.job, state: one.state }));
  state.hosts = hosts?.hosts ?? [];
  if (document.getElementById("found")) again();
}
