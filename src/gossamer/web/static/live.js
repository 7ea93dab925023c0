// What is alive: one stream of the server's events, read by hand so that each byte counts as a sign of life.
//
// The browser's own EventSource tells neither comments (the server's beat, every 5 s) nor the status of a refusal;
// both are needed to say truly whether there is a connection. Where no stream is to be had, the page asks instead.
import { addressOf, pathOf } from "./api.js";

const SILENCE_MS = 10_000; // without a byte: no connection
const WAITS_MS = [1000, 2000, 4000, 8000, 15_000];
const ASK_EVERY_MS = 5000; // where the server has no stream left for this page
const HIDDEN_MS = 60_000; // a tab that nobody sees lets go of its stream

/** `act` has: frame(event, data), state(), ask() (all parts anew), signedOut(). */
export class Live {
  constructor(act) {
    this.act = act;
    this.topics = [];
    this.heardAt = Date.now();
    this.failures = 0;
    this.nextTry = 0;
    this.lastId = "";
    this.isPolling = false;
    this.isStreaming = false;
    this.isLost = false;
    setInterval(() => this.look(), 1000);
    window.addEventListener("online", () => this.tryNow());
    document.addEventListener("visibilitychange", () => this.onSight());
  }

  /** The topics that the page shows now: at most four, as the server allows. */
  watch(topics) {
    const next = topics.slice(0, 4);
    if (next.join() === this.topics.join()) return;
    this.topics = next;
    this.lastId = "";
    this.open();
  }

  /** A sign of life from anywhere: an answer to a question counts too. */
  heard() {
    this.heardAt = Date.now();
    if (!this.isLost) return;
    this.isLost = false;
    this.failures = 0;
    this.act.state();
  }

  tryNow() {
    this.failures = 0;
    this.open();
    this.act.ask();
  }

  stop() {
    this.reading?.abort();
    this.reading = null;
    this.isStreaming = false;
    clearTimeout(this.later);
  }

  async open() {
    this.stop();
    if (!this.topics.length || this.isAway) return;
    const reading = new AbortController();
    this.reading = reading;
    try {
      const headers = { Accept: "text/event-stream", ...(this.lastId && { "Last-Event-ID": this.lastId }) };
      const path = addressOf(pathOf("/stream", { topics: this.topics.join(",") }));
      const answer = await fetch(path, {
        headers,
        cache: "no-store",
        credentials: "same-origin",
        signal: reading.signal,
      });
      if (answer.status === 401) {
        this.act.signedOut();
        return;
      }
      if (!answer.ok) {
        this.heard();
        this.startPolling(Number(answer.headers.get("Retry-After")) || 60);
        return;
      }
      this.isPolling = false;
      this.failures = 0;
      this.isStreaming = true;
      await this.read(answer.body, reading.signal);
    } catch {
      /* what went wrong does not matter: it is tried again */
    }
    if (this.reading !== reading) return;
    this.isStreaming = false;
    this.openLater();
  }

  async read(body, signal) {
    const source = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!signal.aborted) {
      const { value, done } = await source.read();
      if (done) return;
      this.heard();
      text += value.replaceAll("\r\n", "\n");
      const events = text.split("\n\n");
      text = events.pop();
      events.forEach((event) => this.take(event));
    }
  }

  take(event) {
    const fields = { event: "message", data: "" };
    for (const line of event.split("\n")) {
      const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
      if (name === "data") fields.data += (fields.data && "\n") + value;
      else if (name) fields[name] = value;
    }
    if (fields.id) this.lastId = fields.id;
    if (!fields.data) return;
    const data = JSON.parse(fields.data);
    this.act.frame(fields.event, data);
  }

  openLater() {
    const wait = WAITS_MS[Math.min(this.failures, WAITS_MS.length - 1)];
    this.failures += 1;
    this.nextTry = Date.now() + wait;
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.open();
      if (this.isLost) this.act.ask();
    }, wait);
  }

  startPolling(againIn_s) {
    this.isPolling = true;
    this.askedAt = Date.now();
    this.later = setTimeout(() => this.open(), againIn_s * 1000);
  }

  /** Each second: is anybody there, and is it time to ask? */
  look() {
    const now = Date.now();
    if (this.isPolling && !document.hidden && now - this.askedAt >= ASK_EVERY_MS) {
      this.askedAt = now;
      this.act.ask();
    }
    if (!this.isLost && this.topics.length && !this.isAway && now - this.heardAt > SILENCE_MS) {
      this.isLost = true;
      this.stop();
      this.openLater();
      this.act.state();
    }
  }

  onSight() {
    clearTimeout(this.leaving);
    if (document.hidden) {
      this.leaving = setTimeout(() => {
        this.isAway = true;
        this.stop();
      }, HIDDEN_MS);
    } else if (this.isAway) {
      this.isAway = false;
      this.heardAt = Date.now();
      this.lastId = "";
      this.tryNow();
    }
  }
}

/** What makes the later answer of the former one, in a copy: the former stays as it was. */
export function applyDelta(former, { set, drop }) {
  const root = { answer: former };
  for (const [path, value] of set) holderOf(root, path)[lastOf(path)] = value;
  for (const path of drop) delete holderOf(root, path)[lastOf(path)];
  return root.answer;
}
const lastOf = (path) => path.at(-1) ?? "answer";

/** What holds the value at a path, copied on the way to it. */
function holderOf(root, path) {
  let place = root;
  for (const step of path.length ? ["answer", ...path.slice(0, -1)] : []) {
    place[step] = Array.isArray(place[step]) ? [...place[step]] : { ...place[step] };
    place = place[step];
  }
  return place;
}
