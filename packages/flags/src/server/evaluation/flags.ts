/** The flags that an evaluation reads: the organization's own first, then the global ones. */
import type { EvaluationContext } from "../../engine/definition.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagsPosition } from "../../model/position.ts";
import type { Snapshot, SnapshotFlag, SnapshotReading } from "../../store/flag-store.ts";
import type { Call } from "../call.ts";
import type { HeaderReader } from "../http/host-request.ts";
import type { Service } from "../service.ts";
import { effectiveFlags } from "./tenant-flags.ts";

/** The flags of one tenant. */
export interface Layer {
  readonly tenant: string;
  readonly snapshot: Snapshot;
}

export interface FlagsReading {
  /** The organization's layer, if there is one, then the global one. The first layer that has a flag's key wins. */
  readonly layers: readonly Layer[];
  /** The sum of the layers' revisions: every change of any layer increases it. */
  readonly revision: number;
  readonly stale: boolean;
}

export const REVISION_HEADER: string = "x-feature-flags-revision";
export const STALE_HEADER: string = "x-feature-flags-stale";

/** Reads the tenant's flags, at least as new as what the caller has seen, and sets the response headers. */
export async function readFlags(
  { service, request, headers, identity }: Call,
  tenant: string,
  seen?: FlagsPosition,
): Promise<FlagsReading> {
  const tenants = tenant === NO_TENANT ? [NO_TENANT] : [tenant, NO_TENANT];
  let readings = await Promise.all(tenants.map((one) => service.store.snapshot(one, seenOf(one, seen))));
  const behind = seenRevision(headers) - sumOf(readings);
  if (behind > 0) {
    // The sum does not tell which layer is behind, so each is read at the full difference.
    readings = await Promise.all(
      tenants.map((one, at) => service.store.snapshot(one, (readings[at]?.snapshot.revision ?? 0) + behind)),
    );
  }
  const read = readingOf(tenants, readings, identity.isStale);
  request.setHeader(REVISION_HEADER, String(read.revision));
  if (read.stale) request.setHeader(STALE_HEADER, "1");
  return read;
}

/** The same from memory; undefined when the database must be read first. */
export function peekFlags(
  service: Service,
  headers: HeaderReader,
  tenant: string,
  { isStale, seen }: { readonly isStale: boolean; readonly seen?: FlagsPosition | undefined },
): FlagsReading | undefined {
  const global = service.store.peek(NO_TENANT, seenOf(NO_TENANT, seen));
  const ofTenant = tenant === NO_TENANT ? undefined : service.store.peek(tenant, seenOf(tenant, seen));
  if (global === undefined || (ofTenant === undefined && tenant !== NO_TENANT)) return undefined;
  const read =
    ofTenant === undefined
      ? readingOf([NO_TENANT], [global], isStale)
      : readingOf([tenant, NO_TENANT], [ofTenant, global], isStale);
  return seenRevision(headers) > read.revision ? undefined : read;
}

/** The position of a reading, for the client's next request. */
export function positionOf({ layers }: FlagsReading): FlagsPosition {
  const [first, second] = layers;
  if (first === undefined || second === undefined) return String(first?.snapshot.revision ?? 0);
  // The organization's layer is the first.
  return `${second.snapshot.revision}.${first.snapshot.revision}.${first.tenant}`;
}

/** The revision of the tenant's flags that the caller has seen, or 0. */
function seenOf(tenant: string, seen: FlagsPosition | undefined): number {
  if (seen === undefined) return 0;
  const [global, organization, ...id] = seen.split(".");
  if (tenant === NO_TENANT) return revisionOf(global);
  return id.join(".") === tenant ? revisionOf(organization) : 0;
}

function readingOf(
  tenants: readonly string[],
  readings: readonly SnapshotReading[],
  isStale: boolean,
): FlagsReading {
  const layers = layersOf(
    readings.map(({ snapshot }, at) => ({ tenant: tenants[at] ?? NO_TENANT, snapshot })),
  );
  const stale = isStale || readings.some((reading) => reading.stale);
  return { layers, revision: sumOf(readings), stale };
}

/** The layers that evaluation reads: global flags that an organization may not replace are not replaced. */
export function layersOf(layers: readonly Layer[]): readonly Layer[] {
  const [ofTenant, global] = layers;
  if (ofTenant === undefined || global === undefined) return layers;
  return [{ tenant: ofTenant.tenant, snapshot: effectiveFlags(ofTenant.snapshot, global.snapshot) }, global];
}

/** A flag, and the layer it is in. */
export interface FlagHit {
  readonly layer: Layer;
  readonly found: SnapshotFlag;
}

/** Flags with visibility `server` exist only for server code and API keys. */
export function isVisible({ flag }: SnapshotFlag, seesServerFlags: boolean): boolean {
  return seesServerFlags || flag.visibility === "public";
}

export function findInLayers(
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

/** The user's override of a flag, if there is one. */
export function overrideFor(
  { snapshot }: Layer,
  { flag }: SnapshotFlag,
  { userId }: EvaluationContext,
  nowMs: number,
): ReturnType<Snapshot["override"]> {
  return userId === undefined ? undefined : snapshot.override(flag.id, userId, nowMs);
}

const sumOf = (readings: readonly SnapshotReading[]) =>
  readings.reduce((sum, { snapshot }) => sum + snapshot.revision, 0);

function seenRevision(headers: HeaderReader): number {
  return revisionOf(headers.get(REVISION_HEADER) ?? undefined);
}

/** 0 for anything that is not a revision. */
function revisionOf(seen = ""): number {
  return /^\d{1,15}$/.test(seen) ? Number(seen) : 0;
}
