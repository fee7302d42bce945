/** The changes of one auth instance's callers: made by this process, or announced by another one. */
import type { HostContext } from "../identify/request.ts";
import { sharedPart } from "../identify/shared-parts.ts";
import { type IdentityChange, isIdentityChange, RecentChanges, type RowChange } from "./identity-change.ts";

export type ChangeListener = (change: RowChange) => void;

/**
 * Since when no announcement of another process was lost, by the monotonic clock. Undefined while announcements may be
 * lost.
 */
export type Unbroken = () => Promise<number | undefined>;

export class ChangeFeed {
  readonly listeners: Set<ChangeListener> = new Set();
  /** Called with the changes that this process makes, to announce them to others. */
  readonly announcers: Set<(change: IdentityChange) => void> = new Set();
  /** One of each bus that is connected. */
  readonly links: Set<Unbroken> = new Set();
  readonly #recent = new RecentChanges();

  /** A change by this process. */
  apply(change: RowChange): void {
    this.receive(change);
    if (isIdentityChange(change)) for (const announce of this.announcers) announce(change);
  }

  /** A change by another process. */
  receive(change: RowChange): void {
    // Before the listeners, which may start a new lookup.
    if (isIdentityChange(change)) this.#recent.add(change, performance.now());
    for (const listener of this.listeners) listener(change);
  }

  /** The same for all buses. Undefined without any. */
  async unbrokenSince(): Promise<number | undefined> {
    let latest: number | undefined;
    for (const since of await Promise.all([...this.links].map((unbroken) => unbroken()))) {
      if (since === undefined) return undefined;
      latest = Math.max(latest ?? since, since);
    }
    return latest;
  }

  /** Whether one of these may have changed since `startedAtMs`, by the monotonic clock. */
  hasChanged(subjects: readonly IdentityChange[], startedAtMs: number): boolean {
    return this.#recent.includes(subjects, startedAtMs, performance.now());
  }
}

export function changeFeedOf({ adapter }: Pick<HostContext, "adapter">): ChangeFeed {
  return sharedPart(adapter, "feed", () => new ChangeFeed());
}

/** Makes a change by this process count at once, here and in the processes that are connected. */
export function applyChange(context: HostContext, change: RowChange): void {
  changeFeedOf(context).apply(change);
}
