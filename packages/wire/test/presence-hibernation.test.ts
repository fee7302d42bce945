/** Members of a channel in a Durable Object that hibernates. */
import { startWorker, type Worker } from "@halyard/services/worker";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { disconnectAll, greeted, type Peer, speakFirst } from "./contract/adapter/peer.ts";
import { POLL } from "./contract/adapter/suite.ts";

const CHANNEL = { channel: "room:{id}", params: { id: "general" } };

let worker: Worker;
let rooms = 0;
let room = "";
beforeAll(async () => {
  worker = await startWorker({
    entry: new URL("fixtures/presence-worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: "PresenceRoom" },
    evictable: true,
  });
  speakFirst(worker.url);
});
afterEach(disconnectAll);
afterAll(() => worker.stop());

interface Seen {
  readonly hooks: readonly string[];
  readonly instances: number;
  /** How many members without a connection are in the storage. */
  readonly stored: number;
  readonly members: readonly string[];
}

const look = async (): Promise<Seen> =>
  (await (await fetch(`${worker.url.replace("ws:", "http:")}/look?room=${room}`)).json()) as Seen;
const sleep = (): Promise<boolean> => worker.evict("ROOM", room);

interface Update {
  readonly joined?: readonly { key: string }[];
  readonly left?: readonly string[];
}

const updatesOf = (peer: Peer): Update[] =>
  peer.frames
    .filter(({ type, meta }) => type === "$ws:members" && meta["correlationId"] === undefined)
    .map(({ payload }) => payload as Update);

async function join(user: string): Promise<Peer> {
  const peer = await greeted(`${worker.url}/?room=${room}&access_token=${user}`);
  expect((await peer.request("$ws:join", CHANNEL)).type).toBe("$ws:joined");
  return peer;
}

/** Two members who know of each other, and an object that is asleep. */
async function start(): Promise<{ ann: Peer; ben: Peer; before: number }> {
  room = `room-${++rooms}`;
  const [ann, ben] = [await join("ann"), await join("ben")];
  await expect
    .poll(() => updatesOf(ann).flatMap(({ joined = [] }) => joined.map(({ key }) => key)), POLL)
    .toContain("ben");
  expect(await sleep()).toBe(true);
  return { ann, ben, before: updatesOf(ann).length };
}

describe("members of an object after hibernation", () => {
  test("are the same; neither authorize nor onJoin runs again, and no change is sent", async () => {
    const { ann, before } = await start();
    const { hooks, instances, members } = await look();
    expect(members).toEqual(["ann", "ben"]);
    expect(await sleep()).toBe(true);
    const page = await ann.request("$ws:members", CHANNEL);
    expect(page.payload).toMatchObject({
      members: [
        { key: "ann", name: "Name of ann" },
        { key: "ben", name: "Name of ben" },
      ],
      count: 2,
      partial: false,
    });
    const after = await look();
    expect([after.hooks.length, after.instances]).toEqual([hooks.length, instances + 1]);
    expect(updatesOf(ann)).toHaveLength(before);
  });

  test("leave after the grace time although the object slept in between", async () => {
    const { ann, ben } = await start();
    ben.terminate();
    await expect.poll(async () => (await look()).stored, POLL).toBe(1);
    expect((await look()).members).toEqual(["ann", "ben"]);
    await sleep();
    await expect.poll(() => updatesOf(ann).flatMap(({ left = [] }) => left), POLL).toEqual(["ben"]);
    expect(await look()).toMatchObject({ members: ["ann"], stored: 0 });
  });

  test("who return within the grace time were never away", async () => {
    const { ann, ben, before } = await start();
    ben.terminate();
    await expect.poll(async () => (await look()).stored, POLL).toBe(1);
    await sleep();
    const again = await join("ben");
    expect((await look()).stored).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await look()).members).toEqual(["ann", "ben"]);
    expect(updatesOf(ann)).toHaveLength(before);
    await again.request("$ws:leave", CHANNEL);
    await expect.poll(() => updatesOf(ann).flatMap(({ left = [] }) => left), POLL).toEqual(["ben"]);
  });
});
