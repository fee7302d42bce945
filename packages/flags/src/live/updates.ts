/** The messages that bring a client from the values it has to those of newer snapshots. */

import type { Caller } from "@halyard/sessions/plugin";
import type { Evaluation } from "../engine/definition.ts";
import { hasArms } from "../server/evaluation/assignment.ts";
import type { FlagHit, FlagsReading } from "../server/evaluation/flags.ts";
import type { FlagLayer, Layers } from "../server/evaluation/layer.ts";
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
import { type Candidate, type Step, stepBetween, type Target, targetOf } from "./step.ts";
import type { Held, Subscriber } from "./subscriber.ts";

/** More changes than this go out in one message. */
const MAX_SINGLE = 8;
/** Revisions that did not concern a client, after which it is told its position, so that it can resume. */
const MAX_UNTOLD = 500;

/** A flag that changed for a session. Without a result, it no longer exists. */
interface Change {
  readonly key: string;
  readonly hit: FlagHit<FlagLayer> | undefined;
  readonly evaluation: Evaluation | undefined;
}

/** Sends what differs between what the client has and the new snapshots, and remembers that the client has it. */
export function sendUpdates(
  service: Service,
  subscriber: Subscriber,
  target: Snapshots,
  nowMs: number,
): void {
  const { held } = subscriber;
  if (held === undefined) return;
  const { context, tenant } = held;
  const step = stepBetween(tenant, held.snapshots, target);
  const isSimple = step.keepsOverrides && subscriber.nextExpiryMs > nowMs;
  const candidates = isSimple ? step.candidates : candidatesFor(step, held, target, nowMs);
  const changes: Change[] = [];
  for (const { key, before, after } of candidates) {
    const evaluation = after && evaluate(after, context, nowMs);
    if (isSameResult(before && evaluate(before, context, held.nowMs), evaluation)) continue;
    changes.push({ key, hit: after, evaluation });
  }
  // Changed in place: a change may concern every session of the process.
  held.snapshots = target;
  held.nowMs = nowMs;
  if (!isSimple) remember(subscriber, held);
  sendChanges(service, subscriber, changes, step.target);
}

/** Also flags whose override for the user differs, or has expired since the client got its values. */
function candidatesFor(step: Step, held: Held, target: Snapshots, nowMs: number): readonly Candidate[] {
  const { userId } = held.context;
  const range = { afterMs: held.nowMs, upToMs: nowMs };
  const expired = [...expiredIn(held.snapshots, userId, range), ...expiredIn(target, userId, range)];
  return step.candidatesFor(userId, expired);
}

/** Sends the current values of these flags, for a client that has older ones. */
export function sendCurrent(
  service: Service,
  subscriber: Subscriber,
  held: Held,
  keys: Iterable<string>,
): void {
  const target = targetOf(held.tenant, held.snapshots);
  const changes = Array.from(new Set(keys), (key): Change => {
    const hit = hitIn(target.layers, key);
    return { key, hit, evaluation: hit && evaluate(hit, held.context, held.nowMs) };
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
  if (changes.length > MAX_SINGLE) {
    const updated = changes.flatMap((change) => updateOf(service, subscriber, target, change) ?? []);
    const deleted = changes.flatMap(({ key, evaluation }) => (evaluation === undefined ? [key] : []));
    sender.send(Sync, { updated: updated.map(withoutPosition), deleted, at });
  } else {
    let left = changes.length;
    for (const change of changes) {
      left -= 1;
      const { key, evaluation } = change;
      const update = updateOf(service, subscriber, target, change);
      if (left > 0) {
        if (update === undefined) sender.send(Deleted, { key });
        else sender.send(Updated, withoutPosition(update));
      } else if (update === undefined) sender.send(Deleted, deletionOf(target, key), SHARED);
      else sender.send(Updated, update, isShared(evaluation, update) ? SHARED : undefined);
    }
  }
  told(subscriber);
}

/** An option that wire keeps for this package: other connections get the same object, which is encoded once. */
const SHARED: object = { [Symbol.for("@halyard/wire: shared")]: true };

/** Whether other sessions get the same message. The result of an override belongs to one user. */
function isShared(evaluation: Evaluation | undefined, { token }: UpdatedMessage): boolean {
  return token === undefined && evaluation?.reason !== "override";
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

/** The message for a flag, as the last of a change, and its count. Undefined if the flag does not exist. */
function updateOf(
  service: Service,
  subscriber: Subscriber,
  target: Target,
  { hit, evaluation }: Change,
): UpdatedMessage | undefined {
  if (hit === undefined || evaluation === undefined) return undefined;
  const { layer, found } = hit;
  const { updates, at } = target;
  // Clients that report exposures get a token each.
  if (subscriber.input.exposures === true && hasArms(found) && subscriber.held !== undefined) {
    const { held, who } = subscriber;
    const scope = scopeFor(service, who.caller, { held, layers: target.layers, hasTokens: true });
    const shown = { ...layer, context: held.context, subject: scope.subject };
    countEvaluation(scope, shown, found, evaluation);
    return messageOf(found, evaluation, at, scope.exposures?.get(found.flag.key));
  }
  service.tally.count(layer.tenant, found, evaluation.reason);
  service.meter.evaluated(evaluation.reason);
  const known = updates.get(evaluation);
  if (known !== undefined) return known;
  const message = messageOf(found, evaluation, at, undefined);
  if (isShared(evaluation, message)) updates.set(evaluation, message);
  return message;
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
    held: { resolved, context, snapshots },
    layers: [first, global],
    hasTokens,
  }: {
    readonly held: Pick<Held, "resolved" | "context" | "snapshots">;
    readonly layers: Layers<FlagLayer>;
    readonly hasTokens: boolean;
  },
): EvaluationScope {
  const whose = { context, subject: resolved.layers[0].subject };
  const reading: FlagsReading = {
    layers: [{ ...first, ...whose }, global && { ...global, ...whose }],
    revision: sumOf(snapshots),
    stale: false,
  };
  return scopeOf(service, caller, { resolved, reading, hasTokens });
}
