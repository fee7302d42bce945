/** Reads the headers of all flags, without their long fields. */
import type { FlagRow } from "../../model/tables.ts";
import type { FlagHeader, TenantFilter } from "../flag-store.ts";
import { FLAG_MODEL } from "./flags.ts";
import { type Adapter, scanRows } from "./queries.ts";

export async function visitFlags(
  adapter: Adapter,
  tenants: TenantFilter,
  visit: (flag: FlagHeader) => void,
): Promise<void> {
  const match = tenants === "all" ? {} : { tenant: tenants.tenant };
  const select = ["flagId", "tenant", "key", "enabled", "createdAt"];
  for await (const row of scanRows<FlagRow>(adapter, FLAG_MODEL, "flagId", match, { select })) {
    const { flagId, tenant, key, enabled, createdAt } = row;
    visit({ id: flagId, tenant, key, enabled, createdAt });
  }
}
