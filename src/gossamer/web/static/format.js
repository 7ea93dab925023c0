// Numbers, times and foreign text as people read them. The same rules as the command line's `observe/units`.

const clean = (n) => n.toLocaleString("en-US");
const missing = (n) => n === null || n === undefined || Number.isNaN(n);

export const count = (n) => (missing(n) ? "–" : clean(Math.round(n)));
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** In sentences: 590,000 is "590,000", 1,904,113 is "1.9 million". */
export function about(n) {
  if (n < 10_000) return clean(Math.round(n));
  if (n < 1_000_000) return clean(Number(n.toPrecision(2)));
  return `${Number((n / 1e6).toPrecision(n < 1e7 ? 2 : 3))} million`;
}

/** For axes, the rail and the cells of a heat map, where there is room for four characters. */
export function short(n) {
  if (missing(n)) return "–";
  if (n < 1000) return String(Math.round(n));
  if (n < 9950) return `${(n / 1000).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${(n / 1e6).toFixed(n < 9.95e6 ? 1 : 0)}M`;
}

/** Seconds as "0.25 s", "12 s", "3m 20s", "2h 05m", "4d 03h". */
export function duration(s) {
  if (missing(s)) return "–";
  if (s < 10) return `${Number(Math.max(s, 0).toPrecision(2))} s`;
  if (s < 59.5) return `${Math.round(s)} s`;
  const whole = Math.round(s),
    minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m ${two(whole % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${two(minutes % 60)}m`;
  const days = Math.floor(hours / 24);
  return days < 10_000 ? `${days}d ${two(hours % 24)}h` : "years";
}

/** A short time in milliseconds, given in seconds. */
export function ms(s) {
  if (missing(s)) return "–";
  return s < 10 ? `${clean(Math.round(s * 1000))} ms` : duration(s);
}

export function size(bytes) {
  if (missing(bytes)) return "–";
  if (bytes < 1000) return `${bytes.toFixed(0)} B`;
  let n = bytes;
  for (const unit of ["kB", "MB", "GB", "TB"]) {
    n /= 1000;
    if (n < 999.5 || unit === "TB")
      return n < 99.95 ? `${Number(n.toPrecision(3))} ${unit}` : `${clean(Math.round(n))} ${unit}`;
  }
  return "–";
}

export function rate(n) {
  if (missing(n)) return "–";
  if (n === 0) return "0/s";
  if (n < 0.5) return `${(n * 60).toFixed(1)}/min`;
  return n >= 100 ? `${clean(Math.round(n))}/s` : `${n.toFixed(1)}/s`;
}
/** "412 pages/s", "4.5 pages/min": the unit goes with the thing that is counted. */
export const pace = (n, what) => rate(n).replace("/", ` ${what}/`);
/** "214 of 222/s", in the unit of the second. */
export function rateOf(n, of) {
  if (!missing(of) && of > 0 && of < 0.5) return `${(n * 60).toFixed(1)} of ${rate(of)}`;
  return `${n >= 100 ? clean(Math.round(n)) : Number(n.toFixed(1))} of ${rate(of)}`;
}

/** 99.98 % stays 99.98 %, never 100 %: the rest is what one looks for. */
export function share(x) {
  if (missing(x)) return "–";
  const p = x * 100;
  if (p === 0 || p === 100) return `${p}%`;
  if (p > 99.95) return `${Math.min(p, 99.99).toFixed(2)}%`;
  if (p < 0.05) return "< 0.1%";
  return `${p >= 99 || p < 10 ? p.toFixed(1) : Math.round(p)}%`;
}

export const money = (n) => (missing(n) ? "–" : n >= 100 ? clean(Math.round(n)) : n.toFixed(2));

// ---------------------------------------------------------------- time, in the zone of the browser

const two = (n) => String(n).padStart(2, "0");

export function clock(t, seconds = true) {
  if (missing(t)) return "–";
  const d = new Date(t * 1000);
  return `${two(d.getHours())}:${two(d.getMinutes())}${seconds ? `:${two(d.getSeconds())}` : ""}`;
}
function date(t) {
  const d = new Date(t * 1000);
  return `${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}
/** Today only the clock, else month and day before it, as the command line writes it. */
export const moment = (t, now, seconds = false) =>
  missing(t) ? "–" : date(t) === date(now) ? clock(t, seconds) : `${date(t)} ${clock(t, false)}`;
/** How long something has been so, without the seconds that nobody needs: "42 s", "38 min", "2h 05m". */
export const lasting = (s) =>
  s >= 60 && s < 3600 ? `${Math.floor(s / 60)} min` : duration(s < 10 ? Math.round(s) : s);
export const ago = (s) => (missing(s) ? "–" : s < 1 ? "now" : `${duration(s < 10 ? Math.round(s) : s)} ago`);

// ---------------------------------------------------------------- what strangers wrote

// Controls, invisible characters and those that turn the direction of what follows. They are shown, never obeyed.
const ODD = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164" +
    "\\ufeff\\ufff9-\\ufffb\\u{d800}-\\u{dfff}\\u{e0001}\\u{e0020}-\\u{e007f}]",
  "gu",
);

/** Pieces of a text: [text, isOdd]. Combining marks after the fourth are left out, so that a title stays in its line. */
export function pieces(text) {
  const calm = String(text)
    .normalize("NFC")
    .replace(/(\p{M}{4})\p{M}+/gu, "$1");
  const out = [];
  let last = 0;
  for (const found of calm.matchAll(ODD)) {
    if (found.index > last) out.push([calm.slice(last, found.index), false]);
    out.push([`U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`, true]);
    last = found.index + found[0].length;
  }
  if (last < calm.length) out.push([calm.slice(last), false]);
  return out;
}

/** The middle goes: the beginning says where, the end says what. */
export function cut(text, max) {
  const all = [...String(text).slice(0, 20_000)];
  if (all.length <= max) return all.join("");
  const head = Math.ceil((max - 1) * 0.55);
  return `${all.slice(0, head).join("")}…${all.slice(all.length - (max - 1 - head)).join("")}`;
}
