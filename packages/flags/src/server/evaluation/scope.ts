/** What all evaluations of one call share, and how each flag is found, evaluated and counted in it. */
import type { Evaluation, EvaluationContext } from "../../engine/definition.ts";
import type { Explanation } from "../../engine/explain.ts";
import type { EvaluationMetadata } from "../../model/evaluation.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagsPosition } from "../../model/position.ts";
import type { SnapshotFlag } from "../../store/flag-store.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import type { HeaderReader } from "../http/host-request.ts";
import type { Caller } from "../identity/caller.ts";
import type { KnownCaller } from "../identity/known-caller.ts";
import type { Service } from "../service.ts";
import { type ContextInput, type ResolvedContext, resolveContext, resolveKnownContext } from "./context.ts";
import {
  type FlagHit,
  type FlagsReading,
  findInLayers,
  isVisible,
  type Layer,
  overrideFor,
  peekFlags,
  readFlags,
} from "./flags.ts";

export interface EvaluationScope {
  readonly service: Service;
  readonly reading: FlagsReading;
  readonly context: EvaluationContext;
  /** The context for global flags, which belong to no organization. */
  readonly globalContext: EvaluationContext;
  readonly seesServerFlags: boolean;
  /** Tenants whose flags may be explained to the caller. */
  readonly traceable: ReadonlySet<string>;
  readonly metadata: EvaluationMetadata;
  /** Whether evaluations are recorded as exposures. */
  readonly track: boolean;
  readonly nowMs: number;
  readonly evaluatedAt: string;
}

/** What evaluation requests have in common. */
export interface EvaluationInput extends ContextInput {
  readonly track?: boolean | undefined;
  readonly debug?: boolean | undefined;
  readonly position?: FlagsPosition | undefined;
}

const NOTHING_TRACEABLE: ReadonlySet<string> = new Set();

export async function openScope(call: Call, input: EvaluationInput): Promise<EvaluationScope> {
  const caller = await call.identity.evaluator();
  const resolved = await resolveContext(call, caller, input);
  const reading = await readFlags(call, resolved.tenant, input.position);
  const traceable = input.debug === true ? await traceableBy(call, caller, reading) : NOTHING_TRACEABLE;
  return scopeOf(call.service, caller, { resolved, reading, traceable, track: input.track === true });
}

/** A scope from memory before its flags are read. */
export interface ScopePlan {
  readonly known: KnownCaller;
  readonly resolved: ResolvedContext;
  readonly track: boolean;
  readonly seen: FlagsPosition | undefined;
}

/** First half of a scope from memory. Undefined when the database must be asked or a permission is needed. */
export function planScope(
  service: Service,
  headers: HeaderReader,
  known: KnownCaller,
  input: EvaluationInput,
): ScopePlan | undefined {
  const { caller, ties } = known;
  if (input.debug === true && caller.kind !== "anonymous") return undefined;
  const resolved = resolveKnownContext(service, headers, caller, ties, input);
  return resolved && { known, resolved, track: input.track === true, seen: input.position };
}

/** Second half of a scope from memory. Undefined when the flags are not in memory. */
export function peekScope(
  service: Service,
  headers: HeaderReader,
  { known, resolved, track, seen }: ScopePlan,
): EvaluationScope | undefined {
  const reading = peekFlags(service, headers, resolved.tenant, { isStale: known.isStale, seen });
  const traceable = NOTHING_TRACEABLE;
  return reading && scopeOf(service, known.caller, { resolved, reading, traceable, track });
}

interface ScopeParts {
  readonly resolved: ResolvedContext;
  readonly reading: FlagsReading;
  readonly traceable: ReadonlySet<string>;
  readonly track: boolean;
}

function scopeOf(
  service: Service,
  caller: Caller,
  { resolved, reading, traceable, track }: ScopeParts,
): EvaluationScope {
  const now = new Date();
  service.tally.touch();
  return {
    service,
    reading,
    context: resolved.context,
    globalContext: resolved.globalContext,
    seesServerFlags: caller.kind === "server" || caller.kind === "key",
    traceable,
    metadata: {
      revision: reading.revision,
      ...(reading.stale && { stale: true }),
      ...(resolved.isEnvironmentIgnored && { environmentIgnored: true }),
    },
    track,
    nowMs: now.getTime(),
    evaluatedAt: now.toISOString(),
  };
}

/**
 * A trace shows rules, so it needs the permission to read them. A caller whose session the session store does not
 * confirm is evaluated, but gets no trace.
 */
async function traceableBy(
  call: Call,
  caller: Caller,
  { layers }: FlagsReading,
): Promise<ReadonlySet<string>> {
  if (caller.kind === "anonymous") return NOTHING_TRACEABLE;
  const traceable = new Set<string>();
  const confirmed = caller.kind === "server" ? caller : await call.identity.confirmIfKnown(caller);
  if (confirmed === undefined) return traceable;
  for (const { tenant } of layers) {
    if ((await judge(call, confirmed, "read", tenant)) === "granted") traceable.add(tenant);
  }
  return traceable;
}

export function findFlag({ reading, seesServerFlags }: EvaluationScope, key: string): FlagHit | undefined {
  return findInLayers(reading.layers, key, seesServerFlags);
}

/** Every flag that the caller sees, each key once. */
export function* allFlags({ reading: { layers }, seesServerFlags }: EvaluationScope): Generator<FlagHit> {
  for (const layer of layers) {
    for (const found of layer.snapshot.flags.values()) {
      if (layer === layers[0]) {
        if (isVisible(found, seesServerFlags)) yield { layer, found };
      } else if (findInLayers(layers, found.flag.key, seesServerFlags)?.found === found) {
        yield { layer, found };
      }
    }
  }
}

export function* namedFlags(scope: EvaluationScope, keys: readonly string[]): Generator<FlagHit> {
  for (const key of new Set(keys)) {
    const hit = findFlag(scope, key);
    if (hit !== undefined) yield hit;
  }
}

export function evaluateFlag(scope: EvaluationScope, layer: Layer, found: SnapshotFlag): Evaluation {
  const context = layer.tenant === NO_TENANT ? scope.globalContext : scope.context;
  return found.compiled.evaluate(context, overrideFor(layer, found, context, scope.nowMs));
}

/** The same evaluation, with its steps. */
export function explainFlag(scope: EvaluationScope, layer: Layer, found: SnapshotFlag): Explanation {
  const context = layer.tenant === NO_TENANT ? scope.globalContext : scope.context;
  return found.compiled.explain(context, overrideFor(layer, found, context, scope.nowMs));
}

/** Counts an evaluation that is returned, and records the exposure when the request tracks. */
export function countEvaluation(
  scope: EvaluationScope,
  { tenant }: Layer,
  found: SnapshotFlag,
  { reason, variant = "" }: Evaluation,
): void {
  const { service } = scope;
  service.tally.count(tenant, found, reason);
  service.meter.evaluated(reason);
  if (!scope.track) return;
  const { userId, anonymousId } = tenant === NO_TENANT ? scope.globalContext : scope.context;
  service.exposures.add({
    tenant,
    flagKey: found.flag.key,
    variant,
    userId: userId ?? anonymousId ?? "",
    atMs: scope.nowMs,
  });
}

/** Counts a request for a flag that does not exist. */
export function countMissing({ service }: EvaluationScope): void {
  service.meter.evaluated("not_found");
}
