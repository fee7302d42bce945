/** What all evaluations of one call share, and how each flag is found, evaluated and counted in it. */
import type { Caller, KnownCaller } from "@halyard/sessions/plugin";
import type { Evaluation, EvaluationContext } from "../../engine/definition.ts";
import type { Explanation } from "../../engine/explain.ts";
import type { EvaluationMetadata } from "../../model/evaluation.ts";
import { NO_TENANT } from "../../model/flag.ts";
import type { FlagsPosition } from "../../model/position.ts";
import type { SnapshotFlag } from "../../store/flag-store.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import type { HeaderReader } from "../http/host-request.ts";
import type { Service } from "../service.ts";
import { originsOf } from "../trusted/origins.ts";
import type { TrustedSubject } from "../trusted/trusted-attributes.ts";
import { assignmentOf, hasArms } from "./assignment.ts";
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
import { type ContextPair, withTrusted } from "./trusted-subject.ts";

export interface EvaluationScope {
  readonly service: Service;
  readonly reading: FlagsReading;
  readonly context: EvaluationContext;
  /** The context for global flags, which belong to no organization. */
  readonly globalContext: EvaluationContext;
  readonly caller: Caller;
  /** The context without trusted attributes, which stay on the server. */
  readonly shownContext: EvaluationContext;
  readonly subject: TrustedSubject | undefined;
  readonly globalSubject: TrustedSubject | undefined;
  readonly seesServerFlags: boolean;
  /** Tenants whose flags may be explained to the caller. */
  readonly traceable: ReadonlySet<string>;
  readonly metadata: EvaluationMetadata;
  /** Whether evaluations are recorded as exposures. */
  readonly track: boolean;
  /** The tokens of the evaluated flags, by key, if the request asks for them. */
  readonly exposures: Map<string, string> | undefined;
  readonly nowMs: number;
  readonly evaluatedAt: string;
}

/** What evaluation requests have in common. */
export interface EvaluationInput extends ContextInput {
  readonly track?: boolean | undefined;
  readonly exposures?: boolean | undefined;
  readonly debug?: boolean | undefined;
  readonly position?: FlagsPosition | undefined;
  /** The only flag that is evaluated, if there is only one. */
  readonly flagKey?: string | undefined;
}

const NOTHING_TRACEABLE: ReadonlySet<string> = new Set();

export async function openScope(call: Call, input: EvaluationInput): Promise<EvaluationScope> {
  const caller = await call.identity.evaluator();
  const resolved = await resolveContext(call, caller, input);
  const reading = await readFlags(call, resolved.tenant, input.position);
  const traceable = input.debug === true ? await traceableBy(call, caller, reading) : NOTHING_TRACEABLE;
  const contexts = await withTrusted(call.service, resolved, reading.layers, input.flagKey);
  const parts = { resolved, contexts, reading, traceable, ...recordingOf(input) };
  return scopeOf(call.service, caller, parts);
}

/** Whether exposures are recorded now, and whether they can be reported later. */
interface Recording {
  readonly track: boolean;
  readonly hasTokens: boolean;
}

function recordingOf({ track, exposures }: EvaluationInput): Recording {
  return { track: track === true, hasTokens: exposures === true };
}

/** A scope from memory before its flags are read. */
export interface ScopePlan extends Recording {
  readonly known: KnownCaller;
  readonly resolved: ResolvedContext;
  readonly seen: FlagsPosition | undefined;
  readonly flagKey: string | undefined;
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
  const { position: seen, flagKey } = input;
  return resolved && { known, resolved, ...recordingOf(input), seen, flagKey };
}

/** Second half of a scope from memory. Undefined when the flags or the trusted attributes are not in memory. */
export function peekScope(
  service: Service,
  headers: HeaderReader,
  { known, resolved, track, hasTokens, seen, flagKey }: ScopePlan,
): EvaluationScope | undefined {
  const reading = peekFlags(service, headers, resolved.tenant, { isStale: known.isStale, seen });
  if (reading === undefined) return undefined;
  const contexts = withTrusted(service, resolved, reading.layers, flagKey);
  if (contexts instanceof Promise) return undefined;
  const traceable = NOTHING_TRACEABLE;
  return scopeOf(service, known.caller, { resolved, contexts, reading, traceable, track, hasTokens });
}

export interface ScopeParts extends Recording {
  readonly resolved: ResolvedContext;
  /** With trusted attributes. */
  readonly contexts: ContextPair;
  readonly reading: FlagsReading;
  readonly traceable: ReadonlySet<string>;
}

export function scopeOf(
  service: Service,
  caller: Caller,
  { resolved, contexts, reading, traceable, track, hasTokens }: ScopeParts,
): EvaluationScope {
  const now = new Date();
  service.tally.touch();
  return {
    service,
    reading,
    context: contexts.context,
    globalContext: contexts.globalContext,
    shownContext: resolved.context,
    subject: resolved.subject,
    globalSubject: resolved.globalSubject,
    caller,
    seesServerFlags: resolved.seesServerFlags,
    traceable,
    metadata: {
      revision: reading.revision,
      ...(reading.stale && { stale: true }),
      ...(resolved.isEnvironmentIgnored && { environmentIgnored: true }),
    },
    track,
    exposures: hasTokens ? new Map() : undefined,
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
  const isGlobal = layer.tenant === NO_TENANT;
  const context = isGlobal ? scope.globalContext : scope.context;
  const subject = isGlobal ? scope.globalSubject : scope.subject;
  const originOf = originsOf(scope.service.options.trusted, subject);
  return found.compiled.explain(context, overrideFor(layer, found, context, scope.nowMs), originOf);
}

/** Counts an evaluation that is returned, and records the exposure or makes its token as the request asks. */
export function countEvaluation(
  scope: EvaluationScope,
  layer: Layer,
  found: SnapshotFlag,
  evaluation: Evaluation,
): void {
  const { service } = scope;
  service.tally.count(layer.tenant, found, evaluation.reason);
  service.meter.evaluated(evaluation.reason);
  if (scope.track || scope.exposures !== undefined) expose(scope, layer, found, evaluation);
}

function expose(
  scope: EvaluationScope,
  { tenant }: Layer,
  found: SnapshotFlag,
  evaluation: Evaluation,
): void {
  const { service, context, globalContext, reading, track, exposures, nowMs } = scope;
  const { id: flagId, key } = found.flag;
  const isTokenWanted = exposures !== undefined && hasArms(found);
  if (!track && !isTokenWanted) return;
  const layerContext = tenant === NO_TENANT ? globalContext : context;
  const shown = { tenant, flagId, ...assignmentOf(found, layerContext, evaluation, scope) };
  if (track) service.exposures.add({ ...shown, firstMs: nowMs, lastMs: nowMs });
  if (!isTokenWanted) return;
  exposures.set(key, service.tokens.sign({ ...shown, revision: reading.revision, atMs: nowMs }));
}

/** Counts a request for a flag that does not exist. */
export function countMissing({ service }: EvaluationScope): void {
  service.meter.evaluated("not_found");
}
