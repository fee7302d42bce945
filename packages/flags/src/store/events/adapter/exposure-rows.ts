/** Stores exposures and identity links through the adapter: one row per user, flag, environment, arm and hour. */
import { uuidv7 } from "@halyard/base";
import type { ExposureRow, LinkRow } from "../../../model/event-rows.ts";
import { type Adapter, findRowsIn } from "../../rows/queries.ts";
import { sha256 } from "../../sha256.ts";
import type { Exposure, IdentityLink } from "../event-log.ts";
import { keyOf } from "../exposures.ts";
import { hourStart } from "../hour.ts";
import { addSubjects, LINKS } from "./subjects.ts";

export const EXPOSURES = "featureFlagExposure";

export async function addExposures(tx: Adapter, exposures: readonly Exposure[]): Promise<void> {
  const byHash = new Map<string, Exposure>();
  for (const exposure of exposures) {
    const hash = await sha256(keyOf(exposure));
    const other = byHash.get(hash);
    byHash.set(hash, other === undefined ? exposure : mergedOf(other, exposure));
  }
  const hashes = [...byHash.keys()].sort();
  const rows = await findRowsIn<ExposureRow>(tx, EXPOSURES, {}, "exposureHash", hashes);
  const stored = new Map(rows.map((row) => [row.exposureHash, row]));
  for (const exposureHash of hashes) {
    const exposure = byHash.get(exposureHash);
    if (exposure === undefined) continue;
    const row = stored.get(exposureHash);
    if (row === undefined) await insert(tx, exposureHash, exposure);
    else await widen(tx, row, exposure);
  }
  await addSubjects(tx, exposures);
}

function mergedOf(one: Exposure, other: Exposure): Exposure {
  const firstMs = Math.min(one.firstMs, other.firstMs);
  return { ...one, firstMs, lastMs: Math.max(one.lastMs, other.lastMs) };
}

async function insert(tx: Adapter, exposureHash: string, exposure: Exposure): Promise<void> {
  const { tenant, flagId, arm, byChance, subject, userId, anonymousId, environment } = exposure;
  const { firstMs, lastMs } = exposure;
  await tx.create<ExposureRow>({
    model: EXPOSURES,
    data: {
      // The hour, because an earlier time of the same hour may follow.
      exposureId: uuidv7(hourStart(firstMs)),
      exposureHash,
      tenant,
      flagId,
      variant: arm,
      byChance,
      subject: subject ?? null,
      userId: userId ?? "",
      anonymousId: anonymousId ?? null,
      environment: environment ?? "",
      firstAt: new Date(firstMs).toISOString(),
      lastAt: new Date(lastMs).toISOString(),
    },
  });
}

/** Compares in the database, because another process may write the same row. */
async function widen(tx: Adapter, row: ExposureRow, { firstMs, lastMs }: Exposure): Promise<void> {
  const where = { field: "exposureHash", value: row.exposureHash };
  const firstAt = new Date(firstMs).toISOString();
  const lastAt = new Date(lastMs).toISOString();
  if (firstAt < row.firstAt) {
    const later = { field: "firstAt", operator: "gt" as const, value: firstAt };
    await tx.updateMany({ model: EXPOSURES, where: [where, later], update: { firstAt } });
  }
  if (lastAt > row.lastAt) {
    const earlier = { field: "lastAt", operator: "lt" as const, value: lastAt };
    await tx.updateMany({ model: EXPOSURES, where: [where, earlier], update: { lastAt } });
  }
}

/** Keeps the first link of each anonymous id. */
export async function addLinks(tx: Adapter, links: readonly IdentityLink[]): Promise<void> {
  const byHash = new Map<string, IdentityLink>();
  for (const link of links) {
    const hash = await sha256(link.anonymousId);
    if (!byHash.has(hash)) byHash.set(hash, link);
  }
  const hashes = [...byHash.keys()].sort();
  for (const { linkHash } of await findRowsIn<LinkRow>(tx, LINKS, {}, "linkHash", hashes)) {
    byHash.delete(linkHash);
  }
  for (const linkHash of hashes) {
    const link = byHash.get(linkHash);
    if (link === undefined) continue;
    const { anonymousId, userId, atMs } = link;
    await tx.create<LinkRow>({
      model: LINKS,
      data: { linkHash, anonymousId, userId, at: new Date(atMs).toISOString() },
    });
  }
}
