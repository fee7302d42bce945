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
  const { tx, tables, tenant, at, now, newId, sweep, drafted } = context;
  const flag = await storedFlag(context, input.flagId);
  const override = newOverride(input, newId(), { at, now });
  requireFit(flag, override.value, { field: "value" });
  requireVariant(flag, override.variant);
  const { all, own } = await countOverrides(tx, tables, tenant, override);
  const existing = own > 0 ? await findOverride(tx, tenant, override) : undefined;
  const isThere = existing !== undefined && !drafted?.gone.has(existing.id);
  if (isThere && !isExpired(existing, now)) {
    throw conflict("The user already has an override of this flag. Delete it first.", {
      field: "userId",
      id: existing.id,
    });
  }
  // An expired override counts as absent; its deletion gets its own audit entry.
  if (isThere) await sweep(existing, existing);
  requireRoom(isThere ? all - 1 : all, 1 + (drafted?.addedOverrides ?? 0), maxOverrides);
  const subject = { flagId: flag.id, flagKey: flag.key, entityId: override.id };
  const rows = () => insertOverride(tx, tenant, override);
  return { ...subject, action: "override.created", before: null, after: override, rows, result: override };
}

export async function deleteOverride(context: WriteContext, id: string): Promise<Change<void>> {
  const { tx, tenant, now } = context;
  const before = await readOverride(tx, tenant, id);
  if (isExpired(before, now)) throw notFound("override");
  const flag = await storedFlag(context, before.flagId);
  const subject = { flagId: flag.id, flagKey: flag.key, entityId: id };
  const rows = () => removeOverride(tx, tenant, id);
  return { ...subject, action: "override.deleted", before, after: null, rows, result: undefined };
}
