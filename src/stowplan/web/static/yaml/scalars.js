/** What one value of YAML stands for: a text, a number, true, false or nothing. */

const ESCAPES = {
  0: "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
};
const LENGTHS = { x: 2, u: 4, U: 8 };

/** A text that is no YAML, or more of it than is read here; `line` counts from 1. */
export class YamlError extends Error {
  constructor(line, message) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/** Read a value that is not in quotes. */
export function resolve(text, line) {
  if (text === "" || text === "~" || /^null$/i.test(text)) return null;
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  if (/^(yes|no|on|off)$/i.test(text)) {
    throw new YamlError(
      line,
      `${text} is a truth value to some readers and a text to others; write true, false, or quotes`,
    );
  }
  if (/^[-+]?0[0-7]+$/.test(text)) return parseInt(text, 8);
  if (/^0o[0-7]+$/.test(text)) return parseInt(text.slice(2), 8);
  if (/^0x[0-9a-f]+$/i.test(text)) return parseInt(text.slice(2), 16);
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text);
  refuseUnknown(text, line);
  return text;
}

/** Refuse what this reader does not know, rather than take it for text. */
function refuseUnknown(text, line) {
  const kinds = { "&": "an anchor", "*": "an alias", "!": "a tag", "@": "@", "`": "`", "%": "%" };
  const kind = kinds[text[0]];
  if (kind)
    throw new YamlError(line, `${text}: ${kind} is not read here; write the value itself, in quotes if it is a text`);
}

/** Read what stands between double quotes. */
export function unescape(text, line) {
  return text.replace(/\\(x..|u.{4}|U.{8}|[^])/g, (whole, code) => {
    if (code[0] in LENGTHS) {
      const digits = code.slice(1);
      if (!new RegExp(`^[0-9a-f]{${LENGTHS[code[0]]}}$`, "i").test(digits))
        throw new YamlError(line, `${whole} is no escape`);
      const point = parseInt(digits, 16);
      if (point > 0x10ffff) throw new YamlError(line, `${whole} is no character`);
      return String.fromCodePoint(point);
    }
    if (!(code in ESCAPES)) throw new YamlError(line, `${whole} is no escape; write \\\\ for a backslash`);
    return ESCAPES[code];
  });
}
