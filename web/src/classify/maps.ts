// What every word, or the summary of the text, attends to: maps of all layers and heads.

import type { MapsAnswer, TextMap } from "../api.ts";
import type { AttentionMap, Axis, MapName } from "../attention.ts";
import { unpackExact, type Tensor } from "../tensor.ts";

/** Gather the layers of each kind that have one shape into one map. */
export function gatherMaps({ maps }: MapsAnswer): AttentionMap[] {
  const kinds: MapName[] = ["text", "pooling"];
  return kinds.flatMap((id) => {
    const own = maps.filter((one) => one.map === id),
      first = own[0];
    if (!first) return [];
    const alike = own.filter((one) => one.weights.shape.join() === first.weights.shape.join());
    return [
      {
        id,
        layers: alike.map((one) => one.layer),
        weights: stacked(alike),
        mask: null,
        rows: axis(first.queries, id === "text" ? "text" : "summary"),
        columns: axis(first.keys, "text"),
        inputs: null,
        norms: null,
        rollout: null,
      },
    ];
  });
}

function stacked(maps: TextMap[]): Tensor {
  const parts = maps.map((one) => unpackExact(one.weights)),
    size = parts[0]!.data.length,
    data = new Float32Array(size * parts.length);
  parts.forEach((one, layer) => data.set(one.data, layer * size));
  return { shape: [parts.length, ...parts[0]!.shape], data, exact: true };
}

function axis(tokens: string[], title: string): Axis {
  return { title, tokens, words: tokens, wordOf: tokens.map((_, index) => index), unknown: new Set(), end: false };
}
