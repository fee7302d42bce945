/** Previews of changes that are being counted: one for each caller, because only the newest is looked at. */
import { conflict } from "../../store/rows/entity.ts";

export class Previews {
  readonly #running = new Map<string, AbortController>();

  /** Ends the caller's older preview. Rejects as soon as a newer one begins; the work should stop at `signal`. */
  async run<Result>(caller: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.#running.get(caller)?.abort();
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(caller, controller);
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(superseded()));
    });
    try {
      return await Promise.race([work(signal), ended]);
    } finally {
      if (this.#running.get(caller) === controller) this.#running.delete(caller);
    }
  }
}

function superseded() {
  return conflict("The preview was ended, because you asked for a newer one. Use the answer to that one.", {
    superseded: true,
  });
}
