/** The history of a channel in a Durable Object that hibernates. */
import { startWorker, type Worker } from "@halyard/services/worker";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { disconnectAll, greeted, type Peer, speakFirst } from "./contract/adapter/peer.ts";
import { POLL } from "./contract/adapter/suite.ts";

const MESSAGES = 40;
/** Together several pages, which the object sends as the client acknowledges them. */
const TEXT = "x".repeat(20_000);

let worker: Worker;
beforeAll(async () => {
  worker = await startWorker({
    entry: new URL("fixtures/channels/worker.ts", import.meta.url).pathname,
    durableObjects: { ROOM: "Room" },
    evictable: true,
  });
  speakFirst(worker.url);
});
afterEach(disconnectAll);
afterAll(() => worker.stop());

const offsetsOf = (peer: Peer): unknown[] =>
  peer.frames.flatMap(({ type, meta }) =>
    type === "SAID" ? [meta["$o"]] : type === "$ws:gap" ? ["gap"] : [],
  );
const markersOf = (peer: Peer) => peer.frames.filter(({ type }) => type === "$ws:sync");

test("guide/history: a member that replays the history while the object hibernates gets all of it, and then live messages", async () => {
  const [ann, ben] = [await greeted(`${worker.url}/?user=ann`), await greeted(`${worker.url}/?user=ben`)];
  const say = async (text: string) => {
    const { type } = await ann.request("PUBLISH", { name: "kept", id: "long", texts: [text] });
    expect(type).toBe("PUBLISHED");
  };
  for (let i = 0; i < MESSAGES; i++) await say(TEXT);
  await ben.request("$ws:join", { channel: "kept:{id}", params: { id: "long" }, last: MESSAGES });
  await expect.poll(() => markersOf(ben).length, POLL).toBe(1);
  expect(offsetsOf(ben).length).toBeLessThan(MESSAGES);

  // The client has not read the first page yet.
  expect(await worker.evict("ROOM", "channels")).toBe(true);
  for (let answered = 0; offsetsOf(ben).length < MESSAGES; answered++) {
    const isNext = () => markersOf(ben).length > answered || offsetsOf(ben).length === MESSAGES;
    await expect.poll(isNext, POLL).toBe(true);
    ben.send("$ws:synced", markersOf(ben)[answered]?.payload ?? { id: "" });
  }
  await say("live");
  const all = Array.from({ length: MESSAGES + 1 }, (_, i) => i + 1);
  await expect.poll(() => offsetsOf(ben).length, POLL).toBe(all.length);
  expect(offsetsOf(ben)).toEqual(all);
}, 30_000);
