/** The limits of a tenant, checked by writes. They keep one tenant from using up the memory or the CPU of all others. */
import type { Steps } from "../../engine/cost.ts";
import { invalid } from "../rows/entity.ts";
import type { Adapter } from "../rows/queries.ts";
import { applyChanges, ContentsBuilder, readRows } from "../snapshot/contents.ts";
import type { Contents } from "../snapshot/entities.ts";
import { BadSnapshot } from "../snapshot/errors.ts";
import { measureUsage, type TenantUsage } from "../snapshot/usage.ts";
import { type ChainEnd, isSameEnd } from "./revision.ts";

export const MAX_TENANT_FLAGS = 10_000;
export const MAX_TENANT_BYTES: number = 16 * 1024 * 1024;
/** About 25 ms for one evaluation of all flags, which leaves as much to find them and to write the response. */
export const MAX_TENANT_COST: Steps = 2_500_000;

/** A snapshot in memory. */
export interface Known extends ChainEnd {
  readonly contents: Contents;
}

/**
 * The tenant's entities at `end`, read in the transaction that holds the tenant's lock and has not changed them yet.
 * Undefined if the stored entities are invalid: limits must not keep them from being repaired.
 */
export async function readContents(
  tx: Adapter,
  tenant: string,
  end: ChainEnd,
  known: Known | undefined,
): Promise<Contents | undefined> {
  try {
    if (known === undefined) return await readRows(tx, tenant);
    if (isSameEnd(known, end)) return known.contents;
    const builder = new ContentsBuilder(known.contents);
    return (await applyChanges(tx, tenant, builder, { from: known, to: end }))
      ? builder
      : await readRows(tx, tenant);
  } catch (error) {
    if (error instanceof BadSnapshot) return undefined;
    throw error;
  }
}

/** Throws if the changes make the tenant exceed a limit. A tenant that exceeds one already may shrink. */
export async function requireRoom(contents: Contents, changed: Contents): Promise<void> {
  const [before, after] = [await measureUsage(contents), await measureUsage(changed)];
  for (const { name, limit, message } of LIMITS) {
    if (after[name] > limit && after[name] > before[name]) throw invalid(message, { limit });
  }
}

interface Limit {
  readonly name: keyof TenantUsage;
  readonly limit: number;
  readonly message: string;
}

const LIMITS: readonly Limit[] = [
  {
    name: "flags",
    limit: MAX_TENANT_FLAGS,
    message: `There are ${MAX_TENANT_FLAGS} flags already, the limit. Delete flags that are no longer used.`,
  },
  {
    name: "bytes",
    limit: MAX_TENANT_BYTES,
    message: `All flags, rules, segments and override values together would exceed ${MAX_TENANT_BYTES} bytes, the limit. Delete what is no longer used, or store large values elsewhere and keep their URLs here.`,
  },
  {
    name: "cost",
    limit: MAX_TENANT_COST,
    message: `Evaluating all flags would cost more than ${MAX_TENANT_COST} steps, the limit. Use starts_with, ends_with or in instead of regex and contains, or delete flags and rules that are no longer used.`,
  },
];
