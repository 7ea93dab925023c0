// Questions to the server: JSON under /api/v1, with entity tags, a time limit, and errors that say what happened.

const BASE = "/api/v1";
const PATIENCE_MS = 10_000;
const CHANGE_PATIENCE_MS = 40_000; // what changes something may start a process and wait for it
const KEPT = 40; // answers whose tag is remembered

/** A clause as a sentence of its own. */
const sentence = (text) =>
  text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";

/** What went wrong, why, and the way out, so that a view can say it. `status` is 0 where nobody answered. */
export class AskError extends Error {
  constructor({ what, why = "", way = "" }, status = 0) {
    super([what, sentence(why)].filter(Boolean).join(" "));
    Object.assign(this, { what, why: sentence(why), way, status });
  }
}

const known = new Map(); // path -> {tag, data}: what a 304 stands for
let heard = () => {};
/** `listen(answered)` is told of every question whether somebody answered it. */
export const onAnswer = (listen) => {
  heard = listen;
};

/** The answer to a question. The same object as before means that nothing has changed. */
export async function ask(path, { signal } = {}) {
  const before = known.get(path);
  const answer = await send(path, { signal, headers: before ? { "If-None-Match": before.tag } : {} });
  if (answer.status === 304) return before.data;
  const data = await answer.json();
  const tag = answer.headers.get("ETag");
  known.delete(path);
  if (tag) known.set(path, { tag, data });
  if (known.size > KEPT) known.delete(known.keys().next().value);
  return data;
}

/** Something to be done: `POST` or `DELETE` with a document. */
export async function tell(path, body, { method = "POST" } = {}) {
  const headers = { "Content-Type": "application/json" };
  const answer = await send(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return answer.status === 204 ? {} : answer.json();
}

/** Nothing that was told to the one who is signed in is told to the next. */
export const forgetAnswers = () => known.clear();
export const addressOf = (path) => BASE + path;

async function send(path, { signal, ...rest }) {
  const patience_ms = rest.method ? CHANGE_PATIENCE_MS : PATIENCE_MS,
    patience = AbortSignal.timeout(patience_ms);
  let answer;
  try {
    answer = await fetch(BASE + path, {
      cache: "no-store",
      credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, patience]) : patience,
      ...rest,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    heard(false);
    throw new AskError({
      what:
        error.name === "TimeoutError"
          ? `The dashboard’s server did not answer within ${patience_ms / 1000} s.`
          : "The dashboard’s server does not answer.",
    });
  }
  heard(true);
  if (answer.ok || answer.status === 304) return answer;
  throw await errorOf(answer);
}

async function errorOf(answer) {
  const { error = {} } = await answer.json().catch(() => ({}));
  return new AskError({ what: `The server answered ${answer.status}.`, ...error }, answer.status);
}

/** A path with its query; what is not set is left out. */
export function pathOf(path, query = {}) {
  const set = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const text = new URLSearchParams(set).toString();
  return text ? `${path}?${text}` : path;
}
