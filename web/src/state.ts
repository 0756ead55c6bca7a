// What the visitor has chosen, kept in the address, so that a link reopens the view: #translate?text=Hola&layer=1

export type Values = Record<string, string | number | null | undefined>;

export class State {
  view = "";
  private values = new URLSearchParams();
  private listeners = new Set<() => void>();

  constructor() {
    this.read();
    addEventListener("hashchange", () => {
      const before = this.address();
      this.read();
      if (this.address() !== before) this.notify();
    });
  }

  /** A setting of the address, or what it is when the address says nothing. */
  get(name: string, otherwise = ""): string {
    return this.values.get(name) ?? otherwise;
  }

  /** The same as a number; what is no number counts as nothing said. */
  number(name: string, otherwise: number): number {
    const text = this.values.get(name);
    return text === null || text === "" || !Number.isFinite(Number(text)) ? otherwise : Number(text);
  }

  /** Change settings; null takes one out. `push` leaves a step that the back button returns to. Nobody is told. */
  set(values: Values, { push = false } = {}): void {
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === undefined || value === "") this.values.delete(name);
      else this.values.set(name, String(value));
    }
    // Browsers refuse more than some 100 of these a second: a slider must not end in an error.
    try {
      history[push ? "pushState" : "replaceState"](null, "", this.address());
    } catch {}
  }

  /** Be told when the address was changed from outside: a link, the back button. Gives what ends it. */
  on(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The address of a view with settings, for links. */
  link(view: string, values: Values = {}): string {
    const named = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined) named.set(name, String(value));
    return `#${view}${named.size ? `?${named}` : ""}`;
  }

  private address(): string {
    return `#${this.view}${this.values.size ? `?${this.values}` : ""}`;
  }

  private read(): void {
    const [view = "", values = ""] = location.hash.slice(1).split(/\?(.*)/s);
    this.view = view;
    this.values = new URLSearchParams(values);
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
