/** The definitions of one tenant for all connections that read them: the current view, and who must be told of a change. */
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagStore, Snapshot } from "../../store/flag-store.ts";
import { TenantSnapshot } from "../../store/snapshot/tenant-snapshot.ts";
import { changedNames, Journal } from "./changes.ts";
import { Transfer } from "./transfer.ts";
import { createView, type DefinitionView } from "./view.ts";

/** How often the feed looks whether the database responds. Changes arrive at once. */
const CHECK_MS = 1_000;

/** The part of the store that is used. */
export type FollowedStore = Pick<FlagStore, "snapshot" | "follow">;

/** A connection that reads the definitions. */
export interface FeedReader {
  /** Something has changed since the reader's last request. */
  changed(stale: boolean): void;
}

/** What a request is answered from. */
interface Current {
  readonly view: DefinitionView;
  readonly stale: boolean;
}

export class TenantFeed {
  readonly #store: FollowedStore;
  readonly #tenant: string;
  readonly #readers = new Set<FeedReader>();
  readonly #journal = new Journal();
  #current: Current | undefined;
  #snapshots: readonly Snapshot[] = [];
  #refreshing: Promise<Current> | undefined;
  /** A snapshot arrived during a refresh. */
  #isBehind = false;
  #stop: (() => void) | undefined;

  constructor(store: FollowedStore, tenant: string) {
    this.#store = store;
    this.#tenant = tenant;
  }

  add(reader: FeedReader): void {
    this.#readers.add(reader);
    this.#stop ??= this.#follow();
  }

  /** Returns whether another reader is left. */
  delete(reader: FeedReader): boolean {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return true;
    this.#stop?.();
    this.#stop = undefined;
    return false;
  }

  #follow(): () => void {
    const stops = this.#tenants().map((tenant) =>
      this.#store.follow(tenant, () => {
        this.#isBehind = this.#refreshing !== undefined;
        if (!this.#isBehind) this.#refreshInBackground();
      }),
    );
    const timer = setInterval(() => this.#refreshInBackground(), CHECK_MS);
    if (typeof timer === "object") timer.unref();
    return () => {
      clearInterval(timer);
      for (const stop of stops) stop();
    };
  }

  #tenants(): readonly string[] {
    return this.#tenant === NO_TENANT ? [NO_TENANT] : [NO_TENANT, this.#tenant];
  }

  /**
   * Starts the transfer of what a reader at this position lacks. Rejects while there are no flags in memory, or only
   * older ones than the reader has.
   */
  async transfer(
    position: string | undefined,
    environment: string | undefined,
  ): Promise<{ readonly transfer: Transfer; readonly stale: boolean }> {
    if (position !== undefined) await this.#reach(position);
    const { view, stale } = await this.#refresh();
    return { transfer: new Transfer(view, environment, this.#changesSince(view, position)), stale };
  }

  /** Another process of the server may have read changes that this one has not: a reader never goes back. */
  async #reach(position: string): Promise<void> {
    const revisions = position.split(".").map((part) => Number.parseInt(part, 10));
    for (const [at, tenant] of this.#tenants().entries()) {
      const revision = revisions[at] ?? 0;
      if (!Number.isSafeInteger(revision)) continue;
      const { snapshot, stale } = await this.#store.snapshot(tenant, revision);
      // Flags that are older and not stale come from a restored database.
      if (snapshot.revision < revision && stale)
        throw new Error("The flags in memory are older than those of the reader.");
    }
    // A read that had begun before may have older snapshots.
    await this.#refreshing?.catch(() => undefined);
  }

  #changesSince(view: DefinitionView, position: string | undefined) {
    if (position === undefined) return undefined;
    return position === view.position ? [] : this.#journal.since(position);
  }

  #refresh(): Promise<Current> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
      if (this.#isBehind) this.#refreshInBackground();
    });
    return this.#refreshing;
  }

  #refreshInBackground(): void {
    this.#isBehind = false;
    // A failed read leaves the current view as it is, and the next one may succeed.
    this.#refresh().catch(() => undefined);
  }

  async #read(): Promise<Current> {
    const readings = await Promise.all(this.#tenants().map((tenant) => this.#store.snapshot(tenant)));
    const snapshots = readings.map(({ snapshot }) => snapshot);
    const before = this.#current;
    const stale = readings.some((reading) => reading.stale);
    const isSame = before !== undefined && snapshots.every((one, at) => one === this.#snapshots[at]);
    const current = { view: isSame ? before.view : viewOf(snapshots), stale };
    this.#current = current;
    this.#snapshots = snapshots;
    if (before === undefined) return current;
    const hasChanged = before.view.position !== current.view.position;
    if (hasChanged) this.#journal.add(before.view.position, changedNames(before.view, current.view));
    if (hasChanged || before.stale !== stale) for (const reader of this.#readers) reader.changed(stale);
    return current;
  }
}

function viewOf(snapshots: readonly Snapshot[]): DefinitionView {
  const [global, ofTenant] = snapshots.map((snapshot) => {
    if (snapshot instanceof TenantSnapshot) return snapshot;
    throw new TypeError("The store returned a snapshot without definitions.");
  });
  if (global === undefined) throw new TypeError("The store returned no snapshot.");
  return createView(global, ofTenant);
}
