/** The feeds of all tenants that remote processes read. A feed outlives its last reader, who then gets only changes. */
import { later } from "@halyard/base";
import { type FeedReader, type FollowedStore, TenantFeed } from "./tenant-feed.ts";

/** How long a feed without readers is kept. */
const IDLE_MS = 600_000;
/** Feeds without readers, each with the definitions of a tenant in memory. */
const MAX_IDLE = 16;

export class Feeds {
  readonly #store: FollowedStore;
  readonly #feeds = new Map<string, TenantFeed>();
  /** By tenant, the longest idle first. */
  readonly #idle = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(store: FollowedStore) {
    this.#store = store;
  }

  join(tenant: string, reader: FeedReader): TenantFeed {
    const feed = this.#feeds.get(tenant) ?? new TenantFeed(this.#store, tenant);
    this.#feeds.set(tenant, feed);
    clearTimeout(this.#idle.get(tenant));
    this.#idle.delete(tenant);
    feed.add(reader);
    return feed;
  }

  leave(tenant: string, reader: FeedReader): void {
    const feed = this.#feeds.get(tenant);
    if (feed === undefined || feed.delete(reader)) return;
    this.#idle.set(
      tenant,
      later(() => this.#drop(tenant), IDLE_MS),
    );
    const [longest] = this.#idle.keys();
    if (longest !== undefined && this.#idle.size > MAX_IDLE) this.#drop(longest);
  }

  #drop(tenant: string): void {
    clearTimeout(this.#idle.get(tenant));
    this.#idle.delete(tenant);
    this.#feeds.delete(tenant);
  }
}
