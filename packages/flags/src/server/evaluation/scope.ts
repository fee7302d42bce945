/** What all evaluations of one call share, and how each flag is found, evaluated and counted in it. */
import { type Awaitable, chain } from "@halyard/base";
import type { Caller } from "@halyard/sessions/plugin";
import type { Evaluation, EvaluationContext } from "../../engine/definition.ts";
import type { Explanation } from "../../engine/explain.ts";
import type { EvaluationMetadata } from "../../model/evaluation.ts";
import type { FlagsPosition } from "../../model/position.ts";
import type { SnapshotFlag } from "../../store/flag-store.ts";
import { judge } from "../access/permission.ts";
import type { Call } from "../call.ts";
import type { Service } from "../service.ts";
import { originsOf } from "../trusted/origins.ts";
import type { TrustedSubject } from "../trusted/trusted-attributes.ts";
import { assignmentOf, hasArms } from "./assignment.ts";
import { type ContextCall, type ContextInput, type ResolvedContext, resolveContext } from "./context.ts";
import { type FlagHit, type FlagsReading, findInLayers, isVisible, overrideFor, readFlags } from "./flags.ts";
import type { Layer } from "./layer.ts";
import { withTrusted } from "./trusted-subject.ts";

export interface EvaluationScope {
  readonly service: Service;
  /** Its layers have trusted attributes in their contexts. */
  readonly reading: FlagsReading;
  readonly caller: Caller;
  /** The context without trusted attributes, which stay on the server. */
  readonly shownContext: EvaluationContext;
  /** Of the whole request, also for global flags. */
  readonly subject: TrustedSubject | undefined;
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

/** An evaluation whose flags were not read yet. */
export interface PreparedEvaluation<Input extends EvaluationInput> {
  readonly caller: Caller;
  readonly resolved: ResolvedContext;
  readonly input: Input;
}

export function prepareEvaluation<Input extends EvaluationInput>(
  call: ContextCall,
  caller: Caller,
  input: Input,
): Awaitable<PreparedEvaluation<Input>> {
  // A trace needs a permission.
  if (input.debug === true && caller.kind !== "anonymous") call.guarded();
  return chain(resolveContext(call, caller, input), (resolved) => ({ caller, resolved, input }));
}

/** Synchronous while the flags and the trusted attributes are in memory. */
export function openScope(
  call: Call,
  { caller, resolved, input }: PreparedEvaluation<EvaluationInput>,
): Awaitable<EvaluationScope> {
  return chain(readFlags(call, resolved.layers, input.position), (reading) => {
    const traceable = input.debug === true ? traceableBy(call, caller, reading) : NOTHING_TRACEABLE;
    return chain(traceable, (tenants) =>
      chain(withTrusted(call.service, reading.layers, input.flagKey), (layers) =>
        scopeOf(call.service, caller, {
          resolved,
          reading: { ...reading, layers },
          traceable: tenants,
          track: input.track === true,
          hasTokens: input.exposures === true,
        }),
      ),
    );
  });
}

export interface ScopeParts {
  readonly resolved: ResolvedContext;
  /** With trusted attributes. */
  readonly reading: FlagsReading;
  readonly traceable?: ReadonlySet<string>;
  /** Whether exposures are recorded now. */
  readonly track?: boolean;
  /** Whether exposures can be reported later. */
  readonly hasTokens: boolean;
}

export function scopeOf(
  service: Service,
  caller: Caller,
  { resolved, reading, traceable = NOTHING_TRACEABLE, track = false, hasTokens }: ScopeParts,
): EvaluationScope {
  const now = new Date();
  const [{ context, subject }] = resolved.layers;
  service.tally.touch();
  return {
    service,
    reading,
    shownContext: context,
    subject,
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
  for (const layer of layers) {
    if (layer === undefined) continue;
    const { tenant } = layer;
    if ((await judge(call, confirmed, "read", tenant)) === "granted") traceable.add(tenant);
  }
  return traceable;
}

export function findFlag({ reading, seesServerFlags }: EvaluationScope, key: string): FlagHit | undefined {
  return findInLayers(reading.layers, key, seesServerFlags);
}

/** Whether the layer's flag is the one that the caller sees under its key. */
export function isSeen(
  { reading: { layers }, seesServerFlags }: EvaluationScope,
  layer: Layer,
  found: SnapshotFlag,
): boolean {
  if (layer === layers[0]) return isVisible(found, seesServerFlags);
  return findInLayers(layers, found.flag.key, seesServerFlags)?.found === found;
}

export function evaluateFlag({ nowMs }: EvaluationScope, layer: Layer, found: SnapshotFlag): Evaluation {
  const { context } = layer;
  return found.compiled.evaluate(context, overrideFor(layer, found, context, nowMs));
}

/** The same evaluation, with its steps. */
export function explainFlag(
  { service, nowMs }: EvaluationScope,
  layer: Layer,
  found: SnapshotFlag,
): Explanation {
  const { context, subject } = layer;
  const originOf = originsOf(service.options.trusted, subject);
  return found.compiled.explain(context, overrideFor(layer, found, context, nowMs), originOf);
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
  { tenant, context }: Layer,
  found: SnapshotFlag,
  evaluation: Evaluation,
): void {
  const { service, reading, track, exposures, nowMs } = scope;
  const { id: flagId, key } = found.flag;
  const isTokenWanted = exposures !== undefined && hasArms(found);
  if (!track && !isTokenWanted) return;
  const shown = { tenant, flagId, ...assignmentOf(found, context, evaluation, scope) };
  if (track) service.exposures.add({ ...shown, firstMs: nowMs, lastMs: nowMs });
  if (!isTokenWanted) return;
  exposures.set(key, service.tokens.sign({ ...shown, revision: reading.revision, atMs: nowMs }));
}

/** Counts a request for a flag that does not exist. */
export function countMissing({ service }: EvaluationScope): void {
  service.meter.evaluated("not_found");
}
