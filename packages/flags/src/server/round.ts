/** The evaluations of one call: what they have in common, and how each flag is found, evaluated and counted. */
import type { Evaluation, EvaluationContext } from "../engine/definition.ts";
import type { Explanation } from "../engine/explain.ts";
import type { ClaimedContext, EvaluationMetadata } from "../model/evaluation.ts";
import { NO_TENANT } from "../model/flag.ts";
import type { SnapshotFlag } from "../store/store.ts";
import { judge } from "./access.ts";
import type { Call } from "./call.ts";
import { type Caller, confirmIfKnown, identifyEvaluator } from "./caller.ts";
import { type KnownTies, type ResolvedContext, resolveContext, resolveKnownContext } from "./context.ts";
import { type Environment, environmentFor, resolveEnvironment } from "./environment.ts";
import {
  type FlagHit,
  type FlagsReading,
  findFlag,
  isVisible,
  type Layer,
  peekFlags,
  readFlags,
} from "./flags-read.ts";
import type { Service } from "./service.ts";

export interface Round {
  readonly service: Service;
  readonly reading: FlagsReading;
  readonly context: EvaluationContext;
  /** For the flags of all organizations. */
  readonly globalContext: EvaluationContext;
  readonly seesServerFlags: boolean;
  /** The tenants whose flags may be explained to the caller. */
  readonly traceable: ReadonlySet<string>;
  readonly metadata: EvaluationMetadata;
  readonly track: boolean;
  readonly nowMs: number;
  readonly evaluatedAt: string;
}

export interface RoundInput {
  readonly context?: ClaimedContext | undefined;
  readonly environment?: string | undefined;
  readonly track?: boolean | undefined;
  readonly debug?: boolean | undefined;
}

const NOTHING_TRACEABLE: ReadonlySet<string> = new Set();

export async function startRound(service: Service, call: Call, input: RoundInput): Promise<Round> {
  const caller = await identifyEvaluator(call);
  const environment = resolveEnvironment(call, caller, service.options, input.environment);
  const resolved = await resolveContext(service, call, caller, input.context);
  const reading = await readFlags(service, call, resolved.tenant);
  const traceable =
    input.debug === true ? await traceableBy(service, call, caller, reading) : NOTHING_TRACEABLE;
  return roundOf(service, caller, { environment, resolved, reading, traceable, track: input.track === true });
}

/** A caller of whom all that an evaluation needs is at hand. */
export interface KnownCaller {
  readonly caller: Exclude<Caller, { kind: "server" }>;
  readonly ties: KnownTies;
  /** The store could not be asked whether this still holds. */
  readonly isStale: boolean;
}

/** What is known of a round before flags are read for it. */
export interface KnownRound {
  readonly known: KnownCaller;
  readonly environment: Environment;
  readonly resolved: ResolvedContext;
  readonly track: boolean;
}

/** The first half without asking anybody: undefined where somebody must be asked, or a permission is needed. */
export function planKnownRound(
  service: Service,
  headers: Pick<Headers, "get">,
  known: KnownCaller,
  input: RoundInput,
): KnownRound | undefined {
  const { caller, ties } = known;
  if (input.debug === true && caller.kind !== "anonymous") return undefined;
  const environment = environmentFor(headers, caller, service.options, input.environment);
  const resolved = resolveKnownContext(service, headers, caller, ties, input.context);
  return resolved && { known, environment, resolved, track: input.track === true };
}

/** The second half: undefined where the flags are not at hand. */
export function startKnownRound(
  service: Service,
  headers: Pick<Headers, "get">,
  { known, environment, resolved, track }: KnownRound,
): Round | undefined {
  const reading = peekFlags(service, headers, resolved.tenant, known.isStale);
  const traceable = NOTHING_TRACEABLE;
  return reading && roundOf(service, known.caller, { environment, resolved, reading, traceable, track });
}

interface RoundParts {
  readonly environment: Environment;
  readonly resolved: ResolvedContext;
  readonly reading: FlagsReading;
  readonly traceable: ReadonlySet<string>;
  readonly track: boolean;
}

function roundOf(
  service: Service,
  caller: Caller,
  { environment, resolved, reading, traceable, track }: RoundParts,
): Round {
  const { name, ignored } = environment;
  const inEnvironment = (context: EvaluationContext): EvaluationContext =>
    name === undefined ? context : { ...context, environment: name };
  const context = inEnvironment(resolved.context);
  const now = new Date();
  service.tally.touch();
  return {
    service,
    reading,
    context,
    globalContext:
      resolved.globalContext === resolved.context ? context : inEnvironment(resolved.globalContext),
    seesServerFlags: caller.kind === "server" || caller.kind === "key",
    traceable,
    metadata: {
      revision: reading.revision,
      ...(reading.stale && { stale: true }),
      ...(ignored && { environmentIgnored: true }),
    },
    track,
    nowMs: now.getTime(),
    evaluatedAt: now.toISOString(),
  };
}

/**
 * A trace shows rules, so it takes the permission to read them. Whoever cannot be confirmed to have it, because the
 * session has ended meanwhile or is none of the session store's, is evaluated all the same and gets no trace.
 */
async function traceableBy(
  service: Service,
  call: Call,
  caller: Caller,
  { layers }: FlagsReading,
): Promise<ReadonlySet<string>> {
  if (caller.kind === "anonymous") return NOTHING_TRACEABLE;
  const traceable = new Set<string>();
  const sure = caller.kind === "server" ? caller : await confirmIfKnown(call, caller);
  if (sure === undefined) return traceable;
  for (const { tenant } of layers) {
    if ((await judge(service, call, sure, "read", tenant)) === "granted") traceable.add(tenant);
  }
  return traceable;
}

export function findInRound({ reading, seesServerFlags }: Round, key: string): FlagHit | undefined {
  return findFlag(reading.layers, key, seesServerFlags);
}

/** Every flag that answers the caller, each once. */
export function* allFlags({ reading: { layers }, seesServerFlags }: Round): Generator<FlagHit> {
  for (const layer of layers) {
    for (const found of layer.snapshot.flags.values()) {
      if (layer === layers[0]) {
        if (isVisible(found, seesServerFlags)) yield { layer, found };
      } else if (findFlag(layers, found.flag.key, seesServerFlags)?.found === found) {
        yield { layer, found };
      }
    }
  }
}

export function* namedFlags(round: Round, keys: readonly string[]): Generator<FlagHit> {
  for (const key of new Set(keys)) {
    const hit = findInRound(round, key);
    if (hit !== undefined) yield hit;
  }
}

export function evaluateInRound(round: Round, { tenant, snapshot }: Layer, found: SnapshotFlag): Evaluation {
  const context = tenant === NO_TENANT ? round.globalContext : round.context;
  const { userId } = context;
  const override = userId === undefined ? undefined : snapshot.override(found.flag.id, userId, round.nowMs);
  return found.compiled.evaluate(context, override);
}

/** The same answer with its steps. */
export function explainInRound(round: Round, { layer, found }: FlagHit): Explanation {
  const context = layer.tenant === NO_TENANT ? round.globalContext : round.context;
  const override =
    context.userId === undefined
      ? undefined
      : layer.snapshot.override(found.flag.id, context.userId, round.nowMs);
  return found.compiled.explain(context, override);
}

/** Counts an answer that is given, and records what the caller was shown where that is asked for. */
export function noteAnswer(round: Round, layer: Layer, found: SnapshotFlag, answer: Evaluation): void {
  const { service } = round;
  service.tally.count(layer.tenant, found, answer.reason);
  service.meter.evaluated(answer.reason);
  if (!round.track) return;
  const { userId, anonymousId } = layer.tenant === NO_TENANT ? round.globalContext : round.context;
  service.exposures.add({
    tenant: layer.tenant,
    flagKey: found.flag.key,
    variant: answer.variant ?? "",
    userId: userId ?? anonymousId ?? "",
    atMs: round.nowMs,
  });
}

/** The caller asked for a flag that there is not. */
export function noteMissing({ service }: Round): void {
  service.meter.evaluated("not_found");
}
