/** The messages that bring a client from the values it has to those of newer snapshots. */
import type { Caller } from "@halyard/sessions/plugin";
import type { Evaluation } from "../engine/definition.ts";
import { hasArms } from "../server/evaluation/assignment.ts";
import type { FlagHit, Layer } from "../server/evaluation/flags.ts";
import { countEvaluation, type EvaluationScope, scopeOf } from "../server/evaluation/scope.ts";
import type { Service } from "../server/service.ts";
import type { SnapshotFlag } from "../store/flag-store.ts";
import { evaluate, expiredIn, hitIn, isSameResult, nextExpiryOf, type Snapshots } from "./layers.ts";
import {
  Deleted,
  type DeletedMessage,
  type LivePosition,
  REASONS,
  Sync,
  Updated,
  type UpdatedMessage,
} from "./messages.ts";
import { stepBetween, type Target, targetOf } from "./step.ts";
import type { Held, SendingOptions, Subscriber } from "./subscriber.ts";

/** More changes than this go out in one message. */
const MAX_SINGLE = 8;
/** Revisions that did not concern a client, after which it is told its position, so that it can resume. */
const MAX_UNTOLD = 500;

/** A flag that changed for a session. Without a result, it no longer exists. */
interface Change {
  readonly key: string;
  readonly hit: FlagHit | undefined;
  readonly evaluation: Evaluation | undefined;
}

/** Sends what differs between what the client has and the new snapshots, and remembers that the client has it. */
export function sendUpdates(service: Service, subscriber: Subscriber, held: Held, target: Snapshots): void {
  const { userId, nextExpiryMs } = subscriber;
  const { resolved, contexts, snapshots, tag } = held;
  const nowMs = Date.now();
  const step = stepBetween(resolved.tenant, snapshots, target);
  const isSimple = step.keepsOverrides && nextExpiryMs > nowMs;
  const candidates = isSimple
    ? step.candidates
    : step.candidatesFor(userId, expiredBetween(held, target, userId, nowMs));
  const changes: Change[] = [];
  for (const { key, before, after } of candidates) {
    const evaluation = after && evaluate(after, contexts, nowMs);
    if (isSameResult(before && evaluate(before, contexts, held.nowMs), evaluation)) continue;
    changes.push({ key, hit: after, evaluation });
  }
  const next = { resolved, contexts, snapshots: target, tag, nowMs };
  if (isSimple) subscriber.held = next;
  else remember(subscriber, next);
  sendChanges(service, subscriber, changes, step.target);
}

/** Keys of flags whose override for the user has expired since the client got its values. */
function expiredBetween(
  held: Held,
  target: Snapshots,
  userId: string | undefined,
  nowMs: number,
): readonly string[] {
  const range = { afterMs: held.nowMs, upToMs: nowMs };
  return [...expiredIn(held.snapshots, userId, range), ...expiredIn(target, userId, range)];
}

/** Sends the current values of these flags, for a client that has older ones. */
export function sendCurrent(
  service: Service,
  subscriber: Subscriber,
  held: Held,
  keys: Iterable<string>,
): void {
  const target = targetOf(held.resolved.tenant, held.snapshots);
  const changes = Array.from(new Set(keys), (key): Change => {
    const hit = hitIn(target.layers, key);
    return { key, hit, evaluation: hit && evaluate(hit, held.contexts, held.nowMs) };
  });
  sendChanges(service, subscriber, changes, target);
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
  changes: readonly Change[],
  target: Target,
): void {
  const { held, sender } = subscriber;
  if (held === undefined) return;
  const { at } = target;
  if (changes.length === 0) {
    if (Math.abs(sumOf(held.snapshots) - subscriber.toldRevision) < MAX_UNTOLD) return;
    sender.send(Sync, target.moved, SHARED);
    return told(subscriber);
  }
  service.tally.touch();
  const sent = new SentEvaluations(service, subscriber, held, target);
  const last = changes.length - 1;
  if (changes.length > MAX_SINGLE) {
    const updated = changes.flatMap((change) => sent.updateOf(change) ?? []).map(withoutPosition);
    const deleted = changes.flatMap(({ key, evaluation }) => (evaluation === undefined ? [key] : []));
    sender.send(Sync, { updated, deleted, at });
  } else {
    for (const [index, change] of changes.entries()) {
      const { key, evaluation } = change;
      const update = sent.updateOf(change);
      if (index < last) {
        if (update === undefined) sender.send(Deleted, { key });
        else sender.send(Updated, withoutPosition(update));
      } else if (update === undefined) sender.send(Deleted, deletionOf(target, key), SHARED);
      else sender.send(Updated, update, isKnown(target, evaluation, update) ? SHARED : undefined);
    }
  }
  told(subscriber);
}

const SHARED: SendingOptions = { shared: true };

/** Whether other sessions get the same message. */
function isKnown({ updates }: Target, evaluation: Evaluation | undefined, update: UpdatedMessage): boolean {
  return evaluation !== undefined && updates.get(evaluation) === update;
}

function deletionOf({ deletions, at }: Target, key: string): DeletedMessage {
  const known = deletions.get(key) ?? { key, at };
  deletions.set(key, known);
  return known;
}

/** Of a message that is not the last of a change. */
function withoutPosition({ at: _at, ...message }: UpdatedMessage): UpdatedMessage {
  return message;
}

/** The evaluations of one change for one subscriber: counted, and with tokens if the client reports exposures. */
class SentEvaluations {
  readonly #service: Service;
  readonly #subscriber: Subscriber;
  readonly #held: Held;
  readonly #target: Target;
  /** Made for the first flag with a token. */
  #scope: EvaluationScope | undefined;

  constructor(service: Service, subscriber: Subscriber, held: Held, target: Target) {
    this.#service = service;
    this.#subscriber = subscriber;
    this.#held = held;
    this.#target = target;
  }

  /** The message for a flag, as the last of a change. Undefined if the flag does not exist. */
  updateOf({ hit, evaluation }: Change): UpdatedMessage | undefined {
    if (hit === undefined || evaluation === undefined) return undefined;
    const { layer, found } = hit;
    if (this.#subscriber.input.exposures === true && hasArms(found))
      return messageOf(found, evaluation, this.#target.at, this.#tokenOf(layer, found, evaluation));
    this.#service.tally.count(layer.tenant, found, evaluation.reason);
    this.#service.meter.evaluated(evaluation.reason);
    const { updates, at } = this.#target;
    const known = updates.get(evaluation);
    if (known !== undefined) return known;
    const message = messageOf(found, evaluation, at, undefined);
    // The result of an override belongs to one user.
    if (evaluation.reason !== "override") updates.set(evaluation, message);
    return message;
  }

  #tokenOf(layer: Layer, found: SnapshotFlag, evaluation: Evaluation): string | undefined {
    const parts = { held: this.#held, layers: this.#target.layers, hasTokens: true };
    this.#scope ??= scopeFor(this.#service, this.#subscriber.who.caller, parts);
    countEvaluation(this.#scope, layer, found, evaluation);
    return this.#scope.exposures?.get(found.flag.key);
  }
}

function messageOf(
  { flag }: SnapshotFlag,
  { value, variant, reason }: Evaluation,
  at: LivePosition,
  token: string | undefined,
): UpdatedMessage {
  return {
    key: flag.key,
    value,
    ...(variant !== undefined && { variant }),
    reason: REASONS.indexOf(reason),
    ...(token !== undefined && { token }),
    at,
  };
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
