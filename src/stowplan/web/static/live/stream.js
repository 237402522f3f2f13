/** The event stream: reads it, and connects again when it is lost, ever later and never all watchers at once. */

import { send } from "../api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/** A comment comes every 10 seconds: with nothing for so long, the connection is dead without saying so. */
const SILENCE_MS = 25_000;
/** Browsers allow six connections to a host: tabs that nobody looks at must not hold them all. */
const HIDDEN_MS = 5000;
/** Nor must tabs side by side: what is left is for questions. */
const MOST_STREAMS = 4;
const SLOT_WAIT_MS = 2000;

/**
 * Watch until the returned function is called, with pauses while the tab is hidden.
 * @param {Object<string, string>} query
 * @param {(event: string, data: any) => void} onEvent
 * @param {(state: "connecting"|"live"|"lost"|"paused", error: Error|null, waitMs: number) => void} onState
 */
export function watch(query, onEvent, onState) {
  const watcher = { isOver: false, isPaused: document.hidden, abort: new AbortController(), wake: () => {} };
  const hurry = () => watcher.wake();
  let timer = 0;
  const attend = () => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        watcher.isPaused = true;
        watcher.abort.abort();
        watcher.wake();
      }, HIDDEN_MS);
    } else if (watcher.isPaused) {
      watcher.isPaused = false;
      watcher.wake();
    }
  };
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", attend);
  run(watcher, query, onEvent, onState);
  return () => {
    watcher.isOver = true;
    clearTimeout(timer);
    removeEventListener("online", hurry);
    document.removeEventListener("visibilitychange", attend);
    watcher.abort.abort();
    watcher.wake();
  };
}

async function run(watcher, query, onEvent, onState) {
  let failures = 0;
  while (!watcher.isOver) {
    if (watcher.isPaused) {
      failures = 0;
      onState("paused", null, 0);
      await untilWoken(watcher);
      continue;
    }
    let error = null;
    watcher.abort = new AbortController();
    onState("connecting", null, 0);
    try {
      await inSlot(() =>
        readAll(watcher, query, onEvent, () => {
          failures = 0;
          onState("live", null, 0);
        }),
      );
    } catch (caught) {
      error = caught;
    }
    if (watcher.isOver) return;
    if (watcher.isPaused) continue;
    const isFull = error instanceof NoSlotError;
    const most = isFull ? SLOT_WAIT_MS : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
    const wait = most * (0.5 + Math.random() / 2);
    failures = isFull ? 0 : failures + 1;
    onState("lost", error, wait);
    await pause(watcher, wait);
  }
}

/** Too many tabs of this browser watch. */
class NoSlotError extends Error {
  code = "tabs";
}

/** Work while one of the few streams of this browser is free; raises NoSlotError if none is. */
async function inSlot(work) {
  // Tabs can agree only where the page comes over TLS or from this machine.
  if (!navigator.locks) return work();
  for (let slot = 0; slot < MOST_STREAMS; slot += 1) {
    const isMine = await navigator.locks.request(`stowplan-stream-${slot}`, { ifAvailable: true }, async (lock) => {
      if (lock) await work();
      return Boolean(lock);
    });
    if (isMine) return undefined;
  }
  throw new NoSlotError();
}

async function readAll(watcher, query, onEvent, onOpen) {
  const response = await send("events", query, { signal: watcher.abort.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let isOpen = false;
  const parse = parser((event, data) => {
    onEvent(event, data);
    // Until the picture is there, what is shown may be that of before.
    if (event === "nodes" && !isOpen) {
      isOpen = true;
      onOpen();
    }
  });
  for (;;) {
    const timer = setTimeout(() => watcher.abort.abort(), SILENCE_MS);
    const { value, done } = await reader.read().finally(() => clearTimeout(timer));
    if (done || watcher.isOver) return;
    parse(value);
  }
}

/** Return what takes pieces of a text/event-stream and tells whole events. */
export function parser(onEvent) {
  let rest = "";
  let event = "";
  let data = [];
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (data.length) tell(onEvent, event, data.join("\n"));
        event = "";
        data = [];
      } else if (line.startsWith("event:")) {
        event = line.slice(6).trim();
      } else if (line.startsWith("data:")) {
        data.push(line.slice(5).replace(/^ /, ""));
      }
    }
  };
}

/** A fault of who listens is not one of the connection. */
function tell(onEvent, event, text) {
  try {
    onEvent(event, JSON.parse(text));
  } catch (error) {
    reportError(error);
  }
}

function pause(watcher, milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    watcher.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

function untilWoken(watcher) {
  return new Promise((resolve) => {
    watcher.wake = resolve;
  });
}
