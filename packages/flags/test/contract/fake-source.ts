/** A fake source of snapshots that tests can delay, break or take away. */
import type { Snapshot } from "../../src/store/flag-store.ts";
import type { SnapshotSource } from "../../src/store/snapshot/contract.ts";
import type { BadSnapshot } from "../../src/store/snapshot/errors.ts";
import type { CountedChanges } from "../../src/store/writes/change-counter.ts";
import type { ChainEnd } from "../../src/store/writes/revision.ts";

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
  /** The change counter; undefined as long as the database has none, so that polls ask for all tenants. */
  seq: number | undefined;
  /** Tenants by the number of their last change. */
  readonly changed = new Map<string, number>();
  counted: (number | undefined)[] = [];

  async readCounted(since: number | undefined): Promise<CountedChanges> {
    this.counted.push(since);
    const { seq } = this;
    const changes = [...this.changed].filter(([, number]) => number > (since ?? 0));
    const end = this.#end();
    await this.gate;
    if (this.failure) throw this.failure;
    if (seq === undefined || since === undefined || seq < since) return { seq: seq ?? 0, ends: undefined };
    return { seq, ends: new Map(changes.map(([tenant]) => [tenant, end])) };
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
