/** The state that a Durable Object keeps during hibernation, and that nothing keeps it awake. */
import { describe, expect, test } from "vitest";
import { connect, greeted, type Peer } from "./contract/adapter/peer.ts";
import { POLL } from "./contract/adapter/suite.ts";
import {
  address,
  ask,
  errors,
  freshRoom,
  look,
  news,
  publish,
  seenOf,
  sleep,
  sleepWithoutSockets,
  startRooms,
  stateOf,
} from "./fixtures/hibernating-rooms.ts";

startRooms();

describe("an object after hibernation", () => {
  test("has its data, topics and ids, and runs onOpen for no connection again", async () => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("JOIN", { topics: ["a", "b"] });
    await peer.request("ASSIGN", { how: "now", fields: { team: "red", at: null } });
    const { instance } = await look();
    expect(await sleep()).toBe(true);
    expect(await stateOf(peer)).toEqual({
      data: { clientId: peer.clientId, userId: "ada", team: "red", at: null },
      topics: ["a", "b"],
    });
    expect((await look()).instance).toBe(instance + 1);
    expect(await seenOf(peer)).toEqual(["open", "auth"]);
  });

  test.each(["directly", "later"])("has the data that a handler changed %s", async (how) => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("ASSIGN", { how, fields: { team: "blue" } });
    expect(await sleep()).toBe(true);
    const { data, topics } = await stateOf(peer);
    expect(data["team"]).toBe("blue");
    expect(topics).toEqual(how === "later" ? ["late"] : []);
  });

  test("gives its handlers the storage of its own object", async () => {
    freshRoom();
    const ada = await greeted(address());
    expect((await ada.request("COUNT")).payload).toEqual({ count: 1 });
    await sleep();
    expect((await ada.request("COUNT")).payload).toEqual({ count: 2 });
    freshRoom();
    const ben = await greeted(address());
    expect((await ben.request("COUNT")).payload).toEqual({ count: 1 });
  });

  test("does not restore a topic that was unsubscribed", async () => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("JOIN", { topics: ["a", "b"] });
    await sleep();
    await peer.request("LEAVE", { topics: ["a"] });
    await sleep();
    expect((await publish("a", "x")).matchedLocal).toBe(0);
    expect((await stateOf(peer)).topics).toEqual(["b"]);
  });

  test("runs onAuth only for a connection that had sent nothing", async () => {
    freshRoom();
    const peer = await greeted(address());
    await sleep();
    expect(await seenOf(peer)).toEqual(["open"]);
    await peer.request("LOOK");
    await sleep();
    await peer.request("LOOK");
    expect(await seenOf(peer)).toEqual(["open", "auth"]);
  });

  test("runs onClose once for a peer that left, with its data", async () => {
    freshRoom();
    const peer = await greeted(address());
    await sleep();
    await peer.close(4321, "enough");
    await expect.poll(() => seenOf(peer), POLL).toEqual(["open", "close 4321 ada"]);
    await sleep();
    expect(await seenOf(peer)).toEqual(["open", "close 4321 ada"]);
  });

  test("publishes to and disconnects the connections that it had", async () => {
    freshRoom();
    const [ada, ben] = [await greeted(address("ada")), await greeted(address("ben"))];
    for (const peer of [ada, ben]) await peer.request("JOIN", { topics: ["news"] });
    await sleep();
    expect(await publish("news", "hello")).toEqual({ ok: true, matchedLocal: 2 });
    await sleep();
    expect(await ask("/disconnect", "user=ben")).toBe(1);
    expect(await ben.closed).toMatchObject({ code: 4100 });
    await expect.poll(() => seenOf(ben), POLL).toContain("close 4100 ben");
    expect(news(ada)).toEqual(["hello"]);
    expect((await publish("news", "again")).matchedLocal).toBe(1);
  });

  test("reports the close code of a peer that waited for a response to onClose", async () => {
    freshRoom();
    const peer = await greeted(address());
    peer.send("HANG", undefined, { correlationId: "h" });
    await peer.request("LOOK");
    await sleep();
    await peer.close(4321, "enough");
    await expect.poll(() => seenOf(peer), POLL).toEqual(["open", "auth", "close 4321 ada"]);
  });

  test("has the data that an asynchronous onOpen of the adapter changed", async () => {
    freshRoom();
    const peer = await greeted(address("slow"));
    await expect.poll(() => seenOf(peer), POLL).toContain("welcome");
    await sleep();
    expect((await stateOf(peer)).data["welcomed"]).toBe(true);
  });

  test("ignores a socket with a foreign attachment and serves the others", async () => {
    freshRoom();
    const [ada, ben] = [await greeted(address("ada")), await greeted(address("ben"))];
    await ada.request("JOIN", { topics: ["news"] });
    await ask("/attach", "user=ben&what=own");
    await sleep();
    expect(await publish("news", "hello")).toEqual({ ok: true, matchedLocal: 1 });
    ben.send("LOOK");
    expect(await stateOf(ada)).toMatchObject({ data: { userId: "ada" } });
  });

  test("closes a connection whose state cannot be read and serves the others", async () => {
    freshRoom();
    const [ada, ben] = [await greeted(address("ada")), await greeted(address("ben"))];
    await ada.request("JOIN", { topics: ["news"] });
    await ask("/attach", "user=ben&what=unreadable");
    await sleep();
    expect(await publish("news", "hello")).toEqual({ ok: true, matchedLocal: 1 });
    expect(await ben.closed).toMatchObject({ code: 1012 });
    expect(await errors("the state of the connection was lost")).toHaveLength(1);
    expect(await stateOf(ada)).toMatchObject({ data: { userId: "ada" } });
  });

  test("closes a connection whose data the application has deleted", async () => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("ASSIGN", { how: "now", fields: { notes: "x".repeat(20_000) } });
    await ask("/empty");
    await sleep();
    await look();
    expect(await peer.closed).toMatchObject({ code: 1012 });
  });
});

describe("the stored state", () => {
  test.each([
    { what: "ASCII", letter: "t" },
    { what: "Cyrillic", letter: "ж" },
  ])("holds 256 topics of 256 $what characters, in the attachment or in the storage", async ({ letter }) => {
    freshRoom();
    const peer = await greeted(address());
    const topics = Array.from({ length: 256 }, (_, i) => `${i}`.padStart(256, letter));
    for (let i = 0; i < topics.length; i += 8) await peer.request("JOIN", { topics: topics.slice(i, i + 8) });
    const { attachedBytes, stored } = await look();
    expect(attachedBytes).toBeLessThanOrEqual(8_192);
    expect(stored).toEqual([expect.stringMatching(/:topics$/)]);
    await sleep();
    expect((await stateOf(peer)).topics).toEqual(topics);
    expect((await publish(topics[255] ?? "", "x")).matchedLocal).toBe(1);
    await peer.close();
    await expect.poll(async () => (await look()).stored, POLL).toEqual([]);
  });

  test("moves data of any size to the storage and back to the socket when it is small", async () => {
    freshRoom();
    const peer = await greeted(address());
    for (const bytes of [7_000, 8_200, 16_300, 17_000, 500_000]) {
      const notes = "n".repeat(bytes);
      await peer.request("ASSIGN", { how: "now", fields: { notes } });
      const { attachedBytes, stored } = await look();
      expect(attachedBytes).toBeLessThanOrEqual(8_192);
      expect(stored.length).toBe(bytes > 7_500 ? 1 : 0);
      await sleep();
      expect((await stateOf(peer)).data["notes"]).toBe(notes);
    }
    await peer.request("ASSIGN", { how: "now", fields: { notes: "" } });
    expect((await look()).stored).toEqual([]);
    await sleep();
    expect((await stateOf(peer)).data["notes"]).toBe("");
  });

  test("treats a small view of a large buffer like a large value", async () => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("ASSIGN", { how: "view", fields: {} });
    expect((await look()).stored).toHaveLength(1);
    await sleep();
    expect((await stateOf(peer)).data["view"]).toEqual({ 0: 7, 1: 0 });
  });

  test("of closed sockets is deleted at the next event", async () => {
    freshRoom();
    const peer = await greeted(address());
    await peer.request("ASSIGN", { how: "now", fields: { notes: "n".repeat(20_000) } });
    expect((await look()).stored).toHaveLength(1);
    await sleepWithoutSockets();
    await peer.closed;
    expect((await look()).stored).toEqual([]);
  });

  test("that cannot be saved closes its connection with 1011 and is reported to onError", async () => {
    freshRoom();
    const peer = await greeted(address());
    peer.send("SPOIL");
    expect(await peer.closed).toMatchObject({ code: 1011 });
    expect(await errors("its data cannot be cloned")).toHaveLength(1);
  });
});

describe("a full object", () => {
  test("with 1,000 sockets on 200 topics delivers the next publish after hibernation to all subscribers", async () => {
    freshRoom();
    // In sequence: an engine older than August 2026 does not hibernate an object that accepted two at once (workerd#6862).
    const peers: Peer[] = [];
    for (let i = 0; i < 1_000; i++) peers.push(await connect(address()));
    await Promise.all(
      peers.map((peer, i) =>
        peer.request("JOIN", { topics: [0, 1, 2, 3].map((k) => `topic-${(i + k * 50) % 200}`) }),
      ),
    );
    expect((await look()).timers).toBe(0);
    expect(await sleep()).toBe(true);
    expect(await publish("topic-7", "first")).toEqual({ ok: true, matchedLocal: 20 });
    const subscribers = peers.filter((_, i) => (i - 7) % 50 === 0);
    await Promise.all(subscribers.map((peer) => peer.next("NEWS")));
    expect(peers.every((peer) => news(peer).length === (subscribers.includes(peer) ? 1 : 0))).toBe(true);
    for (let topic = 0; topic < 200; topic++) {
      if (topic % 50 === 0) await sleep();
      expect((await publish(`topic-${topic}`, "all")).matchedLocal).toBe(20);
    }
    await Promise.all(peers.map((peer) => peer.request("LOOK")));
    for (const peer of peers) expect(news(peer).filter((text) => text === "all")).toHaveLength(4);
  }, 60_000);

  test("hibernates with idle sockets, and their pings do not wake it", async () => {
    freshRoom();
    const peers: Peer[] = [];
    for (const token of ["ada", "ben-3600000", "cyd"]) peers.push(await greeted(address(token)));
    await peers[0]?.request("JOIN", { topics: ["news"] });
    await peers[2]?.request("ASSIGN", { how: "later", fields: { a: 1 } });
    await expect.poll(async () => (await look()).timers, POLL).toBe(0);
    const { instance } = await look();
    // The platform hibernates an object ten seconds after its last event.
    for (let second = 0; second < 14; second++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      for (const peer of peers) peer.sendRaw('{"type":"$ws:ping"}');
    }
    const pongs = (peer: Peer) => peer.frames.filter(({ type }) => type === "$ws:pong").length;
    await expect.poll(() => peers.map(pongs), POLL).toEqual([14, 14, 14]);
    expect((await look()).instance).toBe(instance + 1);
    expect(await publish("news", "morning")).toEqual({ ok: true, matchedLocal: 1 });
  }, 30_000);
});
