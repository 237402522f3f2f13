/** Writes plain data as YAML, so that what is read back is the same. */

const PLAIN = /^[A-Za-z0-9_./][A-Za-z0-9_./@%+=~^()*$ ,:-]*$/;
/** What a reader would take for a number, a truth value, nothing, or a moment. */
const MISTAKEN =
  /^([-+]?\.?\d[\d_.:xoa-f+-]*(t[\d:.z+-]*)?|true|false|yes|no|on|off|y|n|null|[-+]?\.inf|\.nan|[.-]+)$/i;

/**
 * Write an object.
 * @param {any} value
 * @returns {string}
 */
export function writeYaml(value) {
  return `${lines(value, "").join("\n")}\n`;
}

function lines(value, indent) {
  if (Array.isArray(value)) return value.length ? value.flatMap((item) => itemLines(item, indent)) : [`${indent}[]`];
  if (isMapping(value)) {
    const entries = Object.entries(value);
    return entries.length ? entries.flatMap(([key, one]) => entry(key, one, indent)) : [`${indent}{}`];
  }
  return [`${indent}${scalar(value, indent)}`];
}

function entry(key, value, indent) {
  const name = text(key);
  if (!isNested(value)) return [`${indent}${name}: ${scalar(value, indent)}`];
  return [`${indent}${name}:`, ...lines(value, Array.isArray(value) ? indent : `${indent}  `)];
}

/** An item of a sequence: what is in it starts on the line of its dash. */
function itemLines(value, indent) {
  if (!isNested(value)) return [`${indent}- ${scalar(value, indent)}`];
  const [first, ...rest] = lines(value, `${indent}  `);
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
}

function scalar(value, indent) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "[]";
  if (isMapping(value)) return "{}";
  if (typeof value !== "string") return String(value);
  return /\n/.test(value) && isBlockable(value) ? block(value, indent) : text(value);
}

/** Write a text on one line, in quotes if it would be read as something else. */
function text(value) {
  const isPlain = PLAIN.test(value) && !MISTAKEN.test(value) && !/: |:$| $/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** A literal block keeps a text of several lines readable. */
function block(value, indent) {
  const body = value
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line ? `${indent}  ${line}` : ""));
  return `${value.endsWith("\n") ? "|" : "|-"}\n${body.join("\n")}`;
}

const isBlockable = (text) => !/^\s|\n\n$|[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]/.test(text) && text.trim() !== "";

const isMapping = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const isNested = (value) =>
  (Array.isArray(value) && value.length > 0) || (isMapping(value) && Object.keys(value).length > 0);
