/** A database that can be made slow, wrong or absent at will. */
import type { SnapshotSource } from "../../src/store/snapshot.ts";
import type { Snapshot } from "../../src/store/store.ts";
import type { BadSnapshot } from "../../src/store/tenant-snapshot.ts";

const snapshotOf = (revision: number): Snapshot => ({
  revision,
  flags: new Map(),
  override: () => undefined,
});

/** A database whose every read the test can count, hold back or fail. */
export class FakeSource implements SnapshotSource<Snapshot> {
  revision = 0;
  revisionReads = 0;
  loads = 0;
  polls: string[][] = [];
  failure: Error | undefined;
  /** Thrown by `load` only. */
  bad: BadSnapshot | undefined;
  gate: Promise<void> | undefined;
  pollGate: Promise<void> | undefined;

  async readRevision(): Promise<number> {
    this.revisionReads++;
    const { revision } = this;
    await this.gate;
    if (this.failure) throw this.failure;
    return revision;
  }
  async readRevisions(tenants: readonly string[]): Promise<Map<string, number>> {
    this.polls.push([...tenants]);
    const { revision } = this;
    await this.gate;
    await this.pollGate;
    if (this.failure) throw this.failure;
    return new Map(tenants.map((tenant) => [tenant, revision]));
  }
  async load(_tenant: string, revision: number): Promise<Snapshot> {
    this.loads++;
    if (this.bad) throw this.bad;
    return snapshotOf(revision);
  }
  reads(): [number, number] {
    return [this.revisionReads, this.loads];
  }
  /** Lets nothing through until it is called. */
  hold(gate: "gate" | "pollGate" = "gate"): () => void {
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
