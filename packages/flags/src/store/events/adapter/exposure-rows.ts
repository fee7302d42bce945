/** Stores exposures through the adapter: one row per user, flag, variant and day. */
import type { ExposureRow } from "../../../model/event-rows.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { sha256 } from "../../sha256.ts";
import { uuidV7 } from "../../uuid.ts";
import type { Exposure } from "../event-log.ts";
import { dayOf } from "../hour.ts";

export const EXPOSURES = "featureFlagExposure";

export async function addExposures(tx: Adapter, exposures: readonly Exposure[]): Promise<void> {
  const byHash = new Map<string, Exposure>();
  for (const exposure of exposures) {
    const { tenant, flagKey, variant, userId, atMs } = exposure;
    const hash = await sha256(JSON.stringify([dayOf(atMs), tenant, flagKey, variant, userId]));
    if (!byHash.has(hash)) byHash.set(hash, exposure);
  }
  const hashes = [...byHash.keys()].sort();
  const storedRows = await findRowsIn<ExposureRow>(tx, EXPOSURES, {}, "exposureHash", hashes);
  for (const { exposureHash } of storedRows) byHash.delete(exposureHash);
  for (const exposureHash of hashes) {
    const exposure = byHash.get(exposureHash);
    if (exposure === undefined) continue;
    const { tenant, flagKey, variant, userId, atMs } = exposure;
    await tx.create<ExposureRow>({
      model: EXPOSURES,
      data: { exposureId: uuidV7(atMs), exposureHash, tenant, flagKey, variant, userId },
    });
  }
}
