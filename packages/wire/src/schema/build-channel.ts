/** Builds channels from the arguments of `channel()`, for every validation library. */
import { fieldsToSchema, type Library } from "./build.ts";
import type { AnyChannel, ChannelHistory } from "./channel.ts";
import type { AnyMessageSchema } from "./message.ts";
import { isMessageSchema, notASchema } from "./message-schema.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** The names of the parameters of a pattern. */
export type ParamNames<Pattern extends string> = Pattern extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

interface ChannelConfig {
  readonly params?: unknown;
  readonly events?: unknown;
  readonly presence?: unknown;
  readonly history?: ChannelHistory | undefined;
}

const CONFIG_KEYS: readonly string[] = ["params", "events", "presence", "history"];
/** Without "/" and "*", which separate the parts of a topic. */
const PATTERN = /^(?:[\w:.-]|\{[A-Za-z_]\w*\})+$/;
const MAX_PATTERN_LENGTH = 128;

export function buildChannel(library: Library, pattern: string, config: object): AnyChannel {
  const paramNames = namesIn(pattern);
  const unknown = Object.keys(config ?? {}).find((key) => !CONFIG_KEYS.includes(key));
  if (unknown !== undefined)
    throw new TypeError(
      `The channel "${pattern}" has the unknown option "${unknown}". The options are ${CONFIG_KEYS.join(", ")}.`,
    );
  const { params, events, presence, history } = config as ChannelConfig;
  if (!Array.isArray(events) || !events.every(isMessageSchema))
    throw new TypeError(
      `The events of channel "${pattern}" are not a list of message schemas. Pass events: [ … ] with what message() returned.`,
    );
  return {
    pattern,
    paramNames,
    params: paramsToSchema(library, pattern, paramNames, params),
    events,
    liveTypes: new Set(events.filter(isLive).map(({ type }) => type)),
    presence: fieldsToSchema(library, presence, `The presence of channel "${pattern}"`),
    history: history && checkHistory(pattern, history),
  };
}

/**
 * In the events of a channel: a message that is delivered to members and never kept, such as a cursor. Publish it, and
 * listen to it, with the message itself.
 *
 * @example
 * ```ts
 * import { channel, live, message, z } from "@halyard/wire/zod";
 *
 * const CardMoved = message("CARD_MOVED", { card: z.string(), column: z.string() });
 * const Cursor = message("CURSOR", { x: z.number(), y: z.number() });
 * const history = { size: 200, ttlMs: 600_000 };
 * const Board = channel("board:{id}", { params: { id: z.string() }, events: [CardMoved, live(Cursor)], history });
 * ```
 */
export function live<S extends AnyMessageSchema>(event: S): S {
  if (!isMessageSchema(event)) throw new TypeError(notASchema("live()", event));
  return { ...event, isLive: true };
}

function isLive(event: AnyMessageSchema): boolean {
  return "isLive" in event;
}

function namesIn(pattern: string): readonly string[] {
  if (typeof pattern !== "string" || !PATTERN.test(pattern) || pattern.length > MAX_PATTERN_LENGTH)
    throw new TypeError(
      `The channel name ${JSON.stringify(pattern)} is not valid. Use up to ${MAX_PATTERN_LENGTH} letters, digits and ": . _ -", with parameters in braces, such as "room:{id}".`,
    );
  const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  if (repeated === undefined) return names;
  throw new TypeError(
    `The channel "${pattern}" has the parameter "${repeated}" twice. Give each its own name.`,
  );
}

function paramsToSchema(
  library: Library,
  pattern: string,
  names: readonly string[],
  params: unknown,
): StandardSchema | undefined {
  const schema = fieldsToSchema(library, params, `The params of channel "${pattern}"`);
  const declared = schema === undefined ? [] : library.keysOf(params);
  // A schema of an unknown library declares no keys that can be compared.
  const isDifferent =
    schema === undefined
      ? names.length > 0
      : declared.length > 0 && [...declared].sort().join() !== [...names].sort().join();
  if (isDifferent)
    throw new TypeError(
      `The params of channel "${pattern}" are [${declared.join(", ")}], but its name has [${names.join(", ")}]. Declare a schema for each parameter in the name, and for no other.`,
    );
  return schema;
}

function checkHistory(pattern: string, { size, ttlMs }: ChannelHistory): ChannelHistory {
  if (Number.isSafeInteger(size) && size > 0 && Number.isFinite(ttlMs) && ttlMs > 0) return { size, ttlMs };
  throw new TypeError(
    `The history of channel "${pattern}" is not valid. Set size to a whole number above 0, and ttlMs to a number above 0.`,
  );
}
