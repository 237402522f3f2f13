/** Asks the scheduler: JSON over HTTP, with the token of this tab where one is needed. */

const ROOT = "/api/stowplan/v1/";
/** What a role has to name for it: all that is below /api everybody may read who is known. */
export const RIGHT = "/stowplan/v1/*";
const TOKEN = "stowplan-token";

/** What to do about an answer that is an error, by its code. */
const REMEDIES = {
  404: "Check the spelling; what has ended or was deleted is not kept.",
  413: "Ask for less at once.",
  429: "Somebody else's question is being answered. Ask again in a moment.",
  503: "Too many are watching, or the scheduler is starting. It is tried again by itself.",
  504: "It took too long. Ask for less at once.",
};

let askForToken = async () => false;

/** An answer that is none: `code` is that of HTTP, 0 if nobody answered. */
export class ApiError extends Error {
  constructor(code, message, remedy) {
    super(message);
    this.code = code;
    this.remedy = remedy;
    /** Whether the reader may not ask questions, though he may read. */
    this.isOfQuestion = false;
  }
}

/** Say who asks the reader for a token; it resolves to whether there is one to try. */
export function whenTokenNeeded(ask) {
  askForToken = ask;
}

export function keepToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

/** Get an answer; `query` leaves out what is empty. */
export function get(path, query = {}, signal = undefined) {
  return ask(path, query, { signal });
}

/** Post a question. */
export function post(path, body, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, {}, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Write a path of names that may hold anything. */
export const path = (...names) => names.map(encodeURIComponent).join("/");

/** Send a request, and again with a token if one is needed; raises ApiError unless it is answered well. */
export async function send(place, query, options) {
  for (;;) {
    const response = await once(place, query, options);
    if (response.ok) return response;
    const error = await failure(response);
    const isLocked = error.code === 401 || error.code === 403;
    // Who reads this page is known by now: another token is not what is missing.
    if (error.code === 403 && options.method === "POST") throw notAllowedToAsk(error);
    if (!isLocked || !(await askForToken(error))) throw error;
  }
}

async function ask(place, query, options) {
  const response = await send(place, query, options);
  return response.json();
}

async function once(place, query, options) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const address = given.length ? `${ROOT}${place}?${new URLSearchParams(given)}` : `${ROOT}${place}`;
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  try {
    return await fetch(address, { ...options, headers, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The scheduler does not answer.", "Check that it runs; this page goes on by itself then.");
  }
}

function notAllowedToAsk({ code, message }) {
  const remedy = `Reading the page goes on. What-if questions need the verb post on ${RIGHT}. The API server said: ${message}`;
  const error = new ApiError(code, "You may read this page, but not ask what-if questions.", remedy);
  error.isOfQuestion = true;
  return error;
}

async function failure(response) {
  let message = "";
  try {
    message = (await response.json()).message ?? "";
  } catch {
    message = "";
  }
  const said = message || `The scheduler answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, said, REMEDIES[response.status] ?? "");
}
