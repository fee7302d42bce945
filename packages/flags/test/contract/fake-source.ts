/** A fake source of snapshots that tests can delay, break or take away. */
import type { Snapshot } from "../../src/store/flag-store.ts";
import type { SnapshotSource } from "../../src/store/snapshot/contract.ts";
import type { BadSnapshot } from "../../src/store/snapshot/errors.ts";
import type { CountedChanges, Counts } from "../../src/store/writes/change-counter.ts";
import { type ChainEnd, COUNTERS, counterOf } from "../../src/store/writes/revision.ts";

type FakeSnapshot = Snapshot & ChainEnd;

const snapshotOf = (end: ChainEnd): FakeSnapshot => ({
  ...end,
  flags: new Map(),
  override: () => undefined,
});

/** Counts every read; a test can delay it or let it fail. */
export class FakeSource implements SnapshotSource<FakeSnapshot> {
  revision = 0;
  /** The name of the history. Change it to simulate a restored backup. */
  history = "h";
  revisionReads = 0;
  loads = 0;
  polls: string[][] = [];
  failure: Error | undefined;
  /** Thrown by `load` only. */
  bad: BadSnapshot | undefined;
  /** Tenants whose flags `load` cannot read. */
  readonly broken = new Set<string>();
  loading = 0;
  mostLoading = 0;
  gate: Promise<void> | undefined;
  loadGate: Promise<void> | undefined;
  /** How long a load takes. */
  loadMs = 0;
  pollGate: Promise<void> | undefined;

  async readRevision(): Promise<ChainEnd> {
    this.revisionReads++;
    const end = this.#end();
    await this.gate;
    if (this.failure) throw this.failure;
    return end;
  }
  async readRevisions(tenants: readonly string[]): Promise<Map<string, ChainEnd>> {
    this.polls.push([...tenants]);
    const end = this.#end();
    await this.gate;
    await this.pollGate;
    if (this.failure) throw this.failure;
    return new Map(tenants.map((tenant) => [tenant, end]));
  }
  /** The numbers of the last changes, by counter. Counters without one are unknown, so that polls ask for their tenants. */
  readonly counts: (number | undefined)[] = Array(COUNTERS).fill(undefined);
  /** Tenants by the number of their last change. */
  readonly changed = new Map<string, number>();
  counted: Counts[] = [];

  /** Sets the numbers of all counters. */
  count(seq: number): void {
    this.counts.fill(seq);
  }

  async readCounted(since: Counts): Promise<CountedChanges> {
    this.counted.push(since);
    const counts = [...this.counts];
    const end = this.#end();
    const ends = new Map<string, ChainEnd>();
    for (const [tenant, seq] of this.changed)
      if (seq > (since[counterOf(tenant)] ?? seq)) ends.set(tenant, end);
    await this.gate;
    if (this.failure) throw this.failure;
    const unknown = new Set<number>();
    for (const [counter, seq] of counts.entries()) {
      const last = since[counter];
      if (seq === undefined || last === undefined || seq < last) unknown.add(counter);
    }
    return { counts, ends, unknown };
  }
  async load(tenant: string, end: ChainEnd): Promise<FakeSnapshot> {
    this.loads++;
    this.loading++;
    this.mostLoading = Math.max(this.mostLoading, this.loading);
    try {
      await this.loadGate;
      if (this.loadMs > 0) await new Promise((resolve) => setTimeout(resolve, this.loadMs));
      if (this.bad) throw this.bad;
      if (this.broken.has(tenant)) throw new Error("statement timeout");
      return snapshotOf(end);
    } finally {
      this.loading--;
    }
  }
  #end(): ChainEnd {
    const { revision, history } = this;
    return { revision, auditHash: revision === 0 ? "" : `${history}${revision}` };
  }
  reads(): [number, number] {
    return [this.revisionReads, this.loads];
  }
  /** Blocks reads until the returned function is called. */
  hold(gate: "gate" | "pollGate" | "loadGate" = "gate"): () => void {
    let open = () => {};
    this[gate] = new Promise((resolve) => {
      open = () => {
        this[gate] = undefined;
        resolve();
      };
    });
    return open;
  }
}
