/** Writes amounts, shares, spans and moments as people read them. */

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const BYTES = /^(memory|ephemeral-storage|storage|hugepages-.*)$/;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Write a count: 12,345. */
export const count = (number) => whole.format(number);

/** Write a count with its noun: `1 node`, `12 nodes`. */
export const counted = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

/** Write an amount of a resource; cpu comes in thousandths. */
export function amount(resource, value) {
  if (value === null || value === undefined) return "–";
  if (resource === "cpu") return short.format(value / 1000);
  if (!BYTES.test(resource)) return whole.format(value);
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < BINARY.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${short.format(size)}${BINARY[unit]}`;
}

/** Write a part of a whole in percent. */
export function share(part, all) {
  if (!all) return "–";
  const percent = (100 * part) / all;
  return percent > 0 && percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

/** Write a length of time in the one or two units that matter: `2 ms`, `45 s`, `3 min 5 s`, `2 h 10 min`. */
export function span(seconds) {
  if (seconds < 0.001) return seconds > 0 ? `${short.format(seconds * 1e6)} µs` : "0 s";
  if (seconds < 1) return `${short.format(seconds * 1000)} ms`;
  const all = Math.floor(seconds);
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  if (all < 86400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86400)} d ${Math.floor((all % 86400) / 3600)} h`;
}

/** Write a moment by the clock of the reader, with its day if that is not today. */
export function clock(text) {
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return "–";
  const time = moment.toLocaleTimeString("en-GB");
  const isToday = moment.toDateString() === new Date().toDateString();
  // Of all places it is Sweden where days are written as everybody else sorts them: 2026-01-31.
  return isToday ? time : `${moment.toLocaleDateString("sv-SE")} ${time}`;
}

/** Return the seconds between two moments. */
export const secondsBetween = (from, to) => (new Date(to) - new Date(from)) / 1000 + (micros(to) - micros(from)) / 1e6;

/** Return the microseconds within its millisecond, which a Date leaves out. */
const micros = (moment) =>
  typeof moment === "string" ? Number(/\.\d{3}(\d{1,3})/.exec(moment)?.[1].padEnd(3, "0") ?? 0) : 0;

/** Write a number that may be fractional, in three digits. */
export const rough = (number) => short.format(number);

/** Write a difference with its sign. */
export const signed = (number) => `${number > 0 ? "+" : number < 0 ? "−" : "±"}${whole.format(Math.abs(number))}`;
