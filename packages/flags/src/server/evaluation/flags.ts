/** The flags that an evaluation reads: the organization's own first, then the global ones. */
import { type Awaitable, chain } from "@halyard/base";
import type { EvaluationContext } from "../../engine/definition.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagsPosition } from "../../model/position.ts";
import type { FlagStore, Snapshot, SnapshotFlag, SnapshotReading } from "../../store/flag-store.ts";
import type { Call } from "../call.ts";
import type { HeaderReader } from "../http/host-request.ts";
import type { FlagLayer, Layer, LayerContext, Layers } from "./layer.ts";
import { effectiveFlags } from "./tenant-flags.ts";

export interface FlagsReading {
  /** The first layer that has a flag's key wins. */
  readonly layers: Layers<Layer>;
  /** The sum of the layers' revisions: every change of any layer increases it. */
  readonly revision: number;
  readonly stale: boolean;
}

const REVISION_HEADER = "x-feature-flags-revision";
const STALE_HEADER = "x-feature-flags-stale";

/**
 * Reads the flags, at least as new as what the caller has seen, and sets the response headers. Synchronous while they are
 * in memory.
 */
export function readFlags(
  { service: { store }, request, headers, identity }: Call,
  contexts: Layers<LayerContext>,
  seen?: FlagsPosition,
): Awaitable<FlagsReading> {
  const read = readSnapshots(store, contexts, ({ tenant }) => seenOf(tenant, seen));
  return chain(read, (readings) => {
    const behind = seenRevision(headers) - sumOf(readings);
    // The sum does not tell which layer is behind, so each is read at the full difference.
    const newer =
      behind > 0
        ? readSnapshots(store, contexts, (_, at) => (readings[at]?.snapshot.revision ?? 0) + behind)
        : readings;
    return chain(newer, (latest) => {
      const reading = readingOf(contexts, latest, identity.isStale);
      request.setHeader(REVISION_HEADER, String(reading.revision));
      if (reading.stale) request.setHeader(STALE_HEADER, "1");
      return reading;
    });
  });
}

function readSnapshots(
  store: Pick<FlagStore, "snapshot">,
  [first, global]: Layers<LayerContext>,
  minRevision: (layer: LayerContext, at: 0 | 1) => number,
): Awaitable<Layers<SnapshotReading>> {
  const ofFirst = store.snapshot(first.tenant, minRevision(first, 0));
  const ofGlobal = global && store.snapshot(global.tenant, minRevision(global, 1));
  if (ofFirst instanceof Promise || ofGlobal instanceof Promise) return Promise.all([ofFirst, ofGlobal]);
  return [ofFirst, ofGlobal];
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
  [first, global]: Layers<LayerContext>,
  readings: Layers<SnapshotReading>,
  isStale: boolean,
): FlagsReading {
  const [ofFirst, ofGlobal] = readings;
  const layer = { ...first, snapshot: ofFirst.snapshot };
  const layers: Layers<Layer> =
    global === undefined || ofGlobal === undefined
      ? [layer]
      : layersOf(layer, { ...global, snapshot: ofGlobal.snapshot });
  return { layers, revision: sumOf(readings), stale: isStale || ofFirst.stale || ofGlobal?.stale === true };
}

/** The layers that evaluation reads: global flags that an organization may not replace are not replaced. */
export function layersOf<One extends FlagLayer>(ofTenant: One, global: One): Layers<One> {
  const snapshot = effectiveFlags(ofTenant.snapshot, global.snapshot);
  return [snapshot === ofTenant.snapshot ? ofTenant : { ...ofTenant, snapshot }, global];
}

/** A flag, and the layer it is in. */
export interface FlagHit<One extends FlagLayer = Layer> {
  readonly layer: One;
  readonly found: SnapshotFlag;
}

/** Flags with visibility `server` exist only for server code and API keys. */
export function isVisible({ flag }: SnapshotFlag, seesServerFlags: boolean): boolean {
  return seesServerFlags || flag.visibility === "public";
}

export function findInLayers<One extends FlagLayer>(
  [first, global]: Layers<One>,
  key: string,
  seesServerFlags: boolean,
): FlagHit<One> | undefined {
  const hit = findIn(first, key, seesServerFlags);
  return hit === undefined && global !== undefined ? findIn(global, key, seesServerFlags) : hit;
}

function findIn<One extends FlagLayer>(
  layer: One,
  key: string,
  seesServerFlags: boolean,
): FlagHit<One> | undefined {
  const found = layer.snapshot.flags.get(key);
  return found !== undefined && isVisible(found, seesServerFlags) ? { layer, found } : undefined;
}

/** The user's override of a flag, if there is one. */
export function overrideFor(
  { snapshot }: FlagLayer,
  { flag }: SnapshotFlag,
  { userId }: EvaluationContext,
  nowMs: number,
): ReturnType<Snapshot["override"]> {
  return userId === undefined ? undefined : snapshot.override(flag.id, userId, nowMs);
}

const sumOf = ([first, global]: Layers<SnapshotReading>) =>
  first.snapshot.revision + (global?.snapshot.revision ?? 0);

function seenRevision(headers: HeaderReader): number {
  return revisionOf(headers.get(REVISION_HEADER) ?? undefined);
}

/** 0 for anything that is not a revision. */
function revisionOf(seen = ""): number {
  return /^\d{1,15}$/.test(seen) ? Number(seen) : 0;
}
