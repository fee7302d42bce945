/** The tenants that subscribed sessions read, with their current snapshots. */
import { FeatureFlagError } from "../model/errors.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { FlagStore, FollowedSnapshot } from "../store/flag-store.ts";
import { ChangeLog } from "./change-log.ts";
import type { Snapshots } from "./layers.ts";
import type { Subscriber } from "./subscriber.ts";

export interface LiveTenant {
  readonly subscribers: Set<Subscriber>;
  readonly log: ChangeLog;
  snapshot: FollowedSnapshot | undefined;
  /** The last pair of snapshots, the same object for all sessions of the tenant. */
  pair: Snapshots | undefined;
  stop: () => void;
}

export class LiveTenants {
  readonly #store: FlagStore;
  readonly #changed: (subscribers: Iterable<Subscriber>) => void;
  readonly #byId = new Map<string, LiveTenant>();
  /** The last answer of `snapshots`: sessions of one tenant ask one after the other. */
  #last: { readonly tenant: string; readonly pair: Snapshots } | undefined;

  /** `changed` is called with the subscribers of a tenant that has a new snapshot. */
  constructor(store: FlagStore, changed: (subscribers: Iterable<Subscriber>) => void) {
    this.#store = store;
    this.#changed = changed;
  }

  get(tenant: string): LiveTenant | undefined {
    return this.#byId.get(tenant);
  }

  /** Gives the subscriber the tenants of its session, and takes away others. */
  assign(subscriber: Subscriber, tenants: readonly string[]): void {
    const before = subscriber.tenants;
    subscriber.tenants = tenants;
    for (const tenant of tenants) this.#open(tenant).subscribers.add(subscriber);
    for (const tenant of before) if (!tenants.includes(tenant)) this.#leave(tenant, subscriber);
  }

  /** The current snapshots of a tenant. Throws if they were not read yet. */
  snapshots(tenant: string): Snapshots {
    if (this.#last?.tenant === tenant) return this.#last.pair;
    const own = this.#byId.get(tenant);
    const global = this.#byId.get(NO_TENANT)?.snapshot;
    const ofTenant = tenant === NO_TENANT ? undefined : own?.snapshot;
    if (own === undefined || global === undefined || (ofTenant === undefined && tenant !== NO_TENANT))
      throw new FeatureFlagError("STORAGE_ERROR", "The flags are not loaded yet. Try again.", {
        status: 503,
      });
    if (own.pair?.global !== global || own.pair.ofTenant !== ofTenant) own.pair = { global, ofTenant };
    this.#last = { tenant, pair: own.pair };
    return own.pair;
  }

  close(): void {
    for (const { stop } of this.#byId.values()) stop();
    this.#byId.clear();
    this.#last = undefined;
  }

  #open(tenant: string): LiveTenant {
    const existing = this.#byId.get(tenant);
    if (existing !== undefined) return existing;
    const log = new ChangeLog(this.#store, tenant);
    const made: LiveTenant = {
      subscribers: new Set(),
      log,
      snapshot: undefined,
      pair: undefined,
      stop: () => undefined,
    };
    this.#byId.set(tenant, made);
    made.stop = this.#store.follow(tenant, (current, previous) => {
      log.add(current, previous);
      made.snapshot = current;
      this.#last = undefined;
      this.#changed(made.subscribers);
    });
    return made;
  }

  #leave(tenant: string, subscriber: Subscriber): void {
    const left = this.#byId.get(tenant);
    left?.subscribers.delete(subscriber);
    // The global flags stay: nearly every session reads them.
    if (left === undefined || left.subscribers.size > 0 || tenant === NO_TENANT) return;
    left.stop();
    this.#byId.delete(tenant);
    this.#last = undefined;
  }
}
