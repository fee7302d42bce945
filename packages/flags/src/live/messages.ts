/** The messages of live flags, shared by server and client. Plain objects, so that neither end needs a validation library. */
import type { MessageSchema, StandardSchema } from "@halyard/wire";
import type { EvaluationReason } from "../engine/definition.ts";
import type { JsonValue } from "../engine/json.ts";
import type { FlagsBootstrap } from "../model/bootstrap.ts";
import type { ClaimedContext } from "../model/evaluation.ts";

/** The revisions that a client has: of the global flags, and of its organization's flags if there are any. */
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

/** Begins a subscription. Messages before it belong to an earlier one. */
export type SyncMessage = {
  readonly id: number;
  /** Names the session, the context and the organization that the values were evaluated for. */
  readonly tag: string;
  readonly at: LivePosition;
  /** All values. Absent if the client only misses what follows. */
  readonly full?: FlagsBootstrap;
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

/** Many changes at once. */
export type ChangedMessage = {
  readonly updated: readonly UpdatedMessage[];
  readonly deleted: readonly string[];
  readonly at: LivePosition;
};

/** Changes that did not concern this client. */
export type PositionMessage = { readonly at: LivePosition };

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

function schemaOf<Payload>(field: keyof Payload & string, type: string): StandardSchema<Payload> {
  return {
    "~standard": {
      version: 1,
      vendor: "halyard",
      validate: (value) =>
        typeof (value as Record<string, unknown> | null)?.[field] === type
          ? { value: value as Payload }
          : { issues: [{ message: `needs ${field}` }] },
    },
  };
}

function messageOf<Type extends string, Payload>(
  type: Type,
  payload: StandardSchema<Payload>,
): Message<Type, Payload> {
  return { type, payload, meta: undefined, response: undefined };
}

export const Subscribed: MessageSchema<"flags:subscribed", undefined, undefined, undefined> = {
  type: "flags:subscribed",
  payload: undefined,
  meta: undefined,
  response: undefined,
};

export const Subscribe: MessageSchema<
  "flags:subscribe",
  StandardSchema<SubscribeInput>,
  undefined,
  typeof Subscribed
> = { ...messageOf("flags:subscribe", schemaOf<SubscribeInput>("id", "number")), response: Subscribed };

export const Unsubscribe: MessageSchema<"flags:unsubscribe", undefined, undefined, undefined> = {
  type: "flags:unsubscribe",
  payload: undefined,
  meta: undefined,
  response: undefined,
};

export const Sync: Message<"flags:sync", SyncMessage> = messageOf(
  "flags:sync",
  schemaOf<SyncMessage>("tag", "string"),
);
export const Updated: Message<"flag:updated", UpdatedMessage> = messageOf(
  "flag:updated",
  schemaOf<UpdatedMessage>("key", "string"),
);
export const Deleted: Message<"flag:deleted", DeletedMessage> = messageOf(
  "flag:deleted",
  schemaOf<DeletedMessage>("key", "string"),
);
export const Changed: Message<"flags:changed", ChangedMessage> = messageOf(
  "flags:changed",
  schemaOf<ChangedMessage>("updated", "object"),
);
export const Position: Message<"flags:position", PositionMessage> = messageOf(
  "flags:position",
  schemaOf<PositionMessage>("at", "object"),
);
