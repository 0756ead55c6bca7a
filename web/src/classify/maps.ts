// What every word, or every query that sums the text up, attends: a map for each layer and head.

import { panel, select } from "../controls.ts";
import { fill, h, visible } from "../dom.ts";
import { matrix } from "../draw/matrix.ts";
import { factsPanel, uniformFacts } from "../facts.ts";
import type { State } from "../state.ts";
import { mean, rowOf, slice, unpackExact, type Matrix, type Packed } from "../tensor.ts";

export interface MapsAnswer {
  maps: { layer: string; reads: boolean; queries: string[]; keys: string[]; weights: Packed }[];
  skipped: string;
}

/** Draw the chosen layer and head, with what its weights are not. */
export function mapsPanel({ maps, skipped }: MapsAnswer, state: State): HTMLElement {
  const element = h("div");
  const draw = () => {
    if (!maps.length) return fill(element, panel("What words attend to", h("p", { class: "dim" }, skipped)));
    const map = maps.find((one) => one.layer === state.get("layer")) ?? maps[0]!, weights = unpackExact(map.weights);
    const heads = weights.shape[0]!, head = Math.min(Math.max(Math.round(state.number("head", -1)), -1), heads - 1);
    const shown: Matrix = head < 0 ? mean(Array.from({ length: heads }, (_, one) => slice(weights, one))) : slice(weights, head);
    const row = Math.min(Math.max(Math.round(state.number("row", 0)), 0), shown.rows - 1);
    const set = (values: Record<string, string | number | null>) => {
      const focused = [...element.querySelectorAll("select, .stage")].indexOf(document.activeElement as Element);
      state.set(values);
      draw();
      (element.querySelectorAll("select, .stage")[focused] as HTMLElement | undefined)?.focus({ preventScroll: true });
    };
    const one = panel(map.reads ? "What words attend to" : "How the text is summed up",
      h("div", { class: "row choices" },
        select("Layer", maps.map((each) => ({ value: each.layer, text: each.reads ? each.layer : `${each.layer}, sums up` })), map.layer, (layer) => set({ layer, head: null, row: null })),
        heads > 1 ? select("Head", [{ value: "-1", text: `mean of ${heads}` }, ...Array.from({ length: heads }, (_, index) => ({ value: String(index), text: `head ${index + 1}` }))], String(head), (value) => set({ head: Number(value) < 0 ? null : value })) : null),
      matrix({
        matrix: shown, rows: map.queries.map(visible), columns: map.keys.map(visible), rowTitle: map.reads ? "words" : map.queries.length > 1 ? "queries" : "the text", columnTitle: "words",
        label: `Weights of ${map.layer}`, selectedRow: row, onpick: (picked) => set({ row: picked }),
      }));
    const title = visible(map.queries[row]!);
    const beside = factsPanel(uniformFacts(rowOf(shown, row)), h("p", { class: "dim small" }, `Of the row “${title}”. What leaving words out and gradients say of the decision stands above.`));
    beside.querySelector("h2")!.textContent = "What this map does and does not show";
    fill(element, h("div", { class: "columns" }, one, beside));
  };
  draw();
  return element;
}
