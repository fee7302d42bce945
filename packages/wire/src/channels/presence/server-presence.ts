/**
 * Presence of one running server: members join and leave, lost ones after a grace time, and connections are sent the
 * changes of the lists they have joined.
 */
import type { Clock } from "@halyard/base";
import type { PubSub } from "../../pubsub/pubsub.ts";
import type { AbsentMember, AbsentMembers } from "../../router/topics/absent-members.ts";
import type { AnyMember, MemberPage, MemberPageOptions } from "../../schema/channel.ts";
import { Timeout, type Timers } from "../../time/timers.ts";
import { checkEntry, createEntry, isSame, memberOf } from "./entry.ts";
import { PresenceExchange } from "./exchange.ts";
import type { MemberLists } from "./member-lists.ts";
import { pageOf, sortKeys } from "./pages.ts";
import { encodeMembers, type MembersUpdate } from "./presence-frames.ts";
import { type PresenceOptions, Room, type Viewer } from "./room.ts";

/** Changes within this time are sent together. */
const COALESCE_MS = 200;
/** Above 2,000 connections to one list, changes are sent less often: at most this many frames per ms. */
const FRAMES_PER_MS = 10;
/** How long a join or a reading waits for the other processes. */
const COMPLETE_TIMEOUT_MS = 500;
/** How long a list is kept that was read without a member in this server. */
const LEASE_MS = 5_000;
/** A list of more characters is sent as a count, whatever `maxMembers` is. */
const MAX_LIST_LENGTH = 1_000_000;
/** Of UTF-8 for each UTF-16 unit, and the other fields of a frame. */
const MAX_BYTES_PER_UNIT = 4;

/** Options of presence. */
export interface ServerPresenceOptions {
  /** A longer list is sent as a count. Default 16 MiB. */
  readonly maxFrameBytes?: number;
  /** Keeps members whose connection was lost, where the server may be evicted from memory. */
  readonly absentMembers?: AbsentMembers | undefined;
}

export class ServerPresence {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #exchange: PresenceExchange;
  readonly #rooms = new Map<string, Room>();
  /** Topics whose viewers are to be sent a change. */
  readonly #changed = new Set<string>();
  /** Callers that wait until a list is complete. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Whether all members are in this server, as in a Durable Object: a list needs no preparation. */
  readonly #isAlone: boolean;
  readonly #maxListLength: number;
  readonly #absent: AbsentMembers | undefined;
  #flushTimer: unknown;

  /** Without a pub/sub, this server is alone. */
  constructor(
    { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
    pubsub: PubSub | undefined,
    { maxFrameBytes = Number.POSITIVE_INFINITY, absentMembers }: ServerPresenceOptions = {},
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#isAlone = pubsub === undefined;
    this.#maxListLength = Math.min(MAX_LIST_LENGTH, maxFrameBytes / MAX_BYTES_PER_UNIT);
    this.#absent = absentMembers;
    this.#exchange = new PresenceExchange(pubsub, clock, (topic) => this.#changedTopic(topic));
    for (const absent of [...(absentMembers?.all() ?? [])]) this.#restoreAbsent(absent);
  }

  start(): void {
    this.#exchange.start();
  }

  /** The members of this server stay for the rest of their grace time, in case they join another server. */
  async stop(): Promise<void> {
    let graceMs = 0;
    for (const { members, options, lease } of this.#rooms.values()) {
      if (lease !== undefined) this.#timers.remove(lease);
      for (const { grace } of members.values()) {
        const remainingMs = grace === undefined ? options.leaveGraceMs : grace.dueAt - this.#clock.now();
        graceMs = Math.max(graceMs, remainingMs);
        if (grace !== undefined) this.#timers.remove(grace);
      }
    }
    this.#stopFlush();
    this.#rooms.clear();
    this.#changed.clear();
    await this.#exchange.stop(graceMs);
  }

  // --- members ---

  /** Throws when the member cannot be shown. */
  check(member: AnyMember): void {
    checkEntry(createEntry(member, this.#clock.wall()));
  }

  /** Learns the list of a topic. A promise resolves once it is complete, or after 500 ms. */
  prepare(topic: string, options: PresenceOptions): Promise<void> | undefined {
    if (this.#isAlone) return undefined;
    this.start();
    const room = this.#roomOf(topic, options);
    if (room.members.size === 0) this.#lease(room);
    return this.#whenComplete(topic);
  }

  /** Keeps the list for a while without a member in this server. */
  #lease(room: Room): void {
    if (room.lease !== undefined) this.#timers.remove(room.lease);
    room.lease = new Timeout(() => {
      room.lease = undefined;
      this.#closeIfUnused(room);
    });
    this.#timers.add(room.lease, LEASE_MS);
  }

  /** Adds the connection to a member. */
  join(topic: string, viewer: Viewer, member: AnyMember, options: PresenceOptions): void {
    const entry = createEntry(member, this.#clock.wall());
    this.start();
    const room = this.#roomOf(topic, options);
    const { key } = entry;
    const before = room.keys.get(viewer);
    const local = room.members.get(key) ?? { connections: new Set<Viewer>(), grace: undefined };
    room.members.set(key, local);
    local.connections.add(viewer);
    room.keys.set(viewer, key);
    this.#endGrace(room, key);
    if (!isSame(this.#lists.own.get(topic, key), entry)) this.#lists.setOwn(topic, key, entry);
    if (before !== undefined && before !== key) this.#detach(room, viewer, before, 0);
  }

  /** The connection has left by its own request, or was put out. */
  leave(topic: string, viewer: Viewer): void {
    this.#end(topic, viewer, () => 0);
  }

  /** The connection was lost: its member stays for the grace time. */
  lost(topic: string, viewer: Viewer): void {
    this.#end(topic, viewer, ({ leaveGraceMs }) => leaveGraceMs);
  }

  #end(topic: string, viewer: Viewer, graceMsOf: (options: PresenceOptions) => number): void {
    const room = this.#rooms.get(topic);
    const key = room?.keys.get(viewer);
    if (room === undefined || key === undefined) return;
    room.keys.delete(viewer);
    room.viewers.delete(viewer);
    this.#detach(room, viewer, key, graceMsOf(room.options));
  }

  #detach(room: Room, viewer: Viewer, key: string, graceMs: number): void {
    const local = room.members.get(key);
    local?.connections.delete(viewer);
    if (local === undefined || local.connections.size > 0) return;
    if (graceMs === 0) return this.#remove(room, key);
    this.#startGrace(room, key, graceMs);
    const entry = this.#lists.own.get(room.topic, key);
    const leavesAt = this.#clock.wall() + graceMs;
    if (entry !== undefined)
      this.#absent?.put({ topic: room.topic, member: memberOf(entry), leavesAt, ...room.options });
  }

  #startGrace(room: Room, key: string, graceMs: number): void {
    const local = room.members.get(key);
    if (local === undefined) return;
    local.grace = new Timeout(() => this.#remove(room, key));
    this.#timers.add(local.grace, graceMs);
  }

  /** The member has returned, or has left. */
  #endGrace(room: Room, key: string): void {
    const local = room.members.get(key);
    if (local?.grace === undefined) return;
    this.#timers.remove(local.grace);
    local.grace = undefined;
    this.#absent?.delete(room.topic, key);
  }

  #remove(room: Room, key: string): void {
    this.#endGrace(room, key);
    room.members.delete(key);
    this.#lists.setOwn(room.topic, key, undefined);
    this.#closeIfUnused(room);
    this.#schedule();
  }

  // --- after an eviction from memory ---

  /** The connection has been there all the time: nothing changes for others. */
  restore(topic: string, viewer: Viewer, member: AnyMember, options: PresenceOptions): void {
    this.join(topic, viewer, member, options);
    this.view(topic, viewer);
    this.#settle(topic);
  }

  #restoreAbsent({ topic, member, leavesAt, maxMembers, leaveGraceMs }: AbsentMember): void {
    const room = this.#roomOf(topic, { maxMembers, leaveGraceMs });
    room.members.set(member.key, { connections: new Set(), grace: undefined });
    this.#lists.setOwn(topic, member.key, createEntry(member, this.#clock.wall()));
    this.#startGrace(room, member.key, Math.max(0, leavesAt - this.#clock.wall()));
    this.#settle(topic);
  }

  /** The viewers know the list as it is now. */
  #settle(topic: string): void {
    const room = this.#rooms.get(topic);
    if (room === undefined) return;
    this.#lists.take(topic);
    room.count = this.#lists.count(topic);
    room.isListed = this.#isListed(room);
    this.#changed.delete(topic);
    // A system timer would keep a Durable Object awake.
    if (this.#changed.size === 0) this.#stopFlush();
  }

  // --- lists ---

  #roomOf(topic: string, options: PresenceOptions): Room {
    const known = this.#rooms.get(topic);
    if (known !== undefined) return known;
    const room = new Room(topic, options);
    this.#rooms.set(topic, room);
    this.#exchange.state.watch(topic);
    this.#exchange.askSoon();
    return room;
  }

  #closeIfUnused(room: Room): void {
    if (!room.isUnused) return;
    this.#rooms.delete(room.topic);
    this.#changed.delete(room.topic);
    this.#exchange.state.unwatch(room.topic);
  }

  // --- reading ---

  /** The list for a connection that has joined. From now on it is sent the changes. */
  view(topic: string, viewer: Viewer): { members?: readonly AnyMember[]; count?: number; partial?: true } {
    const room = this.#rooms.get(topic);
    if (room === undefined || !room.keys.has(viewer)) return {};
    const partial = !this.#exchange.state.isComplete(topic);
    if (room.viewers.size === 0) {
      room.isListed = true;
      room.isPartial = partial;
      room.count = this.#lists.count(topic);
    }
    if (!this.#isListed(room)) room.isListed = false;
    room.viewers.add(viewer);
    // The others were told something else: all of them are told what holds when changes are sent next.
    if (partial !== room.isPartial) {
      room.isPartial = undefined;
      this.#changedTopic(topic);
    }
    const flag = partial ? ({ partial: true } as const) : {};
    if (!room.isListed) return { count: this.#lists.count(topic), ...flag };
    room.list ??= [...this.#lists.list(topic).values()].map(memberOf);
    return { members: room.list, ...flag };
  }

  /** A page of a list that is watched. */
  page(topic: string, { after, limit }: MemberPageOptions): MemberPage {
    const room = this.#rooms.get(topic);
    const count = this.#lists.count(topic);
    const partial = !this.#exchange.state.isComplete(topic);
    if (room === undefined) return { members: [], count, partial };
    const most = Math.min(limit ?? Number.POSITIVE_INFINITY, room.options.maxMembers);
    const isLong = !this.#isListed(room);
    room.sorted = sortKeys(this.#lists, topic, room.sorted, isLong, this.#clock.now());
    return {
      ...pageOf(this.#lists, topic, room.sorted.keys, after, most, this.#maxListLength),
      count,
      partial,
    };
  }

  /** A page of any list. Waits up to 500 ms for the other processes. */
  async read(topic: string, options: PresenceOptions, page: MemberPageOptions): Promise<MemberPage> {
    await this.prepare(topic, options);
    return this.page(topic, page);
  }

  #isListed(room: Room): boolean {
    return (
      room.lists(this.#lists.count(room.topic)) && this.#lists.lengthOf(room.topic) <= this.#maxListLength
    );
  }

  get #lists(): MemberLists {
    return this.#exchange.state.lists;
  }

  #whenComplete(topic: string): Promise<void> | undefined {
    if (this.#exchange.state.isComplete(topic)) return undefined;
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(topic) ?? new Set<() => void>();
      this.#waiting.set(topic, waiting);
      const done = (): void => {
        this.#clock.clearTimeout(timer);
        waiting.delete(done);
        if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
        resolve();
      };
      const timer = this.#clock.setTimeout(done, COMPLETE_TIMEOUT_MS);
      waiting.add(done);
    });
  }

  // --- changes ---

  #changedTopic(topic: string | undefined): void {
    for (const waited of topic === undefined ? [...this.#waiting.keys()] : [topic]) {
      const waiting = this.#waiting.get(waited);
      if (waiting !== undefined && this.#exchange.state.isComplete(waited))
        for (const done of [...waiting]) done();
    }
    for (const changed of topic === undefined ? this.#rooms.keys() : [topic]) {
      const room = this.#rooms.get(changed);
      if (room === undefined) continue;
      // Without a topic, only whether the lists are complete has changed.
      if (topic !== undefined) room.changed();
      this.#changed.add(changed);
    }
    this.#schedule();
  }

  #schedule(): void {
    this.#flushTimer ??= this.#clock.setTimeout(() => {
      this.#flushTimer = undefined;
      this.#flush();
    }, COALESCE_MS);
  }

  #stopFlush(): void {
    this.#clock.clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
  }

  #flush(): void {
    this.#exchange.state.flush();
    const now = this.#clock.now();
    for (const topic of [...this.#changed]) {
      const room = this.#rooms.get(topic);
      // A list with many connections is sent later, with more changes at once.
      if (room !== undefined && now - room.sentAt < room.viewers.size / FRAMES_PER_MS) continue;
      this.#changed.delete(topic);
      if (room !== undefined) this.#send(room, now);
    }
    if (this.#changed.size > 0) this.#schedule();
  }

  #send(room: Room, now: number): void {
    const { topic } = room;
    const change = this.#lists.take(topic);
    const count = this.#lists.count(topic);
    const isPartial = !this.#exchange.state.isComplete(topic);
    const isListed = this.#isListed(room);
    const isSamePart = isPartial === room.isPartial && isListed === room.isListed;
    const hasChanged = isListed ? change.joined.length + change.left.length > 0 : count !== room.count;
    const update: MembersUpdate = !isListed
      ? { count }
      : room.isListed && change.left.length <= count
        ? { change }
        : { members: this.#lists.list(topic).values() };
    Object.assign(room, { isListed, isPartial, count });
    if ((isSamePart && !hasChanged) || room.viewers.size === 0) return;
    room.sentAt = now;
    const frame = encodeMembers(topic, update, isPartial, this.#clock.wall());
    for (const viewer of [...room.viewers]) viewer.sendFrame(frame);
  }
}
