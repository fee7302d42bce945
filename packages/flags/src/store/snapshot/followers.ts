/** The code that follows the snapshots of single tenants. */

/** Called with each new snapshot of a tenant, in order. `previous` is undefined for the first. Must not throw. */
export type Follower<S> = (current: S, previous: S | undefined) => void;

export class Followers<S> {
  readonly #byTenant = new Map<string, Set<Follower<S>>>();

  /** Returns a function that removes the follower. */
  add(tenant: string, follower: Follower<S>): () => void {
    const followers = this.#byTenant.get(tenant) ?? new Set();
    this.#byTenant.set(tenant, followers);
    followers.add(follower);
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#byTenant.get(tenant) === followers) this.#byTenant.delete(tenant);
    };
  }

  has(tenant: string): boolean {
    return this.#byTenant.has(tenant);
  }

  tenants(): Iterable<string> {
    return this.#byTenant.keys();
  }

  notify(tenant: string, current: S, previous: S | undefined): void {
    for (const follower of [...(this.#byTenant.get(tenant) ?? [])]) follower(current, previous);
  }
}
