/** The keys of global flags, which belong to the vendor: an organization may use one only if the flag permits it. */
import type { Where } from "@better-auth/core/db/adapter";
import { type FeatureFlag, isReplaceable, NO_TENANT } from "../../model/flag.ts";
import type { FlagRow } from "../../model/tables.ts";
import type { IgnoredFlag } from "../flag-store.ts";
import { conflict, invalid } from "./entity.ts";
import { FLAG_MODEL } from "./flags.ts";
import { type Adapter, findRows, where } from "./queries.ts";

/** Keys per query. */
const MAX_KEYS = 1000;

/**
 * Throws if another flag of the tenant has the key, or a global flag that organizations may not replace. A global flag that
 * is created at the same time is not seen. Evaluation then ignores the organization's flag.
 */
export async function requireFreeKey(
  tx: Adapter,
  tenant: string,
  key: string,
  flagId?: string,
): Promise<void> {
  const tenants: Where = { field: "tenant", operator: "in", value: [...new Set([tenant, NO_TENANT])] };
  const rows = await tx.findMany<FlagRow>({ model: FLAG_MODEL, where: [...where({ key }), tenants] });
  const isGlobal = (row: FlagRow) => row.tenant === NO_TENANT && tenant !== NO_TENANT;
  // A collation that ignores case treats `Beta` and `beta` as the same key.
  const taken = rows.find((row) => !isGlobal(row) && row.flagId !== flagId);
  if (taken !== undefined) {
    throw conflict(`A flag with the key "${taken.key}" already exists. Choose another key.`, {
      field: "key",
    });
  }
  const global = rows.find((row) => isGlobal(row) && row.key === key);
  if (global === undefined || isReplaceable(global)) return;
  const advice =
    global.visibility === "public"
      ? "Choose another key, or ask an admin of the application to set tenantOverridable on the global flag."
      : "Choose another key.";
  throw conflict(
    `The key "${key}" belongs to a global flag that organizations cannot replace with their own. ${advice}`,
    { field: "key" },
  );
}

/** Throws if the flag is marked as replaceable although no organization could replace it. */
export function requireMeaningful(
  tenant: string,
  { key, tenantOverridable, visibility }: Pick<FeatureFlag, "key" | "tenantOverridable" | "visibility">,
): void {
  if (tenantOverridable !== true) return;
  const details = { field: "tenantOverridable" };
  if (tenant !== NO_TENANT) {
    throw invalid(
      `tenantOverridable is for global flags, and the flag "${key}" belongs to an organization. Leave it out.`,
      details,
    );
  }
  if (visibility === "public") return;
  throw invalid(
    `The flag "${key}" has the visibility ${visibility}, so organizations cannot replace it. Set tenantOverridable to false, or visibility to public.`,
    details,
  );
}

export async function findFlagsOfOrganizations(
  adapter: Adapter,
  keys: readonly string[],
  limit: number,
): Promise<IgnoredFlag[]> {
  const found: IgnoredFlag[] = [];
  for (let start = 0; start < keys.length && found.length < limit; start += MAX_KEYS) {
    const wanted = new Set(keys.slice(start, start + MAX_KEYS));
    const rows = await findRows<FlagRow>(
      adapter,
      FLAG_MODEL,
      {},
      {
        also: [
          { field: "key", operator: "in", value: [...wanted] },
          { field: "tenant", operator: "ne", value: NO_TENANT },
        ],
        select: ["tenant", "key", "flagId"],
        sortBy: { field: "flagId", direction: "asc" },
        limit: limit - found.length,
      },
    );
    // Some collations ignore case.
    for (const { tenant, key } of rows) if (wanted.has(key)) found.push({ organizationId: tenant, key });
  }
  return found;
}
