/**
 * A topic with history in one process. Live members get each frame once, in the order of the offsets; what the process
 * missed is read from the store. A member that joins, or reads too slowly, gets frames from the store until its position is
 * that of the live members, and becomes one of them in the same turn of the event loop.
 */
import { ignore, pause, RETRY_MS } from "@halyard/base";
import { byteLength } from "../protocol/bytes.ts";
import { CONTROL, type Gap, type Position } from "../protocol/control.ts";
import type { History, HistoryPage, HistoryPosition } from "../pubsub/history.ts";
import type { Connection, Server, TopicWatcher } from "../router/contracts.ts";
import { pendingOf } from "../router/pending.ts";
import type { Membership } from "../router/topics/membership.ts";
import { readInTurn } from "./history-reads.ts";
import { stamp } from "./stamp.ts";
import { follows, Tail, type TailFrame } from "./tail.ts";

/** How much is read from the store at once. A slow connection keeps no page: it reads again. */
const PAGE = { maxItems: 500, maxBytes: 262_144 } as const;
const MAX_RETRY_MS = 2_000;
/** The most that one replay sends, in bytes. */
const MAX_REPLAY_BYTES = 4 * 1024 * 1024;

/** Where a join begins: after a position, or with the newest messages. */
export interface JoinStart {
  readonly position: Position | undefined;
  readonly last: number;
}

/** Called when the page is read; returns the new member, or throws when the join must not complete. */
type Enter = (start: Position, gap: Gap["reason"] | undefined) => Membership;

export class HistoryTopic implements TopicWatcher {
  readonly topic: string;
  readonly #server: Server;
  readonly #history: History;
  /** The position of the live members; undefined when it is not known. */
  #position: HistoryPosition | undefined;
  readonly #tail = new Tail();
  readonly #replays = new Set<Replay>();
  /** Joins, replays and reads of the live members that are under way; the tail is kept for them. */
  #readers = 0;
  /** How often the tail was dropped: a read that began before does not know what is missing. */
  #drops = 0;
  #catchingUp: Promise<void> | undefined;
  #isClosed = false;
  readonly #confirmed: Promise<void> | undefined;

  constructor(topic: string, server: Server, history: History) {
    this.topic = topic;
    this.#server = server;
    this.#history = history;
    this.#confirmed = server.watch(topic, this);
    this.#confirmed?.catch(() => undefined);
  }

  close(): void {
    this.#isClosed = true;
    this.#server.unwatch(this.topic);
  }

  // --- live members ---

  deliver(frame: string, excludeClientId: string | undefined, position: HistoryPosition): number {
    const text = stamp(frame, position, excludeClientId);
    if (this.#readers > 0) this.#tail.push({ position, text });
    return this.#catchingUp === undefined ? this.#advance({ position, text }) : 0;
  }

  deliverLive(frame: string, excludeClientId: string | undefined): number {
    let delivered = 0;
    for (const replay of this.#replays) if (replay.deliverLive(frame, excludeClientId)) delivered++;
    return delivered;
  }

  #advance(frame: TailFrame): number {
    const current = this.#position;
    const { position } = frame;
    // Repeated by the broker, or sent already by a read of the store.
    if (current !== undefined && isBehind(position, current)) return 0;
    if (current === undefined || !this.#hasMembers || follows(position, current)) return this.#send(frame);
    void this.#catchUp();
    return 0;
  }

  #send({ position, text }: TailFrame): number {
    this.#position = position;
    const { epoch, offset } = position;
    return this.#server.broadcast({
      topic: this.topic,
      text,
      encoded: undefined,
      fallBehind: (connection) => this.#fallBehind(connection as Connection, { epoch, offset: offset - 1 }),
    });
  }

  get #hasMembers(): boolean {
    return this.#server.memberCount(this.topic) > 0;
  }

  /** Frames may be missing: the store has them, or tells that they are lost. */
  missed(): void {
    this.#dropTail();
    if (!this.#hasMembers) this.#position = undefined;
    else if (this.#position !== undefined) void this.#catchUp();
  }

  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#readForMembers();
    return this.#catchingUp;
  }

  async #readForMembers(): Promise<void> {
    this.#readers++;
    try {
      // Not in the same turn, so that `#catchingUp` is set before it is cleared below.
      await undefined;
      for (let failures = 0; !this.#isClosed && this.#hasMembers && this.#position !== undefined; ) {
        const drops = this.#drops;
        const page = await this.#read({ position: this.#position, last: 0 }).catch(() => undefined);
        if (page === undefined) {
          await this.#pauseAfter(failures++);
          continue;
        }
        failures = 0;
        this.#apply(page, this.#position);
        // After a loss during the read, neither the page nor the tail may have the frames before the loss.
        if (!page.hasMore && drops === this.#drops && this.#applyTail()) return;
      }
    } finally {
      this.#catchingUp = undefined;
      this.#endRead();
    }
  }

  /** Sends a page to the live members, after the gap before it. */
  #apply(page: HistoryPage, after: HistoryPosition): void {
    if (page.isMissing) {
      const position = startOf(page);
      this.#position = position;
      const gap: Gap = { topic: this.topic, reason: reasonOf(page, after), position };
      this.#server.sendToMembers(this.topic, CONTROL.gap, gap);
    }
    for (const frame of framesOf(page)) this.#send(frame);
  }

  /** Sends what arrived during the read. False when it does not follow, so that the store has to be read again. */
  #applyTail(): boolean {
    const frames = this.#position && this.#tail.after(this.#position);
    if (frames === undefined) {
      this.#dropTail();
      return false;
    }
    for (const frame of frames) this.#send(frame);
    return true;
  }

  #dropTail(): void {
    this.#tail.clear();
    this.#drops++;
  }

  // --- members that catch up ---

  /** Reads the first page, lets the connection enter, and starts its replay. */
  async join(connection: Connection, start: JoinStart, enter: Enter): Promise<void> {
    this.#readers++;
    try {
      await this.#confirmed;
      await readInTurn(connection, async () => {
        const drops = this.#drops;
        const page = await this.#read(start);
        const { position } = start;
        const gap = page.isMissing && position !== undefined ? reasonOf(page, position) : undefined;
        const first = startOf(page);
        const sent = this.#sentTo(connection);
        const membership = enter(first, gap);
        // The connection was a member already, perhaps for another room of its client, and has not got all before the page.
        if (gap === undefined && sent?.epoch === first.epoch && sent.offset < first.offset)
          void this.#replay(connection, membership, sent, undefined, 0);
        else void this.#replay(connection, membership, first, page, drops);
      });
    } finally {
      this.#endRead();
    }
  }

  /** The position up to which a member was sent the frames. */
  #sentTo(connection: Connection): HistoryPosition | undefined {
    const membership = connection.memberships?.get(this.topic);
    return membership?.isLive ? this.#position : membership?.position;
  }

  /** The membership was restored while it replayed the history. */
  resume(connection: Connection, membership: Membership, position: HistoryPosition): void {
    void this.#replay(connection, membership, position, undefined, 0);
  }

  /** The connection reads too slowly for the frame after this position: the store keeps it for later. */
  #fallBehind(connection: Connection, position: HistoryPosition): void {
    const membership = connection.memberships?.get(this.topic);
    if (!membership?.isLive) return;
    membership.isLive = false;
    void this.#server.unsubscribe(connection, this.topic);
    void this.#replay(connection, membership, position, undefined, 0);
  }

  async #replay(
    connection: Connection,
    membership: Membership,
    start: HistoryPosition,
    first: HistoryPage | undefined,
    firstDrops: number,
  ): Promise<void> {
    const replay = new Replay(connection, membership, start);
    let page = first;
    let drops = firstDrops;
    this.#readers++;
    this.#replays.add(replay);
    try {
      for (let failures = 0; isWanted(connection, membership); ) {
        if (page !== undefined && replay.send(framesOf(page)) && !page.hasMore && drops === this.#drops) {
          const frames = this.#tail.after(replay.position);
          if (frames === undefined) this.#dropTail();
          else if (replay.send(frames) && this.#enter(connection, membership, replay)) return;
          if (this.#isAhead(replay.position)) await this.#catchUp();
        }
        // Not kept while the connection drains.
        page = undefined;
        await connection.whenDrained(undefined);
        drops = this.#drops;
        page = await this.#nextPage(replay).catch(() => undefined);
        if (page === undefined) await this.#pauseAfter(failures++);
        else failures = 0;
      }
    } finally {
      this.#replays.delete(replay);
      this.#endRead();
    }
  }

  /** Over `MAX_REPLAY_BYTES`, or when the store no longer has the frames, the connection continues after a gap. */
  async #nextPage(replay: Replay): Promise<HistoryPage> {
    if (replay.sentBytes > MAX_REPLAY_BYTES) {
      const { epoch, top } = await this.#read({ position: undefined, last: 0 });
      if (!isBehind({ epoch, offset: top }, replay.position))
        replay.skipTo({ epoch, offset: top }, "retention");
    }
    const { position } = replay;
    const page = await this.#read({ position, last: 0 });
    if (page.isMissing) replay.skipTo(startOf(page), reasonOf(page, position));
    return page;
  }

  /** Makes the connection a live member if it has all frames that the live members have, and no others. */
  #enter(connection: Connection, membership: Membership, { position }: Replay): boolean {
    const live = this.#position;
    if (live === undefined || !this.#hasMembers) {
      // Without members, the position only tells which frames have arrived.
      if (live !== undefined && isBehind(position, live) && position.offset !== live.offset) return false;
      this.#position = position;
    } else if (live.epoch !== position.epoch || live.offset !== position.offset) return false;
    membership.isLive = true;
    membership.position = undefined;
    connection.socket.changed?.("channels");
    // In an outage the broker confirms too late or not at all. When it is over, `missed` reads what was not delivered.
    void pendingOf(this.#server.subscribe(connection, this.topic))?.catch(ignore);
    return true;
  }

  /** Whether the store has shown frames that the live members have not got. */
  #isAhead(position: HistoryPosition): boolean {
    const live = this.#position;
    return live !== undefined && !isBehind(position, live);
  }

  // --- the store ---

  async #read({ position, last }: JoinStart): Promise<HistoryPage> {
    return this.#history.read(this.topic, position ? { ...PAGE, after: position } : { ...PAGE, last });
  }

  #pauseAfter(failures: number): Promise<void> {
    return pause(this.#server.clock, Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures));
  }

  #endRead(): void {
    if (--this.#readers === 0) this.#tail.clear();
  }
}

/** What one connection has been sent of the history. The membership has the position: a platform may persist it. */
class Replay {
  position: HistoryPosition;
  sentBytes = 0;
  readonly #connection: Connection;
  readonly #membership: Membership;
  /** Its own name: the frames of one replay are written together, and not with those of others. */
  readonly #topic: string;

  constructor(connection: Connection, membership: Membership, position: HistoryPosition) {
    this.#connection = connection;
    this.#membership = membership;
    this.#topic = `${membership.topic}#${connection.clientId}`;
    this.position = position;
    this.#moved();
  }

  #moved(): void {
    this.#membership.position = this.position;
    this.#connection.socket.changed?.("channels");
  }

  /** Returns false when the connection is slow, so that not all frames were sent. */
  send(frames: readonly TailFrame[]): boolean {
    let isDone = true;
    for (const { position, text } of frames) {
      isDone = !this.#connection.isSlow && this.#deliver(text);
      if (!isDone) break;
      this.position = position;
      this.sentBytes += byteLength(text);
    }
    this.#moved();
    return isDone;
  }

  /** A frame that is not kept, between frames of the replay. */
  deliverLive(text: string, excludeClientId: string | undefined): boolean {
    const isMeant = this.#connection.clientId !== excludeClientId;
    return isMeant && isWanted(this.#connection, this.#membership) && this.#deliver(text);
  }

  #deliver(text: string): boolean {
    return this.#connection.deliver({ topic: this.#topic, text, encoded: undefined, fallBehind: ignore });
  }

  skipTo(position: HistoryPosition, reason: Gap["reason"]): void {
    // A later join has its own position, and gets its own gap.
    if (!isWanted(this.#connection, this.#membership)) return;
    const { topic } = this.#membership;
    this.position = position;
    this.sentBytes = 0;
    this.#moved();
    this.#connection.send(CONTROL.gap, { topic, reason, position } satisfies Gap);
  }
}

function framesOf({ epoch, items }: HistoryPage): TailFrame[] {
  return items.map(({ offset, frame, excludeClientId }) => {
    const position = { epoch, offset };
    return { position, text: stamp(frame, position, excludeClientId) };
  });
}

/** The position before the first frame of the page. */
function startOf({ epoch, items, top }: HistoryPage): HistoryPosition {
  return { epoch, offset: (items[0]?.offset ?? top + 1) - 1 };
}

function reasonOf({ epoch }: HistoryPage, after: HistoryPosition): Gap["reason"] {
  return epoch === after.epoch ? "retention" : "epoch";
}

/** Whether a position is at or before another one of the same epoch. */
function isBehind(position: HistoryPosition, other: HistoryPosition): boolean {
  return position.epoch === other.epoch && position.offset <= other.offset;
}

/** The membership may have ended, or been replaced by a later join. */
function isWanted({ isOpen, memberships }: Connection, membership: Membership): boolean {
  return isOpen && memberships?.get(membership.topic) === membership && !membership.isLive;
}
