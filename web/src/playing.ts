// Steps that are played one after another. Who asked for less motion gets one step at a press instead.

import { h } from "./dom.ts";

/** Whether the visitor wants the page to keep still. */
export function isStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export interface Player {
  /** How many steps there are, and which is shown. */
  count: () => number;
  at: () => number;
  /** Show a step. */
  go: (step: number) => void;
  /** Milliseconds that a step stays. */
  pace?: number;
}

export class Steps {
  readonly button = h("button", { type: "button", class: "button play", onclick: () => this.press() });
  playing = false;
  private timer = 0;

  constructor(private player: Player) {
    this.name();
  }

  private press(): void {
    const { count, at, go } = this.player,
      last = count() - 1;
    if (isStill()) return go(at() >= last ? 0 : at() + 1);
    if (this.playing) return this.stop();
    this.playing = true;
    this.name();
    go(at() >= last ? 0 : at());
    this.later();
  }

  private later(): void {
    this.timer = window.setTimeout(() => {
      const { count, at, go } = this.player;
      if (at() >= count() - 1) return this.stop();
      go(at() + 1);
      this.later();
    }, this.player.pace ?? 1100);
  }

  /** End it; what is shown then is whole. */
  stop(): void {
    clearTimeout(this.timer);
    if (!this.playing) return;
    this.playing = false;
    this.name();
    this.player.go(this.player.at());
  }

  private name(): void {
    this.button.textContent = isStill() ? "Next step" : this.playing ? "❚❚ Pause" : "▶ Play";
    this.button.setAttribute("aria-pressed", String(this.playing));
  }
}
