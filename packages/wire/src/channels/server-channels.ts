/** The channels of one running server: joins, memberships, and their end. */
import { isObject } from "../protocol/checks.ts";
import { CONTROL, type Gap, type Joined, type Left, type Position } from "../protocol/control.ts";
import { WsError } from "../protocol/error.ts";
import type { AnyData } from "../router/connections/peer.ts";
import type { OpenContext } from "../router/context.ts";
import type { Channels, Connection, ControlCall, ControlRoute, Server } from "../router/contracts.ts";
import { contextOf } from "../router/inbound-event.ts";
import { attempt, pendingOf } from "../router/pending.ts";
import type { ServerOptions } from "../router/server/server-options.ts";
import type { Membership } from "../router/topics/membership.ts";
import { inTime, RECHECK_TIMEOUT_MS } from "../router/topics/time-limit.ts";
import type { AnyChannel, MemberPage, MemberPageOptions } from "../schema/channel.ts";
import type { RpcSchema } from "../schema/message.ts";
import { Timeout } from "../time/timers.ts";
import { ChannelPresence } from "./channel-presence.ts";
import type { ChannelTarget } from "./channel-target.ts";
import type { ChannelVerdict } from "./handlers.ts";
import { Histories } from "./histories.ts";
import type { JoinStart } from "./history-topic.ts";
import {
  assertContinues,
  checkLimit,
  denied,
  Joins,
  type PendingJoin,
  readStart,
  untilOf,
} from "./join-request.ts";
import type { ChannelRegistry, Place } from "./registry.ts";
import { createTarget } from "./target.ts";
import { checkParams, type Params, topicOf } from "./topic.ts";

export class ServerChannels implements Channels {
  readonly #server: Server;
  readonly #registry: ChannelRegistry;
  readonly #presence: ChannelPresence;
  readonly #joins = new WeakMap<Connection, Joins>();
  /** Of memberships whose authorization ends at a time. */
  readonly #untils = new WeakMap<Membership, Timeout>();
  readonly #routes: ReadonlyMap<string, ControlRoute>;
  readonly #histories: Histories;

  constructor(server: Server, registry: ChannelRegistry, adapter: ServerOptions) {
    this.#server = server;
    this.#registry = registry;
    this.#histories = new Histories(server);
    this.#presence = new ChannelPresence(server, registry, adapter);
    const answer = (call: ControlCall): void => this.#presence.answer(call, this.#find(call.payload));
    const routes = [
      route(CONTROL.join, CONTROL.joined, (call) => this.#join(call)),
      route(CONTROL.leave, CONTROL.left, (call) => this.#leave(call)),
      route(CONTROL.members, CONTROL.members, answer, true),
    ];
    this.#routes = new Map(routes.map((each) => [each.schema.type, each]));
  }

  routeOf(type: string): ControlRoute | undefined {
    return this.#routes.get(type);
  }

  isMember(connection: Connection, channel: AnyChannel, params: unknown): boolean {
    try {
      const topic = topicOf(channel, checkParams(channel, params, this.#server.options.validator));
      if (connection.memberships?.has(topic)) return true;
      this.#registry.warnMissing(channel);
      return false;
    } catch (error) {
      if (WsError.isWsError(error)) return false;
      throw error;
    }
  }

  target(channel: AnyChannel, params: unknown, from?: Connection): ChannelTarget<AnyChannel> {
    const topic = topicOf(channel, checkParams(channel, params, this.#server.options.validator));
    return createTarget(this.#server.publisher(from), channel, topic, from?.clientId, (page) =>
      this.#presence.read(channel, topic, page),
    );
  }

  readMembers(channel: AnyChannel, topic: string, page: MemberPageOptions): Promise<MemberPage> {
    return this.#presence.read(channel, topic, page);
  }

  stop(): Promise<void> {
    return this.#presence.stop();
  }

  // --- joining ---

  async #join(call: ControlCall): Promise<void> {
    const connection = call.ws;
    const place = this.#find(call.payload);
    const { topic, registered } = place;
    const { history } = registered.channel;
    const start = history && readStart(call.payload, history);
    const joins = this.#joins.get(connection) ?? new Joins();
    this.#joins.set(connection, joins);
    checkLimit(connection, joins.pending, topic);
    if (joins.rate.refuses(call, topic, joins.isRepeat(connection, topic))) return;
    const join = joins.start(connection, topic);
    try {
      await this.#authorize(call, place, join);
      join.member = await this.#presence.prepare(connection, place);
      if (start === undefined) await this.#enter(call, place, join);
      else await this.#enterHistory(call, place, join, start);
    } catch (error) {
      // A connection that is gone has no use for the answer.
      if (connection.isOpen) throw error;
    } finally {
      joins.pending.delete(join);
    }
  }

  /** Throws when the connection may not join. */
  async #authorize(call: ControlCall, place: Place, join: PendingJoin): Promise<void> {
    const connection = call.ws;
    for (;;) {
      join.authorization = connection.authorization;
      const verdict = await this.#ask(connection, place, this.#server.handshakeTimeoutMs);
      // The connection's data has changed since: the verdict may rest on the old data.
      if (connection.authorization !== join.authorization) continue;
      if (!this.#isAllowed(verdict)) throw denied(place);
      assertContinues(call, place, join);
      join.until = untilOf(verdict);
      return;
    }
  }

  /** Throws `UNAVAILABLE` when `authorize` throws or takes too long. */
  async #ask(
    connection: Connection,
    { registered, params }: Place,
    limitMs: number,
  ): Promise<ChannelVerdict> {
    const { channel, handlers } = registered;
    try {
      const verdict = handlers.authorize(contextOf(connection), params as never);
      const pending = pendingOf(verdict) as Promise<ChannelVerdict> | undefined;
      if (pending === undefined) return verdict as ChannelVerdict;
      const overdue = `authorize of channel "${channel.pattern}" did not settle within ${limitMs} ms. Give the calls it makes a shorter timeout.`;
      return await inTime(pending, this.#server.timers, limitMs, overdue);
    } catch (cause) {
      const message = `The authorization for channel "${channel.pattern}" failed. Retry later.`;
      throw new WsError("UNAVAILABLE", message, undefined, { cause });
    }
  }

  #isAllowed(verdict: ChannelVerdict): boolean {
    if (typeof verdict !== "object") return verdict === true;
    return verdict !== null && verdict.until > this.#server.clock.wall();
  }

  /** Makes the connection a member once the pub/sub has confirmed the topic. */
  async #enter(call: ControlCall, place: Place, join: PendingJoin): Promise<void> {
    const connection = call.ws;
    const { topic } = place;
    try {
      await this.#server.subscribe(connection, topic);
      assertContinues(call, place, join);
      this.#admit(call, place, join, undefined);
    } catch (error) {
      if (!connection.memberships?.has(topic)) void this.#server.unsubscribe(connection, topic);
      throw error;
    }
  }

  /** Makes the connection a member with the history that follows its position. */
  async #enterHistory(call: ControlCall, place: Place, join: PendingJoin, start: JoinStart): Promise<void> {
    const connection = call.ws;
    const { topic, registered } = place;
    const history = this.#histories.open(topic, registered.channel);
    try {
      await history.join(connection, start, (position, reason) => {
        assertContinues(call, place, join);
        // A live member that joins again gets the history first.
        if (connection.memberships?.get(topic)?.isLive) void this.#server.unsubscribe(connection, topic);
        else if (!connection.memberships?.has(topic)) this.#histories.open(topic, registered.channel);
        if (reason === undefined) return this.#admit(call, place, join, position);
        // The gap moves the client, not joined: a client that is cut off between the two must not skip the gap.
        const membership = this.#admit(call, place, join, start.position ?? position);
        connection.send(CONTROL.gap, { topic, reason, position } satisfies Gap);
        return membership;
      });
    } catch (error) {
      throw WsError.wrap(error, "UNAVAILABLE", "The history of the channel cannot be read. Retry later.");
    } finally {
      this.#histories.close(topic);
    }
  }

  /** The connection is a member from now on, and the peer is told. */
  #admit(
    call: ControlCall,
    { topic, params, registered }: Place,
    { startedAt, until, authorization, member, hasNewData }: PendingJoin,
    position: Position | undefined,
  ): Membership {
    const connection = call.ws;
    const hasHistory = position !== undefined;
    const membership: Membership = {
      topic,
      pattern: registered.channel.pattern,
      params,
      authorizedAt: startedAt,
      until,
      hasHistory,
      isLive: !hasHistory,
      position: undefined,
      member,
    };
    const previous = connection.memberships?.get(topic);
    this.#stopUntil(previous);
    connection.memberships ??= new Map();
    connection.memberships.set(topic, membership);
    this.#watchUntil(connection, membership);
    // The data has changed while the pub/sub was asked.
    if (connection.authorization !== authorization) void this.#recheck(connection, membership);
    connection.socket.changed?.("channels");
    this.#presence.enter(connection, membership);
    if (hasNewData) this.#presence.showAgain(connection, membership);
    const members = this.#presence.view(connection, membership);
    call.answer(CONTROL.joined, { topic, ...(position && { position }), ...members } satisfies Joined);
    if (previous === undefined) this.#run(connection, registered.handlers.onJoin, params);
    return membership;
  }

  #find(payload: unknown): Place {
    const { channel: pattern, params: given } = isObject(payload) ? payload : {};
    if (typeof pattern !== "string")
      throw new WsError(
        "INVALID_ARGUMENT",
        'The payload has no string "channel". Send the name of the channel.',
      );
    const registered = this.#registry.get(pattern);
    if (registered === undefined)
      throw new WsError(
        "NOT_FOUND",
        `No channel ${JSON.stringify(pattern.slice(0, 128))} is registered. Register it with router.channel().`,
      );
    const params = checkParams(registered.channel, given, this.#server.options.validator);
    return { registered, params, topic: topicOf(registered.channel, params) };
  }

  // --- leaving ---

  #leave(call: ControlCall): void {
    const { topic } = this.#find(call.payload);
    const membership = call.ws.memberships?.get(topic);
    const joins = this.#joins.get(call.ws);
    for (const join of joins?.pending ?? []) if (join.topic === topic) join.end = "left";
    joins?.rate.release((turn) => turn.topic === topic);
    if (membership !== undefined) this.#end(call.ws, membership, undefined);
    call.answer(CONTROL.left, { topic } satisfies Left);
  }

  withdraw(matches: (connection: Connection) => boolean, topic: string, ageMs: number): number {
    const before = ageMs === 0 ? Number.POSITIVE_INFINITY : this.#server.clock.now() - ageMs;
    let ended = 0;
    for (const connection of this.#server.connections) {
      const joins = [...(this.#joins.get(connection)?.pending ?? [])].filter((join) => join.topic === topic);
      const membership = connection.memberships?.get(topic);
      if ((joins.length === 0 && membership === undefined) || !matches(connection)) continue;
      for (const join of joins) if (join.startedAt < before) join.end = "withdrawn";
      if (membership === undefined || membership.authorizedAt >= before) continue;
      this.#end(connection, membership, "PERMISSION_DENIED");
      ended++;
    }
    return ended;
  }

  /** With a code, the server decided it, and the peer is told. */
  #end(connection: Connection, membership: Membership, code: string | undefined): void {
    const { topic, pattern, params, hasHistory } = membership;
    if (connection.memberships?.get(topic) !== membership) return;
    connection.memberships.delete(topic);
    this.#stopUntil(membership);
    connection.socket.changed?.("channels");
    void this.#server.unsubscribe(connection, topic);
    if (hasHistory) this.#histories.close(topic);
    this.#presence.exit(connection, membership);
    if (code !== undefined && connection.isOpen)
      connection.send(CONTROL.left, { topic, code } satisfies Left);
    this.#run(connection, this.#registry.get(pattern)?.handlers.onLeave, params);
  }

  closed(connection: Connection): void {
    for (const membership of [...(connection.memberships?.values() ?? [])])
      this.#end(connection, membership, undefined);
  }

  // --- later authorizations ---

  recheck(connection: Connection): void {
    for (const membership of [...(connection.memberships?.values() ?? [])])
      void this.#recheck(connection, membership);
  }

  dataChanged(connection: Connection): void {
    for (const join of this.#joins.get(connection)?.pending ?? []) join.hasNewData = true;
    this.#presence.dataChanged(connection);
  }

  async #recheck(connection: Connection, membership: Membership): Promise<void> {
    const { pattern, params, topic } = membership;
    const { authorization } = connection;
    const registered = this.#registry.get(pattern);
    let code = "PERMISSION_DENIED";
    let verdict: ChannelVerdict = false;
    try {
      if (registered !== undefined)
        verdict = await this.#ask(connection, { registered, params, topic }, RECHECK_TIMEOUT_MS);
    } catch (error) {
      this.#server.report(error, contextOf(connection));
      code = "UNAVAILABLE";
    }
    // A later change runs it again.
    if (connection.authorization !== authorization || !connection.isOpen) return;
    if (connection.memberships?.get(topic) !== membership) return;
    if (!this.#isAllowed(verdict)) return this.#end(connection, membership, code);
    membership.until = untilOf(verdict);
    this.#watchUntil(connection, membership);
    this.#presence.showAgain(connection, membership);
    connection.socket.changed?.("channels");
  }

  #watchUntil(connection: Connection, membership: Membership): void {
    this.#stopUntil(membership);
    const { until } = membership;
    if (until === undefined) return;
    const timeout = new Timeout(() => void this.#recheck(connection, membership));
    this.#untils.set(membership, timeout);
    this.#server.timers.add(timeout, Math.max(0, until - this.#server.clock.wall()));
  }

  #stopUntil(membership: Membership | undefined): void {
    const timeout = membership && this.#untils.get(membership);
    if (timeout !== undefined) this.#server.timers.remove(timeout);
  }

  restore(connection: Connection, memberships: readonly Membership[]): void {
    if (memberships.length === 0) return;
    connection.memberships = new Map(memberships.map((membership) => [membership.topic, membership]));
    for (const membership of memberships) {
      const { topic, pattern, hasHistory, position } = membership;
      const channel = this.#registry.get(pattern)?.channel;
      const history = hasHistory && channel !== undefined ? this.#histories.open(topic, channel) : undefined;
      this.#watchUntil(connection, membership);
      this.#presence.restore(connection, membership);
      if (history !== undefined && position !== undefined) {
        history.resume(connection, membership, position);
        continue;
      }
      void pendingOf(attempt(() => this.#server.subscribe(connection, topic)))?.catch((error: unknown) => {
        this.#server.reportOutside(error, connection.clientId);
        this.#end(connection, membership, "UNAVAILABLE");
      });
    }
  }

  /** Runs a hook and reports its errors, so that they cannot stop the server. */
  #run(
    connection: Connection,
    hook: ((ctx: OpenContext<AnyData>, params: never) => unknown) | undefined,
    params: Params,
  ): void {
    if (hook === undefined) return;
    const ctx = contextOf(connection);
    void pendingOf(attempt(() => hook(ctx, params as never)))?.catch(
      (error: unknown) => void this.#server.report(error, ctx),
    );
  }
}

function route(
  type: string,
  response: string,
  handler: ControlRoute["handler"],
  waitsForJoins = false,
): ControlRoute {
  const none = { payload: undefined, meta: undefined, response: undefined };
  const schema: RpcSchema = { ...none, type, response: { ...none, type: response } };
  return { kind: "control", schema, waitsForJoins, handler };
}
