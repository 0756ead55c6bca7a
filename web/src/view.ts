// What a view is. `render` draws into `element` and gives back what ends it: timers, listeners on the window.

import type { Host } from "./host.ts";
import type { State } from "./state.ts";

export interface View {
  /** Its name in the address. */
  id: string;
  title: string;
  /** One sentence under the title. */
  lede: string;
  /** What it cannot do without; the shell explains where there is none. */
  needs?: "translator" | "classifier" | "vision" | "language";
  render(element: HTMLElement, host: Host, state: State): void | (() => void);
}
