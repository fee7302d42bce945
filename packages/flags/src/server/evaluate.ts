/** Evaluation of one flag, of many, and of all: the three public endpoints and their server methods. */
import type { EvaluationContext } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type {
  AnyBatchResult,
  AnyBootstrapResult,
  AnyEvaluationResult,
  ClaimedContext,
  EvaluationField,
  EvaluationFields,
  EvaluationMetadata,
  EvaluationSelect,
} from "../model/evaluation.ts";
import { parseBatchInput, parseBootstrapInput, parseEvaluateInput } from "../model/evaluation-input.ts";
import { NO_TENANT } from "../model/flag.ts";
import { judge } from "./access.ts";
import { checkBodySize, MAX_BATCH_BODY_BYTES } from "./body-limit.ts";
import { answer, type Call } from "./call.ts";
import { type Caller, confirmIfKnown, identifyEvaluator } from "./caller.ts";
import { resolveContext } from "./context.ts";
import { resolveEnvironment } from "./environment.ts";
import { type FlagHit, type FlagsReading, findFlag, isVisible, readFlags } from "./flags-read.ts";
import type { Service } from "./service.ts";

export function evaluateFlag(service: Service, call: Call): Promise<AnyEvaluationResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call);
    const input = parseEvaluateInput(call.body);
    const round = await startRound(service, call, input);
    const fields = evaluateOne(round, input.flagKey, input.default ?? null);
    return {
      ...select(fields, input.select),
      evaluatedAt: round.evaluatedAt,
      ...(input.contextInResponse === true && { context: round.context }),
    };
  });
}

export function evaluateFlags(service: Service, call: Call): Promise<AnyBatchResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call, MAX_BATCH_BODY_BYTES);
    const input = parseBatchInput(call.body);
    const round = await startRound(service, call, input);
    const { defaults = {} } = input;
    const entries = input.flagKeys.map((key) => {
      const fallback = Object.hasOwn(defaults, key) ? (defaults[key] ?? null) : null;
      return [key, selectInMap(evaluateOne(round, key, fallback), input.select)] as const;
    });
    return {
      flags: Object.fromEntries(entries),
      evaluatedAt: round.evaluatedAt,
      ...(input.contextInResponse !== false && { context: round.context }),
    };
  });
}

export function bootstrapFlags(service: Service, call: Call): Promise<AnyBootstrapResult> {
  return answer(call, "EVALUATION_ERROR", async () => {
    checkBodySize(call);
    const input = parseBootstrapInput(call.body);
    const round = await startRound(service, call, input);
    const { prefix = "", includeDisabled = false } = input;
    const entries: [string, JsonValue | Partial<EvaluationFields>][] = [];
    for (const hit of input.include === undefined ? allFlags(round) : namedFlags(round, input.include)) {
      const { key } = hit.found.flag;
      if (!key.startsWith(prefix)) continue;
      const fields = evaluateHit(round, hit);
      if (fields.reason === "disabled" && !includeDisabled) continue;
      entries.push([key, selectInMap(fields, input.select)]);
    }
    // Not an object literal: `__proto__` is a key like any other.
    return { flags: Object.fromEntries(entries), evaluatedAt: round.evaluatedAt, context: round.context };
  });
}

/** All that the evaluations of one call have in common. */
interface Round {
  readonly reading: FlagsReading;
  readonly context: EvaluationContext;
  /** For the flags of all organizations. */
  readonly globalContext: EvaluationContext;
  readonly seesServerFlags: boolean;
  /** The tenants whose flags may be explained to the caller. */
  readonly traceable: ReadonlySet<string>;
  readonly metadata: EvaluationMetadata;
  readonly nowMs: number;
  readonly evaluatedAt: string;
}

interface RoundInput {
  readonly context?: ClaimedContext | undefined;
  readonly environment?: string | undefined;
  readonly track?: boolean | undefined;
  readonly debug?: boolean | undefined;
}

async function startRound(service: Service, call: Call, input: RoundInput): Promise<Round> {
  const caller = await identifyEvaluator(call);
  const environment = resolveEnvironment(call, caller, service.options, input.environment);
  const resolved = await resolveContext(service, call, caller, input.context);
  const reading = await readFlags(service, call, resolved.tenant);
  if (input.track === true) {
    service.warnOnce("track was asked for, but this version records no exposures; nothing was recorded.");
  }
  const now = new Date();
  const inEnvironment = (context: EvaluationContext): EvaluationContext =>
    environment.name === undefined ? context : { ...context, environment: environment.name };
  return {
    reading,
    context: inEnvironment(resolved.context),
    globalContext: inEnvironment(resolved.globalContext),
    seesServerFlags: caller.kind === "server" || caller.kind === "key",
    traceable: input.debug === true ? await traceableBy(service, call, caller, reading) : new Set(),
    metadata: {
      revision: reading.revision,
      ...(reading.stale && { stale: true }),
      ...(environment.ignored && { environmentIgnored: true }),
    },
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
): Promise<Set<string>> {
  if (caller.kind === "anonymous") return new Set();
  const traceable = new Set<string>();
  const sure = caller.kind === "server" ? caller : await confirmIfKnown(call, caller);
  if (sure === undefined) return traceable;
  for (const { tenant } of layers) {
    if ((await judge(service, call, sure, "read", tenant)) === "granted") traceable.add(tenant);
  }
  return traceable;
}

function evaluateOne(round: Round, key: string, fallback: JsonValue): EvaluationFields {
  const hit = findFlag(round.reading.layers, key, round.seesServerFlags);
  return hit === undefined
    ? { value: fallback, reason: "not_found", metadata: round.metadata }
    : evaluateHit(round, hit);
}

function evaluateHit(round: Round, { layer, found }: FlagHit): EvaluationFields {
  const { metadata } = round;
  const context = layer.tenant === NO_TENANT ? round.globalContext : round.context;
  const override =
    context.userId === undefined
      ? undefined
      : layer.snapshot.override(found.flag.id, context.userId, round.nowMs);
  const trace = round.traceable.has(layer.tenant) ? found.compiled.explain(context, override) : undefined;
  const { value, variant, reason, variantMetadata } =
    trace?.result ?? found.compiled.evaluate(context, override);
  return {
    value,
    ...(variant !== undefined && { variant }),
    reason,
    metadata:
      variantMetadata === undefined && trace === undefined
        ? metadata
        : {
            ...metadata,
            ...(trace && { trace: trace.steps }),
            ...(variantMetadata && { variant: variantMetadata }),
          },
  };
}

/** Every flag that answers the caller, each once. */
function* allFlags({ reading: { layers }, seesServerFlags }: Round): Generator<FlagHit> {
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

function* namedFlags(round: Round, keys: readonly string[]): Generator<FlagHit> {
  for (const key of new Set(keys)) {
    const hit = findFlag(round.reading.layers, key, round.seesServerFlags);
    if (hit !== undefined) yield hit;
  }
}

function select(fields: EvaluationFields, wanted: EvaluationSelect = "full"): Partial<EvaluationFields> {
  if (wanted === "full") return fields;
  if (wanted === "value") return { value: fields.value };
  const has = (field: EvaluationField) => wanted.includes(field);
  return {
    ...(has("value") && { value: fields.value }),
    ...(has("variant") && fields.variant !== undefined && { variant: fields.variant }),
    ...(has("reason") && { reason: fields.reason }),
    ...(has("metadata") && { metadata: fields.metadata }),
  };
}

/** In a map of many flags, the value alone stands for itself. */
function selectInMap(
  fields: EvaluationFields,
  wanted: EvaluationSelect | undefined,
): JsonValue | Partial<EvaluationFields> {
  return wanted === "value" ? fields.value : select(fields, wanted);
}
