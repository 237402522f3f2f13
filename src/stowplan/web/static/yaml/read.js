/** Reads the part of YAML that manifests are written in: mappings, sequences, texts, JSON, several documents.
 *
 * Anchors, aliases and tags are refused by line, rather than read as something else. */

import { define, Flow } from "./flow.js";
import { resolve, YamlError } from "./scalars.js";

/**
 * Read all documents of a text; empty ones are left out. Raises YamlError, which names the line.
 * @param {string} text
 * @returns {any[]}
 */
export function readYaml(text) {
  const found = [];
  for (const lines of documents(text)) {
    const reader = new Reader(lines);
    if (reader.next() === null) continue;
    found.push(reader.node(0));
    const rest = reader.next();
    if (rest)
      throw new YamlError(
        rest.number,
        `${rest.text}: it does not belong to what is above; check how far it is indented`,
      );
  }
  return found;
}

function documents(text) {
  const all = [[]];
  text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .forEach((raw, at) => {
      if (/^(---|\.\.\.)(\s|$)/.test(raw)) {
        all.push([]);
        const rest = raw.slice(3).trim();
        if (rest && !rest.startsWith("#"))
          throw new YamlError(at + 1, `write what follows ${raw.slice(0, 3)} on a line of its own`);
        return;
      }
      const indent = /^ */.exec(raw)[0].length;
      if (raw[indent] === "\t" && raw.trim()) throw new YamlError(at + 1, "it is indented with a tab; use spaces");
      all.at(-1).push({ number: at + 1, indent, text: raw.slice(indent).trimEnd() });
    });
  return all;
}

class Reader {
  constructor(lines) {
    this._lines = lines;
    this._at = 0;
  }

  /** Return the next line that says something, or null. */
  next() {
    while (this._at < this._lines.length && /^(#|$)/.test(this._lines[this._at].text)) this._at += 1;
    return this._lines[this._at] ?? null;
  }

  /** Read what begins at the next line, if that is indented so far; else it is nothing. */
  node(indent) {
    const line = this.next();
    if (!line || line.indent < indent) return null;
    if (isItem(line)) return this._sequence(line.indent);
    if (keyIn(line.text)) return this._mapping(line.indent);
    this._at += 1;
    return this._value(line.text, line.number, line.indent - 1);
  }

  _sequence(indent) {
    const items = [];
    for (let line = this.next(); line && line.indent === indent && isItem(line); line = this.next()) {
      const rest = line.text.slice(1);
      const inner = rest.trimStart();
      if (inner === "" || inner.startsWith("#")) {
        this._at += 1;
        items.push(this.node(indent + 1));
      } else {
        // What follows the dash is a line of its own, indented as far as it stands.
        this._lines[this._at] = { ...line, indent: indent + 1 + rest.length - inner.length, text: inner };
        items.push(this._item(indent));
      }
    }
    this._refuseDeeper(indent);
    return items;
  }

  _item(indent) {
    const line = this._lines[this._at];
    if (isItem(line) || keyIn(line.text)) return this.node(line.indent);
    this._at += 1;
    return this._value(line.text, line.number, indent);
  }

  _mapping(indent) {
    const found = {};
    for (let line = this.next(); line && line.indent === indent && !isItem(line); line = this.next()) {
      const begins = keyIn(line.text);
      if (!begins) throw new YamlError(line.number, `${line.text}: write a key, a colon and a space before it`);
      const key = keyOf(begins.key, line.number);
      if (Object.hasOwn(found, key)) throw new YamlError(line.number, `${key} is there twice`);
      this._at += 1;
      define(found, key, this._valueOf(begins.rest, line.number, indent));
    }
    this._refuseDeeper(indent);
    return found;
  }

  /** Read the value of a key: on its line, or on the next ones. */
  _valueOf(rest, number, indent) {
    if (rest !== "" && !rest.startsWith("#")) return this._value(rest, number, indent);
    const next = this.next();
    if (next && next.indent === indent && isItem(next)) return this._sequence(indent);
    return this.node(indent + 1);
  }

  _value(text, number, indent) {
    if (/^[|>]/.test(text)) return this._block(text, number, indent);
    if (/^["'[{]/.test(text)) {
      return new Flow(text, number, () => this._lines[this._at++]?.text ?? null).readAll();
    }
    const parts = [plain(text, number)];
    for (let line = this._continuation(indent); line; line = this._continuation(indent)) {
      parts.push(plain(line.text, line.number));
      this._at += 1;
    }
    return parts.length === 1 ? resolve(parts[0], number) : parts.join(" ");
  }

  /** Return the next line if it goes on with a text that has begun. */
  _continuation(indent) {
    const line = this._lines[this._at];
    return line && line.text !== "" && line.indent > indent && !line.text.startsWith("#") ? line : null;
  }

  /** Read a text of several lines, after | as it stands, after > with lines joined. */
  _block(text, number, indent) {
    const head = /^([|>])([-+]?)([1-9]?)([-+]?)(\s+#.*)?$/.exec(text);
    if (!head) throw new YamlError(number, `${text}: write the text that belongs to ${text[0]} on the next lines`);
    const keep = head[2] || head[4];
    const lines = [];
    while (
      this._at < this._lines.length &&
      (this._lines[this._at].text === "" || this._lines[this._at].indent > indent)
    ) {
      lines.push(this._lines[this._at]);
      this._at += 1;
    }
    const first = lines.find((line) => line.text !== "");
    const depth = head[3] ? Math.max(indent, 0) + Number(head[3]) : (first?.indent ?? 0);
    const texts = lines.map((line) =>
      line.text === "" ? "" : " ".repeat(Math.max(0, line.indent - depth)) + line.text,
    );
    const all = (head[1] === "|" ? texts.join("\n") : folded(texts)).replace(/\n+$/, "");
    const blanks = texts.length - texts.findLastIndex((one) => one !== "");
    return keep === "-" ? all : keep === "+" ? all + "\n".repeat(blanks) : all && `${all}\n`;
  }

  _refuseDeeper(indent) {
    const line = this.next();
    if (line && line.indent > indent)
      throw new YamlError(line.number, `${line.text}: it is indented further than what it belongs to`);
  }
}

/** Divide a line that begins with a key; null if it does not. */
function keyIn(text) {
  const quote = /^["']/.exec(text)?.[0];
  if (!quote && /^([[\]{},&*!|>%@`#]|[-?](\s|$))/.test(text)) return null;
  let at = quote ? endOfQuotes(text, quote) : 0;
  if (at < 0) return null;
  for (; at < text.length; at += 1) {
    if (text[at] === "#" && /\s/.test(text[at - 1] ?? "")) return null;
    if (text[at] === ":" && /^(\s|$)/.test(text.slice(at + 1, at + 2))) {
      return { key: text.slice(0, at).trimEnd(), rest: text.slice(at + 1).trimStart() };
    }
    if (quote && !/\s/.test(text[at])) return null;
  }
  return null;
}

/** Return where quotes end that begin a text, or -1. */
function endOfQuotes(text, quote) {
  for (let at = 1; at < text.length; at += 1) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text[at] === quote && text[at + 1] === quote && quote === "'") at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return -1;
}

function keyOf(text, number) {
  if (text.startsWith('"') || text.startsWith("'")) return new Flow(text, number, () => null).quoted();
  if (text === "<<") throw new YamlError(number, "<<: merging is not read here; write the fields themselves");
  return text;
}

function plain(text, number) {
  const end = text.search(/\s#/);
  const found = (end < 0 ? text : text.slice(0, end)).trim();
  if (/:(\s|$)/.test(found))
    throw new YamlError(number, `${found}: a colon and a space begin a value; put the text into quotes`);
  return found;
}

function folded(texts) {
  let all = "";
  texts.forEach((text, at) => {
    const before = texts[at - 1];
    const isJoined = at > 0 && before !== "" && text !== "" && !/^\s/.test(text) && !/^\s/.test(before);
    const isAfterBlank = at > 0 && before === "" && text !== "" && !/^\s/.test(text);
    all += at === 0 || isAfterBlank ? text : isJoined ? ` ${text}` : `\n${text}`;
  });
  return all;
}

const isItem = (line) => /^-(\s|$)/.test(line.text);
