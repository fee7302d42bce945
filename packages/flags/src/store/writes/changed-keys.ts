/** The keys that a range of revisions changed, from the audit log. */
import type { Where } from "@better-auth/core/db/adapter";
import { isPlainObject } from "../../engine/json.ts";
import type { AuditRow } from "../../model/tables.ts";
import type { ChangedKeys } from "../flag-store.ts";
import { decodeJson } from "../rows/codec.ts";
import { type Adapter, findRows } from "../rows/queries.ts";
import { AUDIT_MODEL } from "./audit.ts";

/** Entries per query. Each may hold an entity of the largest size. */
const CHUNK = 200;
const SELECT = ["tenant", "revision", "action", "flagKey", "before", "prevHash"];

/** Undefined if an entry is missing. */
export async function readChangedKeys(
  adapter: Adapter,
  tenant: string,
  { after, upTo }: { after: number; upTo: number },
): Promise<ChangedKeys | undefined> {
  const keys = new Set<string>();
  let segments = false;
  let hash: string | undefined;
  for (let start = after; start < upTo; start += CHUNK) {
    const end = Math.min(start + CHUNK, upTo);
    const also: Where[] = [
      { field: "revision", operator: "gt", value: start },
      { field: "revision", operator: "lte", value: end },
    ];
    const rows = await findRows<AuditRow>(
      adapter,
      AUDIT_MODEL,
      { tenant },
      { also, select: SELECT, limit: CHUNK },
    );
    if (rows.length !== end - start) return undefined;
    for (const { action, flagKey, before, revision, prevHash } of rows) {
      if (revision === after + 1) hash = prevHash;
      if (action.startsWith("segment.")) segments = true;
      else keys.add(flagKey);
      // An update may have changed the key.
      if (action === "flag.updated" && before !== null) addKeyOf(before, keys);
    }
  }
  return hash === undefined ? undefined : { hash, keys, segments };
}

function addKeyOf(before: string, keys: Set<string>): void {
  try {
    const flag = decodeJson(before);
    if (isPlainObject(flag) && typeof flag["key"] === "string") keys.add(flag["key"]);
  } catch {
    // Only a flag that was too large for its column is split. Its key is in the entry itself.
  }
}
