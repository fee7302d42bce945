/** The messages of live flags, shared by server and client. Plain objects, so that neither end needs a validation library. */
import type { MessageSchema, StandardSchema } from "@halyard/wire";
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { FlagsBootstrap } from "../model/bootstrap.ts";
import type { ClaimedContext } from "../model/evaluation.ts";

/**
 * What a client has: a mark of the history, the revision of the global flags, and that of its organization's flags if
 * there are any. After a backup was restored, other changes get the same revisions, and another mark.
 */
export type LivePosition = readonly number[];

/** A client's subscription. */
export type SubscribeInput = {
  /** Chosen by the client; the next `flags:sync` has it. */
  readonly id: number;
  readonly context?: ClaimedContext;
  readonly environment?: string;
  readonly exposures?: boolean;
  /** What the client has, to get only what changed since. */
  readonly tag?: string;
  readonly at?: LivePosition;
};

/** The value of one flag. */
export type UpdatedMessage = {
  readonly key: string;
  readonly value: JsonValue;
  readonly variant?: string;
  /** The index in `REASONS`. */
  readonly reason: number;
  /** With which the client reports the exposure. */
  readonly token?: string;
  /** On the last message of a change: the client now has these revisions. */
  readonly at?: LivePosition;
};

export type DeletedMessage = { readonly key: string; readonly at?: LivePosition };

/** Begins a subscription, or brings many changes at once. */
export type SyncMessage = {
  /** The subscription that begins. Messages before it belong to an earlier one. */
  readonly id?: number;
  /** Names the session, the context and the organization that the values are evaluated for. Present with `id`. */
  readonly tag?: string;
  readonly at: LivePosition;
  /** All values. Without them, a client that begins has what it sent the position of. */
  readonly full?: FlagsBootstrap;
  readonly updated?: readonly UpdatedMessage[];
  readonly deleted?: readonly string[];
};

/** One digit instead of a text, because it is in every pushed message. Only append: both ends use the index. */
export const REASONS: readonly EvaluationReason[] = [
  "default",
  "rule_match",
  "override",
  "percentage_rollout",
  "disabled",
];

type Message<Type extends string, Payload> = MessageSchema<
  Type,
  StandardSchema<Payload>,
  undefined,
  undefined
>;
type Empty<Type extends string> = MessageSchema<Type, undefined, undefined, undefined>;

/** Both ends read single fields with care, so any object will do here. */
export const anyObject: StandardSchema<never, never> = {
  "~standard": {
    version: 1,
    vendor: "halyard",
    validate: (value) =>
      typeof value === "object" && value ? { value: value as never } : { issues: [{ message: "no object" }] },
  },
};

export function messageOf(type: string, payload?: object, response?: object): object {
  return { type, payload, response };
}

export const Subscribed = messageOf("flags:subscribed") as Empty<"flags:subscribed">;
export const Subscribe = messageOf("flags:subscribe", anyObject, Subscribed) as MessageSchema<
  "flags:subscribe",
  StandardSchema<SubscribeInput>,
  undefined,
  typeof Subscribed
>;
export const Unsubscribe = messageOf("flags:unsubscribe") as Empty<"flags:unsubscribe">;
export const Sync = messageOf("flags:sync", anyObject) as Message<"flags:sync", SyncMessage>;
export const Updated = messageOf("flag:updated", anyObject) as Message<"flag:updated", UpdatedMessage>;
export const Deleted = messageOf("flag:deleted", anyObject) as Message<"flag:deleted", DeletedMessage>;
