/** Converts flags to rows and back, and reads and writes those rows. */
import type { BucketBy, EnvironmentSettings, FlagType, Variant } from "../../engine/definition.ts";
import type { JsonObject, JsonValue } from "../../engine/json.ts";
import {
  type FeatureFlag,
  type FeatureFlagPatch,
  type FlagDraft,
  type FlagVisibility,
  fitsType,
  isFlagType,
} from "../../model/flag.ts";
import type { FlagRow } from "../../model/tables.ts";
import { decodeJson, encodeJson, reviveEntity } from "./codec.ts";
import { conflict, notFound, overtaken } from "./entity.ts";
import { type Adapter, findRow, replaceRow, where } from "./queries.ts";
import { patched, patchedValue } from "./values.ts";

export const FLAG_MODEL = "featureFlag";

export async function readFlag(adapter: Adapter, tenant: string, flagId: string): Promise<FeatureFlag> {
  const row = await findRow<FlagRow>(adapter, FLAG_MODEL, { flagId, tenant });
  if (row === undefined) throw notFound("flag");
  return toFlag(row);
}

/** Throws if another flag has the key. A collation that ignores case treats `Beta` and `beta` as the same key. */
export async function requireFreeKey(
  adapter: Adapter,
  tenant: string,
  key: string,
  flagId?: string,
): Promise<void> {
  const row = await adapter.findOne<FlagRow>({ model: FLAG_MODEL, where: where({ tenant, key }) });
  if (row === null || row.flagId === flagId) return;
  throw conflict(`A flag with the key "${row.key}" already exists. Choose another key.`, { field: "key" });
}

export function newFlag(input: FlagDraft, id: string, at: Date): FeatureFlag {
  return {
    id,
    key: input.key,
    name: input.name,
    ...(input.description !== undefined && { description: input.description }),
    type: input.type,
    enabled: input.enabled ?? false,
    ...(input.defaultValue !== undefined && { defaultValue: input.defaultValue }),
    ...(input.offValue !== undefined && { offValue: input.offValue }),
    ...(input.rolloutPercentage !== undefined && { rolloutPercentage: input.rolloutPercentage }),
    // An empty id means no organization.
    ...(input.organizationId && { organizationId: input.organizationId }),
    ...(input.variants !== undefined && { variants: input.variants }),
    ...(input.environments !== undefined && { environments: input.environments }),
    ...(input.salt !== undefined && { salt: input.salt }),
    ...(input.bucketBy !== undefined && { bucketBy: input.bucketBy }),
    visibility: input.visibility ?? "public",
    ...(input.tenantOverridable !== undefined && { tenantOverridable: input.tenantOverridable }),
    algo: 1,
    ...(input.metadata !== undefined && { metadata: input.metadata }),
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
}

export function patchFlag(flag: FeatureFlag, patch: FeatureFlagPatch, at: Date): FeatureFlag {
  const type = patch.type ?? flag.type;
  const description = patched(flag.description, patch.description);
  const defaultValue = patchedValue({ type }, flag.defaultValue, patch.defaultValue);
  const offValue = patchedValue({ type }, flag.offValue, patch.offValue);
  const rolloutPercentage = patched(flag.rolloutPercentage, patch.rolloutPercentage);
  const variants = patched(flag.variants, patch.variants);
  const environments = patched(flag.environments, patch.environments);
  const salt = patched(flag.salt, patch.salt);
  const bucketBy = patched(flag.bucketBy, patch.bucketBy);
  const tenantOverridable = patch.tenantOverridable ?? flag.tenantOverridable;
  const metadata = patched(flag.metadata, patch.metadata);
  return {
    id: flag.id,
    key: patch.key ?? flag.key,
    name: patch.name ?? flag.name,
    ...(description !== undefined && { description }),
    type,
    enabled: patch.enabled ?? flag.enabled,
    ...(defaultValue !== undefined && { defaultValue }),
    ...(offValue !== undefined && { offValue }),
    ...(rolloutPercentage !== undefined && { rolloutPercentage }),
    ...(flag.organizationId !== undefined && { organizationId: flag.organizationId }),
    ...(variants !== undefined && { variants }),
    ...(environments !== undefined && { environments }),
    ...(salt !== undefined && { salt }),
    ...(bucketBy !== undefined && { bucketBy }),
    visibility: patch.visibility ?? flag.visibility,
    ...(tenantOverridable !== undefined && { tenantOverridable }),
    algo: flag.algo,
    ...(metadata !== undefined && { metadata }),
    version: flag.version + 1,
    createdAt: flag.createdAt,
    updatedAt: at,
  };
}

export async function insertFlag(tx: Adapter, tenant: string, flag: FeatureFlag): Promise<void> {
  await tx.create<FlagRow>({ model: FLAG_MODEL, data: { tenant, ...toColumns(flag) } });
}

/** Writes every column. No other writer can have changed the row since this transaction read it. */
export async function replaceFlag(tx: Adapter, tenant: string, flag: FeatureFlag): Promise<void> {
  const match = { flagId: flag.id, tenant };
  if (!(await replaceRow(tx, FLAG_MODEL, match, toColumns(flag)))) throw overtaken("flag");
}

export async function removeFlag(tx: Adapter, tenant: string, flagId: string): Promise<void> {
  await tx.delete<FlagRow>({ model: FLAG_MODEL, where: where({ flagId, tenant }) });
}

function toColumns(flag: FeatureFlag): Omit<FlagRow, "id" | "tenant"> {
  return {
    flagId: flag.id,
    organizationId: flag.organizationId ?? null,
    key: flag.key,
    name: flag.name,
    description: flag.description ?? null,
    type: flag.type,
    enabled: flag.enabled,
    defaultValue: encode(flag.defaultValue),
    offValue: encode(flag.offValue),
    rolloutPercentage: flag.rolloutPercentage ?? null,
    variants: encode(flag.variants),
    environments: encode(flag.environments),
    salt: flag.salt ?? null,
    bucketBy: flag.bucketBy ?? null,
    visibility: flag.visibility,
    tenantOverridable: flag.tenantOverridable ?? null,
    algo: flag.algo,
    metadata: encode(flag.metadata),
    version: flag.version,
    createdAt: flag.createdAt,
    updatedAt: flag.updatedAt,
  };
}

function encode(value: JsonValue | undefined): string | null {
  return value === undefined ? null : encodeJson(value);
}

function decode(text: string | null): JsonValue | undefined {
  return text === null ? undefined : decodeJson(text);
}

/** Decodes a flag from the audit log. */
export function reviveFlag(text: string | null): FeatureFlag {
  const flag = reviveEntity<FeatureFlag>(text, ["createdAt", "updatedAt"]);
  requireType(flag, [flag.defaultValue, flag.offValue]);
  return flag;
}

/** Throws on data that this store cannot have written, so that it does not reach the application. */
function requireType(
  { key, type, algo }: Pick<FlagRow, "key" | "type" | "algo">,
  values: readonly (JsonValue | undefined)[],
): FlagType {
  const fits = (value: JsonValue | undefined) =>
    value === undefined || (isFlagType(type) && fitsType(type, value));
  if (isFlagType(type) && values.every(fits) && algo === 1) return type;
  throw new Error(`The stored flag "${key}" has an unknown type or algorithm, or a value of another type.`);
}

export function toFlag(row: FlagRow): FeatureFlag {
  const value = decode(row.defaultValue);
  const offValue = decode(row.offValue);
  const type = requireType(row, [value, offValue]);
  return {
    id: row.flagId,
    key: row.key,
    name: row.name,
    ...(row.description !== null && { description: row.description }),
    type,
    enabled: row.enabled,
    ...(value !== undefined && { defaultValue: value }),
    ...(offValue !== undefined && { offValue }),
    ...(row.rolloutPercentage !== null && { rolloutPercentage: row.rolloutPercentage }),
    ...(row.organizationId !== null && { organizationId: row.organizationId }),
    ...(row.variants !== null && { variants: decodeJson(row.variants) as Variant[] }),
    ...(row.environments !== null && {
      environments: decodeJson(row.environments) as Record<string, EnvironmentSettings>,
    }),
    ...(row.salt !== null && { salt: row.salt }),
    ...(row.bucketBy !== null && { bucketBy: row.bucketBy as BucketBy }),
    visibility: row.visibility as FlagVisibility,
    ...(row.tenantOverridable !== null && { tenantOverridable: row.tenantOverridable }),
    algo: 1,
    ...(row.metadata !== null && { metadata: decodeJson(row.metadata) as JsonObject }),
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
