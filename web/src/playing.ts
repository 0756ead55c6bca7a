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

const players = new WeakMap<Element, Steps>();

/** The steps that are played in a part of the page, if there are any. */
export function stepsIn(element: Element): Steps | null {
  const button = element.querySelector("button.play");
  return (button && players.get(button)) ?? null;
}

export class Steps {
  readonly button = h("button", { type: "button", class: "button play", onclick: () => this.press() });
  playing = false;
  private timer = 0;

  constructor(private player: Player) {
    players.set(this.button, this);
    this.name();
  }

  get count(): number {
    return this.player.count();
  }

  /** Milliseconds that a step stays. */
  get pace(): number {
    return this.player.pace ?? 1100;
  }

  /** Show each step as it is while it is played, without waiting, and then again what was shown before. */
  each(take: () => void): void {
    this.stop();
    const { count, at, go } = this.player,
      before = at();
    this.playing = true;
    for (let step = 0; step < count(); step++) {
      go(step);
      take();
    }
    this.playing = false;
    go(before);
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
    }, this.pace);
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
