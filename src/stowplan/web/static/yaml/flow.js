/** Reads values that are written in one go: in quotes, or in [ ] and { }, as JSON is; they may go over several lines. */

import { resolve, unescape, YamlError } from "./scalars.js";

export class Flow {
  /**
   * @param {string} text where the value begins
   * @param {number} line
   * @param {() => string|null} nextLine gives the text of one more line
   */
  constructor(text, line, nextLine) {
    this._text = text;
    this._at = 0;
    this._line = line;
    this._nextLine = nextLine;
  }

  /** Read the value and what follows it on its last line, which may be a comment only. */
  readAll() {
    const value = this._value();
    const rest = this._text.slice(this._at).trim();
    if (rest && !(rest.startsWith("#") && /\s/.test(this._text[this._at]))) {
      throw new YamlError(this._line, `${rest} follows a value that has ended; put the whole into quotes`);
    }
    return value;
  }

  _value() {
    const first = this._peek();
    if (first === "[") return this._sequence();
    if (first === "{") return this._mapping();
    if (first === '"' || first === "'") return this.quoted();
    return resolve(this._plain(), this._line);
  }

  _sequence() {
    const items = [];
    this._at += 1;
    while (this._peek() !== "]") {
      items.push(this._value());
      this._separate("]");
    }
    this._at += 1;
    return items;
  }

  _mapping() {
    const found = {};
    this._at += 1;
    while (this._peek() !== "}") {
      const quote = this._peek();
      const key = quote === '"' || quote === "'" ? this.quoted() : this._plain();
      if (Object.hasOwn(found, key)) throw new YamlError(this._line, `${key} is there twice`);
      let value = null;
      if (this._peek() === ":") {
        this._at += 1;
        value = /[,}]/.test(this._peek()) ? null : this._value();
      }
      define(found, key, value);
      this._separate("}");
    }
    this._at += 1;
    return found;
  }

  _separate(end) {
    const next = this._peek();
    if (next === ",") this._at += 1;
    else if (next !== end) throw new YamlError(this._line, `${next}: write a comma or ${end}`);
  }

  _plain() {
    const start = this._at;
    while (this._at < this._text.length && !/[,[\]{}]/.test(this._text[this._at])) {
      if (this._text[this._at] === ":" && /^([\s,[\]{}]|$)/.test(this._text.slice(this._at + 1))) break;
      if (this._text[this._at] === "#" && /\s/.test(this._text[this._at - 1] ?? "")) break;
      this._at += 1;
    }
    const text = this._text.slice(start, this._at).trim();
    if (!text && this._at === start)
      throw new YamlError(this._line, `${this._text[this._at]}: a value is missing before it`);
    return text;
  }

  /** Read a text in quotes; a new line in it is a space, an empty line a new line. */
  quoted() {
    const quote = this._text[this._at];
    const start = this._at + 1;
    let at = start;
    for (;;) {
      if (at >= this._text.length) {
        const more = this._more();
        const before = this._text.slice(0, at).replace(/[ \t]+$/, "");
        const isBreak = more === "" || before.endsWith("\n");
        this._text = `${before}${more === "" ? "\n" : isBreak ? "" : " "}${more}`;
        at = before.length;
      }
      const char = this._text[at];
      if (quote === '"' && char === "\\") at += 2;
      else if (char === quote && quote === "'" && this._text[at + 1] === "'") at += 2;
      else if (char === quote) break;
      else at += 1;
    }
    const body = this._text.slice(start, at);
    this._at = at + 1;
    return quote === "'" ? body.replaceAll("''", "'") : unescape(body, this._line);
  }

  /** Return the next character that means something; comments and new lines do not. */
  _peek() {
    for (;;) {
      while (this._at < this._text.length && /\s/.test(this._text[this._at])) this._at += 1;
      const isComment = this._text[this._at] === "#" && (this._at === 0 || /\s/.test(this._text[this._at - 1]));
      if (this._at < this._text.length && !isComment) return this._text[this._at];
      this._text = ` ${this._more()}`;
      this._at = 0;
    }
  }

  _more() {
    const more = this._nextLine();
    if (more === null) throw new YamlError(this._line, "what begins here does not end; close the quotes or brackets");
    return more;
  }
}

/** Set a key of any name, `__proto__` too, as a key like others. */
export function define(target, key, value) {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
