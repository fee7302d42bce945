/** An organization's flags as evaluation reads them: without those that replace a global flag which they may not replace. */
import { isReplaceable } from "../../model/flag.ts";
import type { Snapshot, SnapshotFlag } from "../../store/flag-store.ts";

/** By the global snapshot, then by the organization's. Neither is kept in memory by it. */
const known = new WeakMap<Snapshot, WeakMap<Snapshot, Snapshot>>();

/** The same snapshot if no flag is ignored, which is the usual case. Made once for each pair of snapshots. */
export function effectiveFlags(ofTenant: Snapshot, global: Snapshot): Snapshot {
  let byTenant = known.get(global);
  if (byTenant === undefined) {
    byTenant = new WeakMap();
    known.set(global, byTenant);
  }
  let effective = byTenant.get(ofTenant);
  if (effective === undefined) {
    const ignored = new Set(ignoredKeys(ofTenant, global));
    effective = ignored.size === 0 ? ofTenant : new PartialSnapshot(ofTenant, ignored);
    byTenant.set(ofTenant, effective);
  }
  return effective;
}

/** The keys of the organization's flags that no evaluation reads. */
export function ignoredKeys(ofTenant: Snapshot, global: Snapshot): string[] {
  // An organization may have many more flags than there are global ones, or the other way round.
  const [fewer, others] =
    ofTenant.flags.size < global.flags.size ? [ofTenant.flags, global.flags] : [global.flags, ofTenant.flags];
  return [...fewer.keys()].filter((key) => others.has(key) && isIgnored(key, global));
}

/** Whether a flag with this key is ignored in organizations. */
export function isIgnored(key: string, global: Snapshot): boolean {
  const replaced = global.flags.get(key);
  return replaced !== undefined && !isReplaceable(replaced.flag);
}

/** The keys that organizations cannot use. */
export function reservedKeys(global: Snapshot): string[] {
  return [...global.flags.keys()].filter((key) => isIgnored(key, global));
}

class PartialSnapshot implements Snapshot {
  readonly revision: number;
  readonly flags: ReadonlyMap<string, SnapshotFlag>;
  readonly #whole: Snapshot;

  constructor(whole: Snapshot, ignored: ReadonlySet<string>) {
    this.revision = whole.revision;
    this.flags = new Map([...whole.flags].filter(([key]) => !ignored.has(key)));
    this.#whole = whole;
  }

  override(...about: Parameters<Snapshot["override"]>): ReturnType<Snapshot["override"]> {
    return this.#whole.override(...about);
  }
}
