// One request at a time.

/** Call `work`, and once more when it is done if it was called for meanwhile: each answer is drawn, in order. */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let busy = false,
    waiting = false;
  return async () => {
    waiting = true;
    if (busy) return;
    busy = true;
    while (waiting) {
      waiting = false;
      await work();
    }
    busy = false;
  };
}
