// What a view is. `render` draws into `element` and gives back what is shown there.

import type { Host, ModelInfo, Question } from "./host.ts";
import type { State } from "./state.ts";

export interface View {
  /** Its name in the address. */
  id: string;
  title: string;
  /** One sentence under the title. */
  lede: string;
  /** Kinds of models of which it needs one; the shell explains where there is none. */
  needs?: ModelInfo["kind"][];
  render(element: HTMLElement, host: Host, state: State): void | Shown;
}

export interface Shown {
  /** Ends it: timers, listeners on the window, and whatever it would ask later. */
  end(): void;
  /** Draws anew what has colors of its own, since the page is dark now, or light. */
  recolor?(): void;
  /** What a file of it holds, as it stands when this is called, and nothing that was asked before. */
  wanted(): Wanted | Promise<Wanted>;
}

export interface Wanted {
  /** What the view asks when it is opened at this address: in the file whatever room there is. */
  shown: Question[];
  /** What somebody who has the file would ask then, most wanted first. */
  likely: Question[];
}
