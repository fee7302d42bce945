/** Presence of the channels of one running server: what a connection shows of itself, and when it joins and leaves a list. */
import { isObject } from "../protocol/checks.ts";
import { CONTROL, type MembersPage } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyData } from "../router/connections/peer.ts";
import type { OpenContext } from "../router/context.ts";
import type { Connection, ControlCall, Server } from "../router/contracts.ts";
import { contextOf } from "../router/inbound-event.ts";
import { DONE, ignoreRejection } from "../router/pending.ts";
import type { ServerOptions } from "../router/server/server-options.ts";
import type { Membership } from "../router/topics/membership.ts";
import type { AnyChannel, AnyMember, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import { describeIssues } from "../schema/validate.ts";
import type { PresenceOptions } from "./presence/room.ts";
import { ServerPresence } from "./presence/server-presence.ts";
import { type ChannelRegistry, type Place, presenceOptionsOf, type RegisteredChannel } from "./registry.ts";
import type { Params } from "./topic.ts";

export class ChannelPresence {
  readonly #server: Server;
  readonly #registry: ChannelRegistry;
  readonly #adapter: ServerOptions;
  #presence: ServerPresence | undefined;
  /** Connections whose data has changed in this tick. */
  readonly #outdated = new Set<Connection>();

  constructor(server: Server, registry: ChannelRegistry, adapter: ServerOptions) {
    this.#server = server;
    this.#registry = registry;
    this.#adapter = adapter;
    const hasPresence = [...registry.values()].some(({ channel }) => channel.presence !== undefined);
    // Announced now, so that the other processes are known before the first join.
    if (hasPresence) this.#started.start();
  }

  /** Created when it is needed: an application without presence has no messages and timers for it. */
  get #started(): ServerPresence {
    if (this.#presence !== undefined) return this.#presence;
    const { isolated = false, absentMembers } = this.#adapter;
    const { pubsub, options } = this.#server;
    this.#presence = new ServerPresence(this.#server, isolated ? undefined : pubsub, {
      maxFrameBytes: options.maxOutboundFrameBytes,
      absentMembers,
    });
    return this.#presence;
  }

  /** What the connection shows of itself; undefined without presence. Throws `UNAVAILABLE` when `presence` fails. */
  #memberOf(
    ctx: OpenContext<AnyData>,
    { channel, handlers }: RegisteredChannel,
    params: Params,
  ): AnyMember | undefined {
    if (channel.presence === undefined || handlers.presence === undefined) return undefined;
    try {
      const shown: unknown = handlers.presence(ctx, params as never);
      const { key = ctx.clientId, ...fields } = isObject(shown) ? shown : {};
      const member = { ...this.#check(channel, fields), key: key as string };
      this.#started.check(member);
      return member;
    } catch (cause) {
      const message = `The presence of channel "${channel.pattern}" failed. Retry later.`;
      throw new WsError("UNAVAILABLE", message, undefined, { cause });
    }
  }

  #check({ pattern, presence }: AnyChannel, fields: object): object {
    if (presence === undefined) return fields;
    const result = this.#server.options.validator(presence, fields);
    if ("then" in result) {
      ignoreRejection(result);
      throw new TypeError(
        `The schema of the presence of channel "${pattern}" is asynchronous, or a check in it throws.`,
      );
    }
    if (result.issues === undefined) return result.value as object;
    throw new WsError(
      "INTERNAL",
      `What presence returned for channel "${pattern}" does not match its schema.`,
      { issues: describeIssues(result.issues) },
    );
  }

  /** Before a join: what the connection shows of itself. Waits until the list is known here, up to 500 ms. */
  async prepare(connection: Connection, place: Place): Promise<AnyMember | undefined> {
    const { registered, params, topic } = place;
    const member = this.#memberOf(contextOf(connection), registered, params);
    if (member !== undefined) await this.#started.prepare(topic, presenceOptionsOf(registered.handlers));
    return member;
  }

  /** The membership has begun, or shows something else. */
  enter(connection: Connection, { topic, pattern, member }: Membership): void {
    if (member !== undefined) this.#started.join(topic, connection, member, this.#optionsOf(pattern));
  }

  /** The list as `$ws:joined` tells it. From now on the connection is sent the changes. */
  view(connection: Connection, { topic, member }: Membership): object {
    return member === undefined ? {} : this.#started.view(topic, connection);
  }

  /** The membership has ended. A member whose connection is lost stays in the list for the grace time. */
  exit(connection: Connection, { topic, member }: Membership): void {
    if (member === undefined) return;
    if (connection.isOpen) this.#started.leave(topic, connection);
    else this.#started.lost(topic, connection);
  }

  /** Assignments of one tick are shown together. */
  dataChanged(connection: Connection): void {
    const { memberships, authorization } = connection;
    if (memberships === undefined || this.#outdated.has(connection)) return;
    this.#outdated.add(connection);
    void DONE.then(() => {
      // After a new authorization, the memberships that remain are shown again.
      if (connection.authorization === authorization && connection.isOpen)
        for (const membership of memberships.values()) this.showAgain(connection, membership);
      // Last: a `presence` that assigns data itself would run again without end.
      this.#outdated.delete(connection);
    });
  }

  /** The connection's data has changed, and with it perhaps what it shows of itself. */
  showAgain(connection: Connection, membership: Membership): void {
    const registered = this.#registry.get(membership.pattern);
    if (membership.member === undefined || registered === undefined) return;
    const ctx = contextOf(connection);
    try {
      membership.member = this.#memberOf(ctx, registered, membership.params);
      this.enter(connection, membership);
      connection.socket.changed?.("channels");
    } catch (error) {
      this.#server.report(error, ctx);
    }
  }

  /** The membership was restored: it is no change for others. */
  restore(connection: Connection, { topic, pattern, member }: Membership): void {
    if (member !== undefined) this.#started.restore(topic, connection, member, this.#optionsOf(pattern));
  }

  /** Answers the request of a member for a page. */
  answer(call: ControlCall, { topic, registered }: Place): void {
    if (call.ws.memberships?.get(topic)?.member === undefined)
      throw new WsError(
        "FAILED_PRECONDITION",
        `This connection has not joined the channel "${registered.channel.pattern}", or the channel has no presence.`,
      );
    const { after, limit } = isObject(call.payload) ? call.payload : {};
    const page = this.#started.page(topic, {
      ...(typeof after === "string" && { after }),
      ...(typeof limit === "number" && { limit }),
    });
    call.answer(CONTROL.members, { topic, ...page } satisfies MembersPage);
  }

  /** A page for the application; it waits up to 500 ms for the other processes. */
  read({ pattern }: AnyChannel, topic: string, page: MemberPageOptions): Promise<MemberPage> {
    return this.#started.read(topic, this.#optionsOf(pattern), page);
  }

  async stop(): Promise<void> {
    await this.#presence?.stop();
  }

  #optionsOf(pattern: string): PresenceOptions {
    return presenceOptionsOf(this.#registry.get(pattern)?.handlers);
  }
}
