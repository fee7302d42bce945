/** The flags that answer an evaluation: an organization's own, then those of all organizations. */
import { NO_TENANT } from "../model/flag.ts";
import type { Snapshot, SnapshotFlag, SnapshotReading } from "../store/store.ts";
import { type Call, headerReaderOf } from "./call.ts";
import { isCallerStale } from "./fast/host-principals.ts";
import type { Service } from "./service.ts";

/** One tenant's flags among those that answer. */
export interface Layer {
  readonly tenant: string;
  readonly snapshot: Snapshot;
}

export interface FlagsReading {
  /** The first that has a flag answers for it. */
  readonly layers: readonly Layer[];
  /** The sum of the layers' revisions: it moves with every change of any of them, and only upwards. */
  readonly revision: number;
  readonly stale: boolean;
}

export const REVISION_HEADER: string = "x-feature-flags-revision";
export const STALE_HEADER: string = "x-feature-flags-stale";

/** Reads the tenant's flags, at least as new as those the caller has seen, and says on the response how new. */
export async function readFlags(service: Service, call: Call, tenant: string): Promise<FlagsReading> {
  const tenants = tenant === NO_TENANT ? [NO_TENANT] : [tenant, NO_TENANT];
  let readings = await Promise.all(tenants.map((one) => service.store.snapshot(one)));
  const behind = seenRevision(headerReaderOf(call)) - sumOf(readings);
  if (behind > 0) {
    // Which of them the caller has seen change is not known, so each is asked for all of the difference.
    readings = await Promise.all(
      tenants.map((one, at) => service.store.snapshot(one, (readings[at]?.snapshot.revision ?? 0) + behind)),
    );
  }
  const read = readingOf(tenants, readings, isCallerStale(call));
  call.setHeader(REVISION_HEADER, String(read.revision));
  if (read.stale) call.setHeader(STALE_HEADER, "1");
  return read;
}

/** The same from memory; undefined where the database must be asked first. */
export function peekFlags(
  service: Service,
  headers: Pick<Headers, "get">,
  tenant: string,
  isStale: boolean,
): FlagsReading | undefined {
  const own = tenant === NO_TENANT ? undefined : service.store.peek(tenant);
  const global = service.store.peek(NO_TENANT);
  if (global === undefined || (own === undefined && tenant !== NO_TENANT)) return undefined;
  const read =
    own === undefined
      ? readingOf([NO_TENANT], [global], isStale)
      : readingOf([tenant, NO_TENANT], [own, global], isStale);
  return seenRevision(headers) > read.revision ? undefined : read;
}

function readingOf(
  tenants: readonly string[],
  readings: readonly SnapshotReading[],
  isStale: boolean,
): FlagsReading {
  const layers = readings.map(({ snapshot }, at) => ({ tenant: tenants[at] ?? NO_TENANT, snapshot }));
  const stale = isStale || readings.some((reading) => reading.stale);
  return { layers, revision: sumOf(readings), stale };
}

/** A flag, and whose it is. */
export interface FlagHit {
  readonly layer: Layer;
  readonly found: SnapshotFlag;
}

/** Server flags exist only for server code and keys. */
export function isVisible({ flag }: SnapshotFlag, seesServerFlags: boolean): boolean {
  return seesServerFlags || flag.visibility === "public";
}

export function findFlag(
  layers: readonly Layer[],
  key: string,
  seesServerFlags: boolean,
): FlagHit | undefined {
  for (const layer of layers) {
    const found = layer.snapshot.flags.get(key);
    if (found !== undefined && isVisible(found, seesServerFlags)) return { layer, found };
  }
  return undefined;
}

const sumOf = (readings: readonly SnapshotReading[]) =>
  readings.reduce((sum, { snapshot }) => sum + snapshot.revision, 0);

function seenRevision(headers: Pick<Headers, "get">): number {
  const seen = headers.get(REVISION_HEADER) ?? "";
  return /^\d{1,15}$/.test(seen) ? Number(seen) : 0;
}
