// One request at a time.

/** Call `work`, and once more when it is done if it was called for meanwhile. `overtaken` tells `work` whether it was. */
export function oneAtATime(work: (overtaken: () => boolean) => Promise<void>): () => Promise<void> {
  let busy = false, waiting = false;
  return async () => {
    waiting = true;
    if (busy) return;
    busy = true;
    while (waiting) {
      waiting = false;
      await work(() => waiting);
    }
    busy = false;
  };
}
