/** An endless stream of one item by hand, as far as the reader's credit allows. */

type Check = (payload: unknown) => unknown;

export class HandStream {
  readonly #id: unknown;
  readonly #item: unknown;
  readonly #check: Check;
  readonly #send: (frame: string) => void;
  #credit = 0;

  constructor(id: unknown, item: unknown, check: Check, send: (frame: string) => void) {
    this.#id = id;
    this.#item = item;
    this.#check = check;
    this.#send = send;
  }

  grant(items: number): void {
    for (this.#credit += items; this.#credit > 0; this.#credit--) {
      const payload = this.#check(this.#item);
      const meta = { correlationId: this.#id, timestamp: Date.now() };
      this.#send(JSON.stringify({ type: "$ws:rpc-progress", meta, payload }));
    }
  }
}

// Loaded on demand, as in `by-hand.ts`.
const checks: Readonly<Record<string, () => Promise<Check>>> = {
  json: async () => (payload) => payload,
  zod: async () => (await import("./zod.ts")).check,
};

/** The variant that the command line names. */
export async function chooseCheck(variant: string | undefined): Promise<Check> {
  const load = checks[variant ?? ""];
  if (load === undefined)
    throw new Error(`Pass the variant as argument: ${Object.keys(checks).join(" or ")}.`);
  return load();
}
