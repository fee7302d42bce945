/** The messages that bring a client from the values it has to those of newer snapshots. */
import type { Caller } from "@halyard/sessions/plugin";
import type { Evaluation } from "../engine/definition.ts";
import { hasArms } from "../server/evaluation/assignment.ts";
import type { Layer } from "../server/evaluation/flags.ts";
import { countEvaluation, type EvaluationScope, scopeOf } from "../server/evaluation/scope.ts";
import type { Service } from "../server/service.ts";
import type { SnapshotFlag } from "../store/flag-store.ts";
import {
  type Answer,
  answerOf,
  candidatesBetween,
  effectiveLayers,
  expiredIn,
  isSameAnswer,
  nextExpiryOf,
  positionOf,
  type Snapshots,
} from "./layers.ts";
import { Deleted, REASONS, Sync, Updated, type UpdatedMessage } from "./messages.ts";
import type { Held, Subscriber } from "./subscriber.ts";

/** More changes than this go out in one message. */
const MAX_SINGLE = 8;
/** Revisions that did not concern a client, after which it is told its position, so that it can resume. */
const MAX_UNTOLD = 500;

/** Sends what differs between what the client has and the new snapshots, and remembers that the client has it. */
export function sendUpdates(service: Service, subscriber: Subscriber, held: Held, target: Snapshots): void {
  const { userId, nextExpiryMs } = subscriber;
  const nowMs = Date.now();
  const keys = new Set(candidatesBetween(held.snapshots, target, userId));
  if (nextExpiryMs <= nowMs) {
    const range = { afterMs: held.nowMs, upToMs: nowMs };
    for (const key of expiredIn(held.snapshots, userId, range)) keys.add(key);
    for (const key of expiredIn(target, userId, range)) keys.add(key);
  }
  const { contexts, resolved } = held;
  const before = effectiveLayers(resolved.tenant, held.snapshots);
  const after = effectiveLayers(resolved.tenant, target);
  const changes: [string, Answer | undefined][] = [];
  for (const key of keys) {
    const answer = answerOf(after, contexts, key, nowMs);
    if (isSameAnswer(answerOf(before, contexts, key, held.nowMs), answer)) continue;
    changes.push([key, answer]);
  }
  remember(subscriber, { ...held, snapshots: target, nowMs });
  sendChanges(service, subscriber, changes, after);
}

/** Sends the current values of these flags, for a client that has older ones. */
export function sendCurrent(
  service: Service,
  subscriber: Subscriber,
  held: Held,
  keys: Iterable<string>,
): void {
  const layers = effectiveLayers(held.resolved.tenant, held.snapshots);
  const changes = Array.from(new Set(keys), (key): [string, Answer | undefined] => [
    key,
    answerOf(layers, held.contexts, key, held.nowMs),
  ]);
  sendChanges(service, subscriber, changes, layers);
}

export function remember(subscriber: Subscriber, held: Held): void {
  subscriber.held = held;
  subscriber.nextExpiryMs = nextExpiryOf(held.snapshots, subscriber.userId, held.nowMs);
}

export function told(subscriber: Subscriber): void {
  subscriber.toldRevision = sumOf(subscriber.held?.snapshots);
}

function sumOf(snapshots: Snapshots | undefined): number {
  return (snapshots?.global.revision ?? 0) + (snapshots?.ofTenant?.revision ?? 0);
}

function sendChanges(
  service: Service,
  subscriber: Subscriber,
  changes: readonly (readonly [string, Answer | undefined])[],
  layers: readonly Layer[],
): void {
  const { held, sender } = subscriber;
  if (held === undefined) return;
  const at = positionOf(held.snapshots);
  if (changes.length === 0) {
    if (Math.abs(sumOf(held.snapshots) - subscriber.toldRevision) < MAX_UNTOLD) return;
    sender.send(Sync, { at });
    return told(subscriber);
  }
  const evaluated = new SentEvaluations(service, subscriber, held, layers);
  const last = changes.length - 1;
  if (changes.length > MAX_SINGLE) {
    const updated = changes.flatMap(([, answer]) =>
      answer === undefined ? [] : [evaluated.updateOf(answer)],
    );
    const deleted = changes.flatMap(([key, answer]) => (answer === undefined ? [key] : []));
    sender.send(Sync, { updated, deleted, at });
  } else {
    for (const [index, [key, answer]] of changes.entries()) {
      const end = index === last ? { at } : {};
      if (answer === undefined) sender.send(Deleted, { key, ...end });
      else sender.send(Updated, { ...evaluated.updateOf(answer), ...end });
    }
  }
  told(subscriber);
}

/** The evaluations of one change for one subscriber: counted, and with tokens if the client reports exposures. */
class SentEvaluations {
  readonly #service: Service;
  readonly #subscriber: Subscriber;
  readonly #held: Held;
  readonly #layers: readonly Layer[];
  /** Made for the first flag with a token. */
  #scope: EvaluationScope | undefined;

  constructor(service: Service, subscriber: Subscriber, held: Held, layers: readonly Layer[]) {
    this.#service = service;
    this.#subscriber = subscriber;
    this.#held = held;
    this.#layers = layers;
    service.tally.touch();
  }

  updateOf({ hit: { layer, found }, evaluation }: Answer): UpdatedMessage {
    const { value, variant, reason } = evaluation;
    const token = this.#count(layer, found, evaluation);
    return {
      key: found.flag.key,
      value,
      ...(variant !== undefined && { variant }),
      reason: REASONS.indexOf(reason),
      ...(token !== undefined && { token }),
    };
  }

  #count(layer: Layer, found: SnapshotFlag, evaluation: Evaluation): string | undefined {
    const { input, who } = this.#subscriber;
    if (input.exposures !== true || !hasArms(found)) {
      this.#service.tally.count(layer.tenant, found, evaluation.reason);
      this.#service.meter.evaluated(evaluation.reason);
      return undefined;
    }
    const parts = { held: this.#held, layers: this.#layers, hasTokens: true };
    this.#scope ??= scopeFor(this.#service, who.caller, parts);
    countEvaluation(this.#scope, layer, found, evaluation);
    return this.#scope.exposures?.get(found.flag.key);
  }
}

/** The scope of evaluations whose values are sent. */
export function scopeFor(
  service: Service,
  caller: Caller,
  {
    held,
    layers,
    hasTokens,
  }: {
    readonly held: Pick<Held, "resolved" | "contexts" | "snapshots">;
    readonly layers: readonly Layer[];
    readonly hasTokens: boolean;
  },
): EvaluationScope {
  const { resolved, contexts, snapshots } = held;
  const reading = { layers, revision: sumOf(snapshots), stale: false };
  return scopeOf(service, caller, {
    resolved,
    contexts,
    reading,
    traceable: NOTHING,
    track: false,
    hasTokens,
  });
}

const NOTHING: ReadonlySet<string> = new Set();
