/** Channels of a client: joins, joins again after every reconnection, and passes messages to their room. */
import { type Gap, isReservedType, type Position } from "../protocol/control.ts";
import { type Envelope, tidyMeta } from "../protocol/envelope.ts";
import type { WsError } from "../protocol/error.ts";
import type { AnyChannel, ParamsInput } from "../schema/channel.ts";
import { backoffMs } from "./backoff.ts";
import { MAX_CLIENT_IDS, MAX_HELD_CHARACTERS_PER_CLIENT, MISPLACED_NOTICE_MS } from "./bounds.ts";
import type { ChannelRoom, JoinOptions, RoomState } from "./channel-room.ts";
import { type ClientCore, coreOf } from "./core.ts";
import { development } from "./development.ts";
import { later } from "./environment.ts";
import { only } from "./failures.ts";
import { createHeld } from "./held.ts";
import type { Handlers } from "./inbox.ts";
import { listeners } from "./listeners.ts";
import { enqueue } from "./queue.ts";
import { createRoomMembers } from "./room-members.ts";
import { text } from "./texts.ts";
import type { WsClient } from "./ws-client.ts";

/** The reserved meta keys of a channel's message. */
interface Stamp {
  /** The topic. */
  readonly $t?: unknown;
  /** The epoch and the offset in the history. */
  readonly $e?: unknown;
  readonly $o?: unknown;
  /** The connection that must not receive the message. */
  readonly $x?: unknown;
}

/** A room as the intercept of its client uses it. */
interface Member {
  /** Of a member, and of a room whose join waits for its turn. */
  readonly topic: string | undefined;
  /** Whether a join has no response yet. */
  readonly isPending: boolean;
  /** Characters of the messages that wait for a handler. */
  readonly held: number;
  message(frame: Envelope, stamp: Stamp, size: number): void;
  /** Returns whether the frame was for this room. */
  control(frame: Envelope): boolean;
  /** The connection was opened, or lost. */
  connection(isOpen: boolean): void;
}

interface Hub {
  readonly rooms: Set<Member>;
  /** Topics that a room left: the payload of their `$ws:leave`. */
  readonly left: Map<string, object>;
  /** The ids of the client's last connections. */
  readonly clientIds: Set<unknown>;
  /** Types for which only a handler of the client waits: reported, or about to be. */
  readonly misplaced: Set<string>;
  nextId(): string;
}

const hubs = new WeakMap<WsClient, Hub>();

/** One intercept per client. It stays when all rooms are left: late messages of a channel must reach no other handler. */
function hubOf(client: WsClient, { intercepts, hello }: ClientCore): Hub {
  const existing = hubs.get(client);
  if (existing) return existing;
  const rooms = new Set<Member>();
  let lastId = 0;
  intercepts.add((frame, size) => {
    const { type, meta } = frame;
    const stamp = { ...meta } as Stamp;
    if (!isReservedType(type)) {
      if (stamp.$t === undefined) return false;
      tidyMeta(meta);
      for (const room of [...rooms]) room.message(frame, stamp, size);
      return true;
    }
    // Every room gets the frame: two of them may have the same topic.
    return [...rooms].filter((room) => room.control(frame)).length > 0;
  });
  client.onState((state) => {
    enqueue(clientIds, hello()?.["clientId"], MAX_CLIENT_IDS, "drop-oldest");
    for (const room of [...rooms]) room.connection(state === "open");
  });
  const clientIds = new Set([hello()?.["clientId"]]);
  const misplaced = new Set<string>();
  const hub = { rooms, left: new Map(), clientIds, misplaced, nextId: () => `$j${++lastId}` };
  hubs.set(client, hub);
  return hub;
}

/**
 * Joins a channel, now or as soon as the client is open, and again after every reconnection until `leave()`. The server
 * decides with `authorize` whether the client may.
 *
 * @example
 * ```ts
 * import { joinChannel, wsClient } from "@halyard/wire/client/zod";
 * import { channel, message, z } from "@halyard/wire/zod";
 *
 * const Said = message("SAID", { text: z.string() });
 * const Room = channel("room:{id}", { params: { id: z.string() }, events: [Said] });
 * const client = wsClient({ url: "ws://localhost:3000" });
 * await client.connect();
 *
 * const room = joinChannel(client, Room, { id: "general" });
 * room.on(Said, ({ text }) => console.log(text));
 * await room.joined;
 * ```
 */
export function joinChannel<C extends AnyChannel>(
  client: WsClient,
  channel: C,
  params: ParamsInput<C>,
  { last }: JoinOptions = {},
): ChannelRoom<C> {
  const core = coreOf(client);
  const { environment, report, thrown, failure, errorIn, sendControl } = core;
  const { reconnect = {}, autoConnect } = core.options;
  const hub = hubOf(client, core);
  const place = { channel: channel.pattern, params };
  const handlers: Handlers = new Map();
  const states = listeners<[state: RoomState]>(thrown);
  const gaps = listeners<[gap: Gap]>(thrown);
  const members = createRoomMembers(core, place, hub.nextId);
  const held = createHeld(
    channel,
    handlers,
    gaps,
    (size) => [...hub.rooms].reduce((sum, room) => sum + room.held, size) <= MAX_HELD_CHARACTERS_PER_CLIENT,
  );
  let state: RoomState = "joining";
  let error: WsError | undefined;
  /** The join without a response. */
  let pendingId: string | undefined;
  let topic: string | undefined;
  /** The topic of a join that waits for its turn at the rate of joins: the server has said when it comes. */
  let queued: string | undefined;
  let position: Position | undefined;
  let hasJoined = false;
  let attempt = 0;
  let cancelRetry: (() => void) | undefined;
  let resolve: () => void;
  let reject: (error: WsError) => void;
  const joined = new Promise<void>((...settle) => {
    [resolve, reject] = settle;
  });
  // The state and `error` tell it too, so that the application may ignore the promise.
  joined.catch(() => undefined);

  function become(next: RoomState): void {
    if (state === next) return;
    state = next;
    states.emit(next);
  }

  function join(): void {
    cancelRetry?.();
    pendingId = hub.nextId();
    const resume = position ? { position } : { last };
    sendControl("$ws:join", { ...place, ...resume }, { correlationId: pendingId });
  }

  function retry(failed: WsError, waiting?: string): void {
    error = failed;
    queued = waiting;
    if (!queued) report(failed);
    topic = undefined;
    become("joining");
    const delayMs = backoffMs(reconnect, attempt++, environment.Math.random());
    cancelRetry = later(environment, join, (failed.retryAfterMs ?? 0) + (queued ? 0 : delayMs));
  }

  /** The client is not a member any more, and does not join again. */
  function end(next: RoomState, why: WsError): void {
    error = why;
    topic = undefined;
    cancelRetry?.();
    if (!pendingId) hub.rooms.delete(member);
    reject(why);
    become(next);
  }

  function answered({ type, payload }: Envelope): void {
    pendingId = undefined;
    const fields = only("object", payload) ?? {};
    const named = only("string", fields["topic"]);
    if (state === "left") {
      hub.rooms.delete(member);
      leaveTopic(named);
    } else if (type === "$ws:error") {
      const failed = errorIn(fields);
      if (failed.retryable) retry(failed, named);
      else {
        report(failed);
        end("refused", failed);
      }
      leaveTopic();
    } else {
      topic = named;
      position = positionIn(fields);
      error = undefined;
      attempt = 0;
      if (channel.presence) members.update(fields);
      become("joined");
      resolve();
      if (hasJoined && !position) held.gap({ reason: "reconnect" });
      hasJoined = true;
      leaveTopic();
    }
  }

  /**
   * Tells the server that a topic is left, unless another room of this client has it. Waits for all joins, because one of
   * them may be for the same topic, and the server would end it too.
   */
  function leaveTopic(left?: string): void {
    if (left) hub.left.set(left, place);
    const rooms = [...hub.rooms];
    if (rooms.some(({ isPending }) => isPending)) return;
    for (const [name, payload] of hub.left)
      if (!rooms.some((room) => room.topic === name))
        sendControl("$ws:leave", payload, { correlationId: hub.nextId() });
    hub.left.clear();
  }

  const member: Member = {
    get topic() {
      return topic ?? queued;
    },
    get isPending() {
      return pendingId !== undefined;
    },
    get held() {
      return held.size;
    },
    message(frame, { $t, $e, $o, $x }, size) {
      if ($t !== topic) return;
      if (position && typeof $e === "string" && typeof $o === "number") {
        const { epoch, offset } = position;
        // Received before the connection was lost, or by another room with the same topic.
        if ($e === epoch && $o <= offset) return;
        // Offset 0 is the position in an empty history, whose first message begins an epoch.
        if ($o > offset + 1 || (offset && $e !== epoch))
          held.gap({ reason: $e === epoch ? "retention" : "epoch" });
        position = { epoch: $e, offset: $o };
      }
      if ($x !== undefined && hub.clientIds.has($x)) return;
      const { type } = frame;
      if (!handlers.has(type) && core.inbox.handlers.get(type)?.size && !hub.misplaced.has(type)) {
        hub.misplaced.add(type);
        const notice = (): void => {
          if (handlers.has(type) || !topic) hub.misplaced.delete(type);
          else
            report(failure("FAILED_PRECONDITION", text("misplaced", type, channel.pattern)), "unknown", type);
        };
        later(environment, notice, MISPLACED_NOTICE_MS);
      }
      held.message(frame, size);
    },
    control(frame) {
      const { type, meta, payload } = frame;
      if (pendingId && meta.correlationId === pendingId) {
        answered(frame);
        return true;
      }
      if (members.answered(frame)) return true;
      const fields = only("object", payload) ?? {};
      const isMine = topic !== undefined && fields["topic"] === topic;
      if (type === "$ws:left" && isMine && !meta.correlationId) {
        const left = errorIn(fields);
        if (left.code === "UNAVAILABLE") retry(left);
        else end("left", left);
      } else if (type === "$ws:gap" && topic && (isMine || (fields["topic"] === undefined && !position))) {
        position = positionIn(fields) ?? position;
        held.gap(fields as unknown as Gap);
      } else if (type === "$ws:members" && isMine) members.update(fields);
      // A gap in all topics concerns others too.
      return isMine;
    },
    connection(isOpen) {
      hub.left.clear();
      members.lost();
      topic = queued = undefined;
      pendingId = undefined;
      if (state === "left") hub.rooms.delete(member);
      else if (isOpen) {
        become("joining");
        join();
      } else {
        cancelRetry?.();
        become("joining");
      }
    },
  };

  hub.rooms.add(member);
  if (client.isConnected) join();
  else if (autoConnect && client.session === "unknown") client.connect().catch(() => undefined);
  return {
    get state() {
      return state;
    },
    get error() {
      return error;
    },
    joined,
    get members() {
      return members.list as unknown as ChannelRoom<C>["members"];
    },
    get memberCount() {
      return members.count;
    },
    get isPartial() {
      return members.isPartial;
    },
    onMembers: members.changes.add as unknown as ChannelRoom<C>["onMembers"],
    memberPage: members.page as unknown as ChannelRoom<C>["memberPage"],
    on(event, handler) {
      development?.event(channel, event);
      const stop = core.inbox.on(event, handler as never, handlers);
      held.added();
      return stop;
    },
    onState: states.add,
    onGap(callback) {
      held.added();
      return gaps.add(callback);
    },
    leave() {
      held.clear();
      if (!hub.rooms.has(member) || state === "left") return;
      const left = member.topic;
      end("left", failure("CANCELLED", text("leave")));
      leaveTopic(left);
    },
  };
}

/** What a frame says about the position; its fields are not trusted. */
function positionIn({ position }: Record<string, unknown>): Position | undefined {
  const { epoch, offset } = only("object", position) ?? {};
  return typeof epoch === "string" && typeof offset === "number" ? { epoch, offset } : undefined;
}
