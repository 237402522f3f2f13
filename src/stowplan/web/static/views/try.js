/** Try it: questions about what is not there yet, or would be gone. Nothing is created and nothing is changed. */

import { element, replace } from "../dom.js";
import { drainForm } from "../tryout/drain.js";
import { podForm } from "../tryout/pod_form.js";
import { weightsForm } from "../tryout/weights.js";
import { link } from "../routes.js";

const QUESTIONS = {
  fits: ["Would it fit?", podForm],
  headroom: ["How many fit?", podForm],
  preempt: ["Whom would it push out?", podForm],
  drain: ["What if nodes go?", drainForm],
  weights: ["What if weights differ?", weightsForm],
};

export function open(route, alive) {
  const asked = Object.hasOwn(QUESTIONS, route.query.ask) ? route.query.ask : "fits";
  const place = element("div", {});
  const tabs = element(
    "nav",
    { class: "questions", "aria-label": "Questions" },
    Object.entries(QUESTIONS).map(([ask, [title]]) =>
      element(
        "a",
        {
          class: `button ${ask === asked ? "main" : ""}`,
          "aria-current": ask === asked ? "page" : null,
          href: link("try", [], { ask }),
        },
        title,
      ),
    ),
  );
  const [, form] = QUESTIONS[asked];
  replace(place, form(asked, route.query, alive));
  return [
    element("h1", {}, "Try it"),
    element(
      "p",
      { class: "note" },
      "The scheduler answers with its own table and plugins. Nothing is created, and nothing is changed.",
    ),
    tabs,
    place,
  ];
}
