/** Every flag in a line: what is needed to count flags, and nothing that is long. */
import type { FlagRow } from "../model/tables.ts";
import { FLAG_MODEL } from "./flags.ts";
import { type Adapter, scanRows } from "./rows.ts";
import type { TenantFilter } from "./store.ts";

export interface FlagLine {
  readonly id: string;
  readonly tenant: string;
  readonly key: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
}

export async function visitFlags(
  adapter: Adapter,
  tenants: TenantFilter,
  visit: (flag: FlagLine) => void,
): Promise<void> {
  const match = tenants === "all" ? {} : { tenant: tenants.tenant };
  const select = ["flagId", "tenant", "key", "enabled", "createdAt"];
  for await (const row of scanRows<FlagRow>(adapter, FLAG_MODEL, "flagId", match, { select })) {
    const { flagId, tenant, key, enabled, createdAt } = row;
    visit({ id: flagId, tenant, key, enabled, createdAt });
  }
}
