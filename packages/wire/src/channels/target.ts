/** Publishing on a channel: `router.to(Room, params)` and `ctx.to(Room, params)`. */
import { WsError } from "../protocol/error.ts";
import type { AppendFailure, AppendResult } from "../pubsub/history.ts";
import { requireHistory } from "../pubsub/history-rules.ts";
import type { PublishFailure, PublishResult } from "../pubsub/pubsub.ts";
import { encodeAndSend } from "../router/topics/publication.ts";
import type { Publisher } from "../router/topics/publisher.ts";
import type { AnyChannel, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import type { AnyMessageSchema } from "../schema/message.ts";
import type { ChannelPublishOptions, ChannelTarget } from "./channel-target.ts";

/** Publishes for the connection with this id; undefined: for none. */
export function createTarget(
  publisher: Publisher,
  channel: AnyChannel,
  topic: string,
  clientId: string | undefined,
  readMembers: (page: MemberPageOptions) => Promise<MemberPage>,
): ChannelTarget<AnyChannel> {
  const memberPage = async (page: MemberPageOptions = {}): Promise<MemberPage<never>> => {
    if (channel.presence === undefined)
      throw new WsError(
        "FAILED_PRECONDITION",
        `The channel "${channel.pattern}" has no members to read. Declare presence: { … } in channel().`,
      );
    return (await readMembers(page)) as MemberPage<never>;
  };
  return {
    memberPage,
    members: async () => (await memberPage()).members,
    async publish(event, payload?: unknown, options: ChannelPublishOptions = {}) {
      // By type: a bundler may have made two copies of a declaration. The channel's own schema is used.
      const schema = channel.events.find(
        ({ type }) => type === (event as AnyMessageSchema | undefined)?.type,
      );
      if (schema === undefined) return undeclared(publisher, channel, event);
      const { meta, excludeSelf, partitionKey, id } = options;
      const { pattern } = channel;
      const history = channel.liveTypes.has(schema.type) ? undefined : channel.history;
      if (history === undefined && id !== undefined) return unsupportedId(pattern, schema);
      const excludeClientId = excludeSelf ? clientId : undefined;
      return encodeAndSend(publisher, schema, payload, meta, { $t: topic }, async (frame) =>
        history === undefined
          ? publisher.pubsub.publish(topic, frame, { excludeClientId, partitionKey })
          : resultOf(
              await requireHistory(publisher.pubsub, `The channel "${pattern}"`).append(topic, frame, {
                ...history,
                id,
                excludeClientId,
              }),
            ),
      );
    },
  };
}

function resultOf(result: AppendResult): PublishResult {
  if (!result.ok) {
    const { error, retryable, details } = result;
    return { ok: false, error: failureOf(error), retryable, ...(details && { details }) };
  }
  return { ok: true, ...(result.matchedLocal !== undefined && { matchedLocal: result.matchedLocal }) };
}

function failureOf(error: AppendFailure): PublishFailure {
  if (error === "FULL") return "BACKPRESSURE";
  return error === "ENDED" || error === "EPOCH" ? "VALIDATION" : error;
}

function unsupportedId(pattern: string, { type }: AnyMessageSchema): PublishResult {
  const reason = `The channel "${pattern}" does not keep ${type} in a history, so a repeated id cannot be recognized. Declare history, or leave the id out.`;
  return { ok: false, error: "UNSUPPORTED", retryable: false, details: { option: "id", reason } };
}

function undeclared(
  publisher: Publisher,
  { pattern, events }: AnyChannel,
  event: AnyMessageSchema | undefined,
): PublishResult {
  const message = `The channel "${pattern}" does not declare the event ${JSON.stringify(event?.type)}. Publish one of ${events.map(({ type }) => type).join(", ")}, or add it to the channel's events.`;
  publisher.invalid(new WsError("INTERNAL", message), event?.type);
  return { ok: false, error: "VALIDATION", retryable: false, details: { message } };
}
