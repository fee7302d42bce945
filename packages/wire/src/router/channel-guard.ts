/** The guard of `router.route(schema).in(channel, …)`: only members of the channel reach the handler. */
import { isAttach } from "../protocol/call-terms.ts";
import type { AnyChannel } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import { StreamCall } from "./calls/stream-call.ts";
import type { Middleware } from "./context.ts";
import type { InboundEvent } from "./inbound-event.ts";
import type { MiddlewareScope } from "./middleware.ts";

/** `paramsOf` gets the validated payload. */
export function requireMember(
  schema: AnyMessageSchema,
  channel: AnyChannel,
  paramsOf: (payload: never) => unknown,
): Middleware {
  if (!Array.isArray(channel?.events) || typeof paramsOf !== "function")
    throw new TypeError(
      `router.route(${schema.type}).in() needs a channel and a function that returns its parameters, such as ({ board }) => ({ id: board }).`,
    );
  return (ctx, next) => {
    const { message } = ctx as MiddlewareScope;
    if (isRead(schema, message) || message.joined(channel, paramsOf(message.payload as never))) return next();
    return ctx.error(
      "PERMISSION_DENIED",
      `Only members of the channel "${channel.pattern}" may send ${schema.type}, and this connection has not joined it with these parameters. Join it with joinChannel() first.`,
    );
  };
}

/** A request that reads a durable call has no payload. The `owner` of the call decides who may read it. */
function isRead({ durable }: AnyMessageSchema, message: InboundEvent): boolean {
  return durable !== undefined && message instanceof StreamCall && isAttach(message.terms?.key);
}
