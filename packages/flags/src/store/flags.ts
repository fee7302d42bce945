/** Flags in the database: rows to flags and back. */
import type { DBTransactionAdapter } from "@better-auth/core/db/adapter";
import { type FeatureFlag, fitsType, isFlagType, type JsonObject } from "../model/flag.ts";
import type { CreateFeatureFlagInput } from "../model/inputs.ts";
import type { FlagRow } from "../model/tables.ts";
import { decodeJson, encodeJson } from "./codec.ts";

const model = "featureFlag";

/** Better Auth reads 100 rows unless it is given a limit; this one is the largest every driver takes. */
const ALL = 2 ** 31 - 1;

export async function readFlags(
  adapter: DBTransactionAdapter,
  organizationId: string,
): Promise<FeatureFlag[]> {
  const where = [{ field: "organizationId", value: organizationId }];
  return (await adapter.findMany<FlagRow>({ model, where, limit: ALL })).map(toFlag);
}

/** The key as it is stored: a database whose collation ignores case takes `Beta` and `beta` for the same key. */
export async function findTakenKey(
  adapter: DBTransactionAdapter,
  organizationId: string,
  key: string,
): Promise<string | undefined> {
  const where = [
    { field: "organizationId", value: organizationId },
    { field: "key", value: key },
  ];
  return (await adapter.findOne<FlagRow>({ model, where }))?.key;
}

export async function insertFlag(
  tx: DBTransactionAdapter,
  organizationId: string,
  input: CreateFeatureFlagInput,
  at: Date,
): Promise<FeatureFlag> {
  const row = await tx.create<FlagRow>({
    model,
    data: {
      organizationId,
      key: input.key,
      name: input.name,
      description: input.description ?? null,
      type: input.type,
      enabled: input.enabled ?? false,
      defaultValue: input.defaultValue === undefined ? null : encodeJson(input.defaultValue),
      metadata: input.metadata === undefined ? null : encodeJson(input.metadata),
      version: 1,
      createdAt: at,
      updatedAt: at,
    },
  });
  return toFlag(row);
}

/** Refuses a row that no write of ours can have made, so that it is found here and not in somebody's application. */
function toFlag(row: FlagRow): FeatureFlag {
  const { id, key, name, type, enabled, version, createdAt, updatedAt } = row;
  const value = row.defaultValue === null ? undefined : decodeJson(row.defaultValue);
  if (!isFlagType(type) || (value !== undefined && !fitsType(type, value))) {
    throw new Error(`The stored flag "${key}" has an unknown type or a value that does not fit it.`);
  }
  return {
    id,
    key,
    name,
    ...(row.description !== null && { description: row.description }),
    type,
    enabled,
    ...(value !== undefined && { defaultValue: value }),
    ...(row.metadata !== null && { metadata: decodeJson(row.metadata) as JsonObject }),
    version,
    createdAt,
    updatedAt,
  };
}
