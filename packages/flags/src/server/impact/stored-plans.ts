/** Plans that wait to be applied, in Better Auth's table of verifications, which expire and which all processes share. */
import { isPlainObject } from "../../engine/json.ts";
import type { FeatureFlagPatch } from "../../model/flag.ts";
import { parseFlagPatch } from "../../model/flag-input.ts";
import { isId, overLimit } from "../../model/inputs.ts";
import { fitsColumn } from "../../store/rows/entity.ts";
import type { HostContext } from "../http/host-request.ts";

/** A change of a plan, and what the flag looked like. */
export interface StoredChange {
  readonly flagId: string;
  readonly flagKey: string;
  readonly digest: string;
  readonly fields: FeatureFlagPatch;
}

export interface StoredPlan {
  readonly tenant: string;
  readonly changes: readonly StoredChange[];
}

const TTL_MS = 60 * 60_000;
const MAX_BYTES = 65_000;

const identifierOf = (id: string) => `feature-flags-plan:${id}`;

export async function storePlan(
  { internalAdapter }: HostContext,
  plan: StoredPlan,
): Promise<{ readonly id: string; readonly expiresAt: Date }> {
  const id = crypto.randomUUID();
  const expiresAt = new Date(Date.now() + TTL_MS);
  const value = JSON.stringify(plan);
  if (!fitsColumn(value)) {
    throw overLimit("The changes of the plan have too many bytes.", MAX_BYTES, "Plan fewer changes at once.");
  }
  await internalAdapter.createVerificationValue({ identifier: identifierOf(id), value, expiresAt });
  return { id, expiresAt };
}

/** Undefined if there is no such plan, or it has expired. */
export async function findPlan(
  { internalAdapter }: HostContext,
  id: string,
): Promise<StoredPlan | undefined> {
  if (!isId(id)) return undefined;
  const found = await internalAdapter.findVerificationValue(identifierOf(id));
  if (found === null || new Date(found.expiresAt).getTime() <= Date.now()) return undefined;
  const plan: unknown = JSON.parse(found.value);
  if (!isPlainObject(plan) || typeof plan["tenant"] !== "string" || !Array.isArray(plan["changes"])) {
    return undefined;
  }
  return { tenant: plan["tenant"], changes: plan["changes"].map(changeOf) };
}

export async function forgetPlan({ internalAdapter }: HostContext, id: string): Promise<void> {
  await internalAdapter.deleteVerificationByIdentifier(identifierOf(id));
}

function changeOf(stored: unknown): StoredChange {
  const { flagId, flagKey, digest, fields } = isPlainObject(stored) ? stored : {};
  return {
    flagId: String(flagId),
    flagKey: String(flagKey),
    digest: String(digest),
    fields: parseFlagPatch(fields),
  };
}
