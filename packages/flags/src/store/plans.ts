/** Plans that wait to be applied, as text in parts that each fit a column of every database. */
import { uuidv7 } from "@halyard/base";
import { isId, overLimit } from "../model/inputs.ts";
import type { PlanRow } from "../model/tables.ts";
import { deleteBefore } from "./events/adapter/sweep.ts";
import { type Adapter, findRows, where } from "./rows/queries.ts";
import { splitText } from "./writes/audit-parts.ts";

const model = "featureFlagPlan";

const TTL_MS = 7 * 86_400_000;
const MAX_LENGTH = 4_000_000;

/** Also deletes expired plans, at most one chunk. */
export async function storePlan(
  adapter: Adapter,
  plan: string,
  nowMs: number,
): Promise<{ readonly id: string; readonly expiresAt: Date }> {
  if (plan.length > MAX_LENGTH) {
    throw overLimit("The plan has too many characters as JSON.", MAX_LENGTH, "Plan fewer changes at once.");
  }
  await deleteBefore(adapter, model, "expiresAt", new Date(nowMs).toISOString(), 1);
  const id = uuidv7(nowMs);
  const expiresAt = new Date(nowMs + TTL_MS);
  for (const [part, text] of splitText(plan).entries()) {
    const data = { planId: id, part, text, expiresAt: expiresAt.toISOString() };
    await adapter.create<PlanRow>({ model, data });
  }
  return { id, expiresAt };
}

/** Undefined if there is no such plan, or it has expired. */
export async function findPlan(adapter: Adapter, id: string, nowMs: number): Promise<string | undefined> {
  if (!isId(id)) return undefined;
  const parts = await findRows<PlanRow>(adapter, model, { planId: id });
  const [first] = parts.sort((a, b) => a.part - b.part);
  if (first === undefined || Date.parse(first.expiresAt) <= nowMs) return undefined;
  return parts.map(({ text }) => text).join("");
}

/** Whether the plan has not been applied. */
export async function isWaiting(tx: Adapter, id: string): Promise<boolean> {
  return (await tx.count({ model, where: where({ planId: id }) })) > 0;
}

export async function removePlan(tx: Adapter, id: string): Promise<void> {
  await tx.deleteMany({ model, where: where({ planId: id }) });
}
