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
  /** Ends it: timers, listeners on the window. */
  end(): void;
  /** What somebody who has the view as a single file would ask besides what was asked already, most wanted first. */
  likely?(): Question[] | Promise<Question[]>;
}
