/** A histogram of durations with the buckets of Prometheus. */

/** Upper bounds in seconds. */
const BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export class Histogram {
  readonly #counts: number[] = new Array(BOUNDS.length + 1).fill(0);
  #sum = 0;

  record(seconds: number): void {
    const at = BOUNDS.findIndex((bound) => seconds <= bound);
    const index = at === -1 ? BOUNDS.length : at;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sum += seconds;
  }

  get sum(): number {
    return this.#sum;
  }

  /** How many durations were at most each bound; the last count includes all. */
  get cumulative(): readonly { readonly bound: string; readonly count: number }[] {
    let count = 0;
    return this.#counts.map((counted, i) => {
      count += counted;
      return { bound: i < BOUNDS.length ? String(BOUNDS[i]) : "+Inf", count };
    });
  }
}
