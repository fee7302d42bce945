/** Which flags of one tenant changed in the last revisions, for clients that reconnect. */
import { segmentsOf } from "../engine/conditions.ts";
import type { ChangedKeys, FlagStore, FollowedSnapshot } from "../store/flag-store.ts";
import { differenceOf } from "../store/snapshot/difference.ts";

/** A client that is further behind gets all values. */
const MAX_BEHIND = 1000;
/** Answers of the audit log that are kept: after a restart, many clients ask for the same revisions. */
const MAX_KEPT = 100;

interface LoggedChange {
  readonly revision: number;
  readonly keys: readonly string[];
}

export class ChangeLog {
  readonly #store: Pick<FlagStore, "changedKeys">;
  readonly #tenant: string;
  /** Oldest first. */
  #changes: LoggedChange[] = [];
  /** The revision after which `#changes` is complete. */
  #start: number | undefined;
  readonly #older = new Map<number, Promise<ChangedKeys | undefined>>();

  constructor(store: Pick<FlagStore, "changedKeys">, tenant: string) {
    this.#store = store;
    this.#tenant = tenant;
  }

  add(current: FollowedSnapshot, previous: FollowedSnapshot | undefined): void {
    if (previous === undefined || this.#start === undefined || current.revision <= previous.revision) {
      this.#changes = [];
      this.#start = current.revision;
      this.#older.clear();
      return;
    }
    const { keys, overrideKeys } = differenceOf(previous, current);
    this.#changes.push({ revision: current.revision, keys: [...keys, ...overrideKeys] });
    const first = this.#changes.find(({ revision }) => current.revision - revision <= MAX_BEHIND);
    const dropped = first === undefined ? 0 : this.#changes.indexOf(first);
    if (dropped === 0) return;
    this.#start = this.#changes[dropped - 1]?.revision ?? this.#start;
    this.#changes.splice(0, dropped);
  }

  /** Keys that changed after the revision. Undefined if that is too long ago or not known. */
  async keysAfter(revision: number, snapshot: FollowedSnapshot): Promise<ReadonlySet<string> | undefined> {
    const start = this.#start;
    const behind = snapshot.revision - revision;
    if (start === undefined || behind < 0 || behind > MAX_BEHIND) return undefined;
    const keys = new Set<string>();
    for (const change of this.#changes) if (change.revision > revision) addAll(keys, change.keys);
    if (revision >= start) return keys;
    const older = await this.#read(revision, start);
    if (older === undefined) return undefined;
    addAll(keys, older.keys);
    if (older.segments) addAll(keys, keysWithSegments(snapshot));
    return keys;
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
    for (const { rule } of contents.rules.get(id)?.values() ?? []) {
      if (segmentsOf(rule.conditions).size === 0) continue;
      yield key;
      break;
    }
  }
}
