import { describe, expect, test } from "vitest";
import { companionOf } from "../../pubsub/companion.ts";
import { MemoryPubSub } from "../../pubsub/memory.ts";
import type { PublishResult, PubSub, PubSubStatus, Subscriber } from "../../pubsub/pubsub.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { TimerWheel } from "../../time/timers.ts";
import type { Viewer } from "./room.ts";
import { ServerPresence } from "./server-presence.ts";

const TOPIC = "$c/room";
const OPTIONS = { maxMembers: 1_000, leaveGraceMs: 3_000 };

interface Update {
  readonly topic: string;
  readonly members?: readonly { key: string }[];
  readonly joined?: readonly { key: string }[];
  readonly left?: readonly string[];
  readonly count?: number;
  readonly partial: boolean;
}

/** A connection, and the list that its client would have. */
class Client implements Viewer {
  readonly updates: Update[] = [];

  sendFrame(frame: string): void {
    this.updates.push((JSON.parse(frame) as { payload: Update }).payload);
  }

  get last(): Update | undefined {
    return this.updates.at(-1);
  }
}

/** The connection of one process to a broker that can be cut, and that tells how many receive a message. */
class Line implements PubSub {
  readonly spansProcesses = true;
  readonly #lines: Set<Line>;
  readonly #topics = new Map<string, Subscriber>();
  #isUp = true;
  /** Bytes. */
  sent = 0;

  constructor(lines: Set<Line>) {
    this.#lines = lines.add(this);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  set isUp(isUp: boolean) {
    this.#isUp = isUp;
    if (isUp) for (const subscriber of new Set(this.#topics.values())) subscriber.missed?.(undefined);
  }

  async enter(topic: string, subscriber: Subscriber, frame: () => string): Promise<boolean | undefined> {
    this.subscribe(topic, subscriber);
    const { ok } = this.publish(topic, frame());
    const receivers = [...this.#lines].filter((line) => line.isUp && line.#topics.has(topic));
    return ok ? receivers.length > 1 : undefined;
  }

  subscribe(topic: string, subscriber: Subscriber): void {
    this.#topics.set(topic, subscriber);
  }

  unsubscribe(topic: string): void {
    this.#topics.delete(topic);
  }

  publish(topic: string, frame: string): PublishResult {
    if (!this.isUp) return { ok: false, error: "DISCONNECTED", retryable: true };
    this.sent += frame.length;
    for (const line of this.#lines) if (line.isUp) line.#topics.get(topic)?.deliver(topic, frame, undefined);
    return { ok: true };
  }

  close(): void {
    this.isUp = false;
    this.#lines.delete(this);
  }

  get status(): PubSubStatus {
    return { connected: this.isUp, gaps: 0, refused: 0 };
  }
}

function startServer(clock: FakeClock, pubsub: PubSub | undefined) {
  const presence = new ServerPresence({ clock, timers: new TimerWheel(clock) }, pubsub);
  presence.start();
  return {
    presence,
    async join(key: string, options = OPTIONS, topic = TOPIC) {
      const client = new Client();
      const complete = presence.prepare(topic, options);
      await Promise.all([complete, clock.advance(complete === undefined ? 0 : 500)]);
      presence.join(topic, client, { key, name: key }, options);
      return { client, joined: presence.view(topic, client) };
    },
    keys: (topic = TOPIC) => presence.page(topic, {}).members.map(({ key }) => key),
  };
}

const keysOf = (list: readonly { key: string }[] | undefined) => list?.map(({ key }) => key).sort();

describe("a list in one process", () => {
  test("has every member, and changes of 200 ms are sent together", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const ann = await server.join("ann");
    expect(ann.joined).toEqual({ members: [{ key: "ann", name: "ann" }] });
    const ben = await server.join("ben");
    await server.join("cas");
    expect(keysOf(ben.joined.members)).toEqual(["ann", "ben"]);
    await clock.advance(199);
    expect(ann.client.updates).toEqual([]);
    await clock.advance(1);
    expect(ann.client.updates.length).toBe(1);
    expect(keysOf(ann.client.last?.joined)).toEqual(["ann", "ben", "cas"]);
  });

  test("does not tell a join and a leave within 200 ms", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const ann = await server.join("ann");
    await clock.advance(200);
    const ben = await server.join("ben");
    server.presence.leave(TOPIC, ben.client);
    const before = ann.client.updates.length;
    await clock.advance(1_000);
    expect(ann.client.updates.length).toBe(before);
  });

  test("keeps a lost member for the grace time, and does not tell its return", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const ann = await server.join("ann");
    const ben = await server.join("ben");
    await clock.advance(200);
    const before = ann.client.updates.length;
    server.presence.lost(TOPIC, ben.client);
    await clock.advance(2_900);
    const again = await server.join("ben");
    await clock.advance(5_000);
    expect(ann.client.updates.length).toBe(before);
    server.presence.lost(TOPIC, again.client);
    await clock.advance(2_900);
    expect(server.keys()).toEqual(["ann", "ben"]);
    await clock.advance(400);
    expect(ann.client.last?.left).toEqual(["ben"]);
  });

  test("removes a member who leaves at once, and only with its last connection", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const [one, two] = [await server.join("ann"), await server.join("ann")];
    server.presence.leave(TOPIC, one.client);
    expect(server.keys()).toEqual(["ann"]);
    server.presence.leave(TOPIC, two.client);
    expect(server.keys()).toEqual([]);
  });

  test("is an exact count above maxMembers, read in pages, and a list again when it is short", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const options = { maxMembers: 10, leaveGraceMs: 3_000 };
    const clients: Client[] = [];
    for (let i = 0; i < 25; i++)
      clients.push((await server.join(`m${String(i).padStart(2, "0")}`, options)).client);
    await clock.advance(200);
    expect(clients[0]?.last).toEqual({ topic: TOPIC, count: 25, partial: false });
    const late = await server.join("z", options);
    expect(late.joined).toEqual({ count: 26 });
    await clock.advance(200);
    expect(clients[0]?.last?.count).toBe(26);
    const keys: string[] = [];
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page = server.presence.page(TOPIC, after === "" ? {} : { after });
      expect([page.members.length <= 10, page.count]).toEqual([true, 26]);
      keys.push(...page.members.map(({ key }) => key));
      after = page.next;
    }
    expect(keys).toEqual([...Array.from({ length: 25 }, (_, i) => `m${String(i).padStart(2, "0")}`), "z"]);
    for (const client of clients.slice(9)) server.presence.leave(TOPIC, client);
    await clock.advance(200);
    // 10 of 26 are left, but a list near its limit would change its form all the time.
    expect(clients[0]?.last?.count).toBe(10);
    server.presence.leave(TOPIC, late.client);
    await clock.advance(200);
    expect(keysOf(clients[0]?.last?.members)).toEqual(keys.slice(0, 9));
  });

  test("is sent less often to many connections", async () => {
    const clock = new FakeClock();
    const server = startServer(clock, undefined);
    const clients = await Promise.all(Array.from({ length: 4_000 }, (_, i) => server.join(`${i % 10}`)));
    await clock.advance(400);
    const [first] = clients;
    const before = first?.client.updates.length ?? 0;
    for (let i = 0; i < 10; i++) {
      await server.join(`late ${i}`);
      await clock.advance(100);
    }
    await clock.advance(400);
    expect((first?.client.updates.length ?? 0) - before).toBeLessThanOrEqual(4);
  });
});

describe("a list over several servers", () => {
  test.each([
    [
      "of one process",
      () => {
        const pubsub = new MemoryPubSub();
        return () => pubsub;
      },
    ],
    [
      "with a broker",
      () => {
        const lines = new Set<Line>();
        return () => new Line(lines);
      },
    ],
  ])("%s is the union of their members", async (_, start) => {
    const clock = new FakeClock();
    const open = start();
    const [here, there] = [startServer(clock, open()), startServer(clock, open())];
    await clock.advance(600);
    const ann = await here.join("ann");
    await clock.advance(200);
    const ben = await there.join("ben");
    expect(keysOf(ben.joined.members)).toEqual(["ann", "ben"]);
    await clock.advance(600);
    expect(here.keys()).toEqual(["ann", "ben"]);
    expect(keysOf(ann.client.last?.joined)).toEqual(["ben"]);
    there.presence.leave(TOPIC, ben.client);
    await clock.advance(600);
    expect(here.keys()).toEqual(["ann"]);
    expect(
      (await Promise.all([there.presence.read(TOPIC, OPTIONS, {}), clock.advance(500)]))[0].members,
    ).toEqual([{ key: "ann", name: "ann" }]);
  });

  test("shows a member who moves from a server that drains to another without an event", async () => {
    const clock = new FakeClock();
    const lines = new Set<Line>();
    const servers = [0, 1, 2].map(() => startServer(clock, new Line(lines)));
    const [watcher, old, next] = servers;
    if (watcher === undefined || old === undefined || next === undefined) throw new Error("no servers");
    await clock.advance(600);
    const ann = await watcher.join("ann");
    const ben = await old.join("ben");
    await old.join("cas");
    await clock.advance(1_000);
    expect(watcher.keys()).toEqual(["ann", "ben", "cas"]);
    const before = ann.client.updates.length;
    old.presence.lost(TOPIC, ben.client);
    await clock.advance(500);
    void old.presence.stop();
    await clock.advance(500);
    await next.join("ben");
    await clock.advance(1_000);
    expect(ann.client.updates.length).toBe(before);
    // cas does not return.
    await clock.advance(3_000);
    expect(watcher.keys()).toEqual(["ann", "ben"]);
    expect(ann.client.updates.flatMap(({ left = [] }) => left)).toEqual(["cas"]);
  });

  test("loses the members of a process that is silent for 3 s, and not before", async () => {
    const clock = new FakeClock();
    const lines = new Set<Line>();
    const line = new Line(lines);
    const [here, there] = [startServer(clock, new Line(lines)), startServer(clock, line)];
    await clock.advance(600);
    const ann = await here.join("ann");
    await there.join("ben");
    await clock.advance(1_000);
    line.close();
    await clock.advance(2_400);
    expect(here.keys()).toEqual(["ann", "ben"]);
    await clock.advance(900);
    expect(here.keys()).toEqual(["ann"]);
    expect(ann.client.last).toMatchObject({ left: ["ben"], partial: false });
  });

  test("is partial while the broker is down, and keeps all members", async () => {
    const clock = new FakeClock();
    const lines = new Set<Line>();
    const [near, far] = [new Line(lines), new Line(lines)];
    const [here, there] = [startServer(clock, near), startServer(clock, far)];
    await clock.advance(600);
    const ann = await here.join("ann");
    await there.join("ben");
    await clock.advance(1_000);
    expect(here.presence.page(TOPIC, {})).toMatchObject({ count: 2, partial: false });
    near.isUp = false;
    far.isUp = false;
    await clock.advance(2_500);
    expect(ann.client.last?.partial).toBe(true);
    await clock.advance(60_000);
    expect(here.presence.page(TOPIC, {})).toMatchObject({ count: 2, partial: true });
    const late = await here.join("cas");
    expect(late.joined.partial).toBe(true);
    near.isUp = true;
    // The other process takes longer to reconnect.
    await clock.advance(2_500);
    expect(here.presence.page(TOPIC, {})).toMatchObject({ count: 3, partial: true });
    far.isUp = true;
    await clock.advance(2_500);
    expect(here.presence.page(TOPIC, {})).toMatchObject({ count: 3, partial: false });
    expect(ann.client.last?.partial).toBe(false);
    expect(there.keys()).toEqual(["ann", "ben", "cas"]);
    expect(ann.client.updates.flatMap(({ left = [] }) => left)).toEqual([]);
  });

  test("learns what was missed in a short interruption", async () => {
    const clock = new FakeClock();
    const lines = new Set<Line>();
    const [near, far] = [new Line(lines), new Line(lines)];
    const [here, there] = [startServer(clock, near), startServer(clock, far)];
    await clock.advance(600);
    await here.join("ann");
    const ben = await there.join("ben");
    await clock.advance(1_000);
    near.isUp = false;
    there.presence.leave(TOPIC, ben.client);
    await there.join("cas");
    await clock.advance(400);
    near.isUp = true;
    await clock.advance(2_000);
    expect(here.keys()).toEqual(["ann", "cas"]);
    expect(here.presence.page(TOPIC, {}).partial).toBe(false);
  });

  test("survives forged messages, and processes that never answer leave after 3 s", async () => {
    const clock = new FakeClock();
    const lines = new Set<Line>();
    const [line, other] = [new Line(lines), new Line(lines)];
    const server = startServer(clock, line);
    await clock.advance(600);
    await server.join("ann");
    const forge = (fields: object) =>
      other.publish(companionOf(TOPIC), JSON.stringify({ type: "$ws:presence", ...fields }));
    const forgePeer = (fields: object) => other.publish("", JSON.stringify({ type: "$ws:peer", ...fields }));
    for (let i = 0; i < 2_000; i++) forgePeer({ is: "alive", from: `forged ${i}`, everyMs: 500, note: 9 });
    forgePeer({ is: "bye", from: "forged 1", graceMs: 4_000 });
    forge({
      is: "changes",
      from: "x",
      topic: TOPIC,
      version: 1,
      previous: 0,
      joined: [[1, { key: "k" }]],
      left: [],
    });
    forge({
      is: "ask",
      from: "forged 2",
      id: 1,
      rooms: [
        [TOPIC, 5, 0, []],
        ["$c/elsewhere", 5, 0, []],
      ],
    });
    forge({ is: "answer", from: "forged 2", version: 9, id: 1, part: 0, parts: 2, rooms: [] });
    await clock.advance(200);
    expect(server.presence.page(TOPIC, {})).toMatchObject({ count: 1, partial: true });
    await clock.advance(5_000);
    expect(server.presence.page(TOPIC, {})).toMatchObject({ count: 1, partial: false });
    expect(server.presence.page("$c/elsewhere", {}).count).toBe(0);
  });

  test("costs as many bytes per join with 2,000 other channels as without", async () => {
    const bytesPerJoin = async (channels: number): Promise<number> => {
      const clock = new FakeClock();
      const lines = new Set<Line>();
      const [near, far] = [new Line(lines), new Line(lines)];
      const [here, there] = [startServer(clock, near), startServer(clock, far)];
      await clock.advance(600);
      const joins: Promise<unknown>[] = [];
      for (let i = 0; i < channels; i++) joins.push(here.join("ann", OPTIONS, `$c/other ${i}`));
      await Promise.all([...joins, clock.advance(1_000)]);
      await there.join("ann");
      await clock.advance(2_000);
      const before = near.sent + far.sent;
      for (let i = 0; i < 20; i++) {
        await here.join(`member ${i}`);
        await clock.advance(200);
      }
      return (near.sent + far.sent - before) / 20;
    };
    expect(await bytesPerJoin(2_000)).toBeLessThan(1.2 * (await bytesPerJoin(0)));
  });
});
