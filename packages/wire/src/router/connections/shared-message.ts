/** Messages of live flags to many connections that are not a topic: each is validated and encoded once. */
import { encodeShort } from "../../protocol/encode-short.ts";
import type { AnyMessageSchema } from "../../schema/message.ts";
import { checkOutbound } from "../../schema/validate.ts";
import type { SendOptions } from "../context.ts";
import type { Server } from "../contracts.ts";
import type { SharedFrame } from "./peer.ts";

/**
 * An option of `send` for `@halyard/flags`: later sends of the same payload object use the frame of the first one, with its
 * timestamp. The payload must not change after the first send. No effect with `meta` or a correlation id.
 */
export const SHARED: unique symbol = Symbol.for("@halyard/wire: shared");

export function isShared(options: SendOptions & { readonly [SHARED]?: boolean }): boolean {
  return options[SHARED] === true && options.meta === undefined;
}

interface SharedMessage {
  readonly server: Server;
  readonly schema: AnyMessageSchema;
  readonly frame: SharedFrame;
}

/** By payload. */
const messages = new WeakMap<object, SharedMessage>();

/** The frame of the message; the same one for every connection of the server. */
export function sharedFrame(server: Server, schema: AnyMessageSchema, payload: object): SharedFrame {
  const known = messages.get(payload);
  if (known?.server === server && known.schema === schema) return known.frame;
  checkOutbound(server.options.validator, schema, payload, undefined, "INTERNAL");
  const text = encodeShort(schema.type, server.clock.wall(), undefined, payload);
  const frame: SharedFrame = { topic: "", text, encoded: undefined };
  messages.set(payload, { server, schema, frame });
  return frame;
}
