/** Brings back a deleted flag with its rules and overrides, from the audit entry of its deletion. */
import { isPlainObject } from "../../engine/json.ts";
import type { FeatureFlag } from "../../model/flag.ts";
import type { FlagOverride } from "../../model/override.ts";
import type { FlagRule } from "../../model/rule.ts";
import { decodeJson } from "../rows/codec.ts";
import { requireAffordable, requireUsable } from "../rows/definition.ts";
import { conflict } from "../rows/entity.ts";
import { insertFlag, reviveFlag } from "../rows/flags.ts";
import { requireFreeKey } from "../rows/global-keys.ts";
import { countAll, insertOverride, isExpired, requireRoom, reviveOverride } from "../rows/overrides.ts";
import { byOrder, insertRule, requireFitting, reviveRule } from "../rows/rules.ts";
import { storedSegments } from "./stored.ts";
import type { AuditedChange, WriteContext } from "./write.ts";

interface Deleted {
  readonly flag: FeatureFlag;
  readonly rules: readonly FlagRule[];
  readonly overrides: readonly FlagOverride[];
  /** Overrides that the flag had. */
  readonly overrideCount: number;
}

/** The flag keeps its id, and rules keep their salts: users stay in their buckets. Expired overrides are left out. */
export async function restoreFlag(
  context: WriteContext,
  before: string | null,
  maxOverrides: number,
): Promise<{ readonly changes: readonly AuditedChange[]; readonly missingOverrides: number }> {
  const { tx, tenant, at, now, newId, drafted } = context;
  const { flag: deleted, rules, overrides: kept, overrideCount } = deletedIn(before);
  const flag = { ...deleted, version: deleted.version + 1, updatedAt: at };
  const overrides = kept.filter((override) => !isExpired(override, now));
  await requireFreeKey(tx, tenant, flag.key);
  const segments = await storedSegments(context);
  requireUsable(flag, rules, segments);
  requireAffordable({ trees: rules.map(({ conditions }) => conditions), segments });
  for (const rule of rules) requireFitting(flag, rule);
  const added = overrides.length + (drafted?.addedOverrides ?? 0);
  if (overrides.length > 0) requireRoom(await countAll(tx, tenant), added, maxOverrides);

  const subject = { flagId: flag.id, flagKey: flag.key, before: null };
  const changes: AuditedChange[] = [];
  for (const after of rules) {
    const rows = () => insertRule(tx, tenant, after);
    changes.push({ ...subject, entityId: after.id, action: "rule.created", after, rows });
  }
  for (const override of overrides) {
    // Ids of overrides are never used twice, because snapshots remove deleted ones by id.
    const after = { ...override, id: newId() };
    const rows = () => insertOverride(tx, tenant, after);
    changes.push({ ...subject, entityId: after.id, action: "override.created", after, rows });
  }
  // The flag's own entry is the last one, so that the response is about the flag.
  const rows = () => insertFlag(tx, tenant, flag);
  changes.push({ ...subject, entityId: flag.id, action: "flag.created", after: flag, rows });
  return { changes, missingOverrides: overrideCount - overrides.length };
}

function deletedIn(before: string | null): Deleted {
  const entity = before === null ? undefined : decodeJson(before);
  if (!isPlainObject(entity)) throw unreadable();
  const { rules, overrides, overrideCount, overridesDigest: _digest, ...flag } = entity;
  if (!Array.isArray(rules) || !Array.isArray(overrides)) throw unreadable();
  try {
    return {
      flag: reviveFlag(JSON.stringify(flag)),
      rules: rules.map((rule) => reviveRule(JSON.stringify(rule))).sort(byOrder),
      overrides: overrides.map((override) => reviveOverride(JSON.stringify(override))),
      overrideCount: typeof overrideCount === "number" ? overrideCount : overrides.length,
    };
  } catch {
    throw unreadable();
  }
}

/** The entry of a flag whose rows were damaged. */
function unreadable() {
  return conflict(
    "The entry does not hold the whole flag, so it cannot be brought back. Create the flag again by hand.",
    { fields: ["rules", "overrides"] },
  );
}
