// What a view is. `render` draws into `element` and gives back what is shown there.

import type { ModelInfo } from "./api.ts";
import type { Host, Question } from "./host.ts";
import type { State } from "./state.ts";

export interface View {
  /** Its name in the address. */
  id: string;
  title: string;
  /**
   * Kinds of models that it takes; none where it needs no model. A text is carried to views of the same kinds alone.
   */
  kinds: ModelInfo["kind"][];
  /** Whether it is drawn without a model too. */
  always?: boolean;
  render(element: HTMLElement, host: Host, state: State): void | Shown;
}

export interface Shown {
  /** Ends it: timers, listeners on the window, and whatever it would ask later. */
  end(): void;
  /** Draws anew what has colors of its own, since the page is dark now, or light. */
  recolor?(): void;
  /** What a file of it holds, as it stands when this is called, and nothing that was asked before. */
  wanted(): Wanted | Promise<Wanted>;
  /** The picture that is copied or saved. */
  picture?(): SVGSVGElement | HTMLCanvasElement | null;
}

export interface Wanted {
  /** What the view asks when it is opened at this address: in the file whatever its size. */
  shown: Question[];
  /** What somebody who has the file would ask then; where it is not here, the studio knows (`keep/likely`). */
  likely?: Question[];
}

/** The height from an element's top to the bottom of the window, less what follows; never too little to see. */
export function roomBelow(element: Element, reserve: number): number {
  const top = element.getBoundingClientRect().top + scrollY;
  return Math.max(innerHeight - top - reserve, Math.min(380, innerHeight * 0.55));
}
