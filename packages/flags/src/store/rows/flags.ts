/** Converts flags to rows and back, and reads and writes those rows. */
import type { JsonValue } from "../../engine/json.ts";
import {
  type FeatureFlag,
  type FeatureFlagPatch,
  FLAG_FIELDS,
  type FlagDraft,
  fitsType,
  isFlagType,
} from "../../model/flag.ts";
import type { FlagRow } from "../../model/tables.ts";
import type { FlagHeader, TenantFilter } from "../flag-store.ts";
import { notFound, overtaken } from "./entity.ts";
import { type Mapping, mappingOf } from "./mapping.ts";
import { type Adapter, findRow, replaceRow, scanRows } from "./queries.ts";

export const FLAG_MODEL = "featureFlag";

const FLAGS: Mapping<typeof FLAG_FIELDS> = mappingOf(FLAG_FIELDS);

export async function readFlag(adapter: Adapter, tenant: string, flagId: string): Promise<FeatureFlag> {
  const row = await findRow<FlagRow>(adapter, FLAG_MODEL, { flagId, tenant });
  if (row === undefined) throw notFound("flag");
  return toFlag(row);
}

/** Reads the headers of all flags, without their long fields. */
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

export function newFlag(input: FlagDraft, id: string, at: Date): FeatureFlag {
  // An empty id means no organization.
  return FLAGS.create({ ...input, organizationId: input.organizationId || undefined }, at, { id });
}

export function patchFlag(flag: FeatureFlag, patch: FeatureFlagPatch, at: Date): FeatureFlag {
  return FLAGS.patch(flag, patch, at, patch.type ?? flag.type);
}

export async function insertFlag(tx: Adapter, tenant: string, flag: FeatureFlag): Promise<void> {
  await tx.create<FlagRow>({ model: FLAG_MODEL, data: { tenant, ...FLAGS.toColumns(flag) } });
}

/** Writes every column. No other writer can have changed the row since this transaction read it. */
export async function replaceFlag(tx: Adapter, tenant: string, flag: FeatureFlag): Promise<void> {
  const match = { flagId: flag.id, tenant };
  if (!(await replaceRow(tx, FLAG_MODEL, match, FLAGS.toColumns(flag)))) throw overtaken("flag");
}

/** Decodes a flag from the audit log. */
export function reviveFlag(text: string | null): FeatureFlag {
  const flag = FLAGS.revive(text);
  requireType(flag);
  return flag;
}

export function toFlag(row: FlagRow): FeatureFlag {
  const flag = FLAGS.toEntity(row);
  requireType(flag);
  return flag;
}

/** Throws on data that this store cannot have written, so that it does not reach the application. */
function requireType({ key, type, algo, defaultValue, offValue }: FeatureFlag): void {
  const fits = (value: JsonValue | undefined) => value === undefined || fitsType(type, value);
  if (isFlagType(type) && fits(defaultValue) && fits(offValue) && algo === 1) return;
  throw new Error(`The stored flag "${key}" has an unknown type or algorithm, or a value of another type.`);
}
