/** Creates and deletes overrides. */
import type { FlagOverride, FlagOverrideInput } from "../../model/override.ts";
import { conflict, notFound } from "../rows/entity.ts";
import {
  countOverrides,
  findOverride,
  insertOverride,
  isExpired,
  newOverride,
  readOverride,
  removeOverride,
  requireRoom,
} from "../rows/overrides.ts";
import { requireVariant } from "../rows/rules.ts";
import { requireFit } from "../rows/values.ts";
import { storedFlag } from "./stored.ts";
import type { Change, WriteContext } from "./write.ts";

export async function createOverride(
  context: WriteContext,
  input: FlagOverrideInput,
  maxOverrides: number,
): Promise<Change<FlagOverride>> {
  const { tx, tables, tenant, at, now, newId, sweep } = context;
  const flag = await storedFlag(context, input.flagId);
  const override = newOverride(input, newId(), { at, now });
  requireFit(flag, override.value, { field: "value" });
  requireVariant(flag, override.variant);
  const { all, own } = await countOverrides(tx, tables, tenant, override);
  const existing = own > 0 ? await findOverride(tx, tenant, override) : undefined;
  if (existing !== undefined && !isExpired(existing, now)) {
    throw conflict("The user already has an override of this flag. Delete it first.", {
      field: "userId",
      id: existing.id,
    });
  }
  // An expired override counts as absent; its deletion gets its own audit entry.
  if (existing !== undefined) await sweep(existing, existing);
  requireRoom(existing === undefined ? all : all - 1, 1, maxOverrides);
  await insertOverride(tx, tenant, override);
  const subject = { flagId: flag.id, flagKey: flag.key, entityId: override.id };
  return { ...subject, action: "override.created", before: null, after: override, result: override };
}

export async function deleteOverride(context: WriteContext, id: string): Promise<Change<void>> {
  const { tx, tenant, now } = context;
  const before = await readOverride(tx, tenant, id);
  if (isExpired(before, now)) throw notFound("override");
  const flag = await storedFlag(context, before.flagId);
  await removeOverride(tx, tenant, id);
  const subject = { flagId: flag.id, flagKey: flag.key, entityId: id };
  return { ...subject, action: "override.deleted", before, after: null, result: undefined };
}
