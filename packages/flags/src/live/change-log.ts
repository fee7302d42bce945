/** Which flags of one tenant changed in the last revisions, for clients that reconnect. */
import { segmentsOf } from "../engine/conditions.ts";
import type { ChangedKeys, FlagStore, FollowedSnapshot } from "../store/flag-store.ts";
import { differenceOf } from "../store/snapshot/difference.ts";

/** A client that is further behind gets all values. */
const MAX_BEHIND = 1000;
/** Answers of the audit log that are kept: after a restart, many clients ask for the same revisions. */
const MAX_KEPT = 100;

/** A revision that this process had. */
interface KnownRevision {
  readonly revision: number;
  /** The audit hash at the revision. */
  readonly hash: string;
}

interface LoggedChange extends KnownRevision {
  readonly keys: readonly string[];
}

/** What changed after a revision. */
export interface ChangesSince {
  /** The audit hash at the revision. A client with another one has values of another history. */
  readonly hash: string;
  readonly keys: ReadonlySet<string>;
}

export class ChangeLog {
  readonly #store: Pick<FlagStore, "changedKeys">;
  readonly #tenant: string;
  /** Oldest first. */
  #changes: LoggedChange[] = [];
  /** The revision after which `#changes` is complete. */
  #start: KnownRevision | undefined;
  readonly #older = new Map<number, Promise<ChangedKeys | undefined>>();

  constructor(store: Pick<FlagStore, "changedKeys">, tenant: string) {
    this.#store = store;
    this.#tenant = tenant;
  }

  add(current: FollowedSnapshot, previous: FollowedSnapshot | undefined): void {
    const { revision, auditHash: hash } = current;
    if (previous === undefined || this.#start === undefined || revision <= previous.revision) {
      this.#changes = [];
      this.#start = { revision, hash };
      this.#older.clear();
      return;
    }
    const { keys, overrideKeys } = differenceOf(previous, current);
    this.#changes.push({ revision, hash, keys: [...keys, ...overrideKeys] });
    const first = this.#changes.find((change) => revision - change.revision <= MAX_BEHIND);
    const dropped = first === undefined ? 0 : this.#changes.indexOf(first);
    if (dropped === 0) return;
    this.#start = this.#changes[dropped - 1] ?? this.#start;
    this.#changes.splice(0, dropped);
  }

  /** What changed after the revision. Undefined if that is too long ago or not known. */
  async since(revision: number, snapshot: FollowedSnapshot): Promise<ChangesSince | undefined> {
    const start = this.#start;
    const behind = snapshot.revision - revision;
    if (start === undefined || behind < 0 || behind > MAX_BEHIND) return undefined;
    const keys = new Set<string>();
    for (const change of this.#changes) if (change.revision > revision) addAll(keys, change.keys);
    const known = this.#known(revision, snapshot);
    if (known !== undefined) return { hash: known, keys };
    // A revision before the first one of this process, or one that it has skipped.
    const older = await this.#read(revision, Math.max(start.revision, revision + 1));
    if (older === undefined) return undefined;
    addAll(keys, older.keys);
    if (older.segments) addAll(keys, keysWithSegments(snapshot));
    return { hash: older.hash, keys };
  }

  /** The audit hash at a revision that this process had. */
  #known(revision: number, snapshot: FollowedSnapshot): string | undefined {
    if (revision === snapshot.revision) return snapshot.auditHash;
    if (revision === this.#start?.revision) return this.#start.hash;
    return this.#changes.find((change) => change.revision === revision)?.hash;
  }

  #read(after: number, upTo: number): Promise<ChangedKeys | undefined> {
    let reading = this.#older.get(after);
    if (reading !== undefined) return reading;
    const [oldest] = this.#older.keys();
    if (oldest !== undefined && this.#older.size >= MAX_KEPT) this.#older.delete(oldest);
    reading = this.#store.changedKeys(this.#tenant, after, upTo).catch(() => {
      this.#older.delete(after);
      return undefined;
    });
    this.#older.set(after, reading);
    return reading;
  }
}

function addAll(set: Set<string>, values: Iterable<string>): void {
  for (const value of values) set.add(value);
}

function* keysWithSegments({ contents }: FollowedSnapshot): Generator<string> {
  for (const [id, { key }] of contents.flags) {
    for (const { conditions } of contents.rules.get(id)?.values() ?? []) {
      if (segmentsOf(conditions).size === 0) continue;
      yield key;
      break;
    }
  }
}
