// What the visitor has chosen, kept in the address, so that a link reopens the view: #translate?text=Hola&layer=2

export type Values = Record<string, string | number | null | undefined>;

/** What is selected in every view alike, and travels between them. */
export const SELECTION = ["model", "text", "map", "layer", "head", "query", "key"] as const;

export class State {
  view = "";
  private values = new URLSearchParams();
  private listeners = new Set<() => void>();

  /** `pages`: of a site, the file of each view; `begin`: the address of a file that is opened without one. */
  constructor(
    private pages: Record<string, string> = {},
    begin = "",
  ) {
    this.read(location.hash.slice(1) || begin);
    // A frame of a notebook has no address: what a link within it names is kept here alone.
    if (location.protocol === "about:")
      addEventListener("click", (event) => {
        const address = (event.target as Element).closest?.("a[href^='#']")?.getAttribute("href");
        if (!address || event.defaultPrevented) return;
        event.preventDefault();
        this.read(address.slice(1));
        this.notify();
      });
    addEventListener("hashchange", () => {
      const before = this.address();
      this.read(location.hash.slice(1));
      if (this.address() !== before) this.notify();
    });
  }

  /** A setting of the address, or what it is when the address does not have it. */
  get(name: string, otherwise = ""): string {
    return this.values.get(name) ?? otherwise;
  }

  /** The same as a number; what is no number counts as nothing. */
  number(name: string, otherwise: number): number {
    const text = this.values.get(name);
    return text === null || text === "" || !Number.isFinite(Number(text)) ? otherwise : Number(text);
  }

  /** The index of a layer, head, query or key, which the address counts from one; `otherwise` where there is none. */
  index(name: string, count: number, otherwise = -1): number {
    const value = this.number(name, 0) - 1;
    return Number.isInteger(value) && value >= 0 && value < count ? value : otherwise;
  }

  /** Change settings; null takes one out. `push` leaves a step that the back button returns to. Nobody is notified. */
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

  /** The same for indices, counted from zero here and from one in the address; −1 takes one out. */
  setIndex(values: Record<string, number>, options = {}): void {
    this.set(
      Object.fromEntries(Object.entries(values).map(([name, index]) => [name, index < 0 ? null : index + 1])),
      options,
    );
  }

  /** What is selected, for a link to another view. */
  selection(): Values {
    return Object.fromEntries(SELECTION.map((name) => [name, this.values.get(name)]));
  }

  /** Call `listener` when the address was changed from outside: a link, the back button. Gives what ends it. */
  on(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The address of a view with settings, for links. */
  link(view: string, values: Values = {}): string {
    const named = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
      if (value !== null && value !== undefined && value !== "") named.set(name, String(value));
    }
    return `${this.pages[view] ?? ""}#${view}${named.size ? `?${named}` : ""}`;
  }

  private address(): string {
    return `#${this.view}${this.values.size ? `?${this.values}` : ""}`;
  }

  private read(address: string): void {
    const [view = "", values = ""] = address.split(/\?(.*)/s);
    this.view = view;
    this.values = new URLSearchParams(values);
  }

  private notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
