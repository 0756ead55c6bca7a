// What is shown while a small model is trained.

import { h } from "./dom.ts";
import type { Preparing } from "./api.ts";

export function preparing(now: Preparing): HTMLElement {
  if (now.error) return h("p", { class: "alert", role: "alert" }, now.error);
  const share = now.steps ? now.step / now.steps : 0;
  const bar = h("progress", { max: 1, "aria-label": "Training" });
  bar.value = share;
  const text = [
    `${now.seconds.toFixed(0)} s`,
    now.step ? `step ${now.step} of ${now.steps}` : "",
    now.loss === null ? "" : `loss ${now.loss.toFixed(2)}`,
  ];
  return h(
    "div",
    { class: "preparing", role: "status" },
    h(
      "p",
      null,
      h("b", null, "A small translator is being trained. "),
      "It learns Spanish to English from the built-in corpus, under a minute on two cores, and is kept for the " +
        "next time.",
    ),
    bar,
    h("p", { class: "dim" }, `${now.stage} · ${text.filter(Boolean).join(" · ")}`),
  );
}
