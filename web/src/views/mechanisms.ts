// Mechanisms: every score, normalizer, mask and position on numbers that the visitor edits. No model is needed.

import { segmented } from "../controls.ts";
import { fill, h } from "../dom.ts";
import { AttentionExplorer } from "../mechanisms/attention.ts";
import { likelyLookups, SoftDictionary } from "../mechanisms/dictionary.ts";
import { likelyMechanisms } from "../mechanisms/question.ts";
import { likelyWaves, Waves } from "../mechanisms/waves.ts";
import type { View } from "../view.ts";

const PARTS = [
  { value: "attention", text: "Attention" },
  { value: "waves", text: "Sinusoids" },
  { value: "dictionary", text: "Soft dictionary" },
];

export const view: View = {
  id: "mechanisms",
  title: "Mechanisms",
  kinds: [],
  render(element, host, state) {
    let shown: { element: HTMLElement; end(): void; recolor?(): void } | null = null;
    const body = h("div");
    const draw = () => {
      shown?.end();
      const part = state.get("part", "attention");
      shown =
        part === "waves"
          ? new Waves(host, state)
          : part === "dictionary"
            ? new SoftDictionary(host, state)
            : new AttentionExplorer(host, state);
      fill(body, shown.element);
    };
    draw();
    element.append(
      segmented(
        "Part",
        PARTS,
        state.get("part", "attention"),
        (part) => {
          state.set({ part: part === "attention" ? null : part });
          draw();
        },
        { quiet: true },
      ),
      body,
    );
    return {
      end: () => shown?.end(),
      recolor: () => shown?.recolor?.(),
      wanted: () => {
        const all = {
          attention: likelyMechanisms(state),
          waves: likelyWaves(state),
          dictionary: likelyLookups(state),
        };
        const [first, ...more] = all[state.get("part", "attention") as keyof typeof all] ?? all.attention;
        return { shown: [first!], likely: [...more, ...Object.values(all).flat()] };
      },
    };
  },
};
