/** Requests in flight and deadlines while a Durable Object hibernates. */
import { describe, expect, test } from "vitest";
import { greeted, type Peer } from "./contract/adapter/peer.ts";
import { POLL } from "./contract/adapter/suite.ts";
import {
  address,
  answersTo,
  ask,
  freshRoom,
  look,
  publish,
  seenOf,
  sleep,
  startRooms,
  stateOf,
} from "./fixtures/hibernating-rooms.ts";

startRooms();

describe("a Durable Object", () => {
  test("answers a request lost to hibernation with UNAVAILABLE at the next event, once", async () => {
    freshRoom();
    const [ada, ben] = [await greeted(address()), await greeted(address())];
    ada.send("HANG", undefined, { correlationId: "h" });
    await ada.request("LOOK");
    expect(await sleep()).toBe(true);
    await ben.request("LOOK");
    expect(await ada.answer("h")).toMatchObject({
      type: "$ws:error",
      payload: { code: "UNAVAILABLE" },
    });
    await sleep();
    await ada.request("LOOK");
    expect(answersTo(ada, "h")).toHaveLength(1);
  });

  test("ends a request at the deadline set before hibernation, without any further frame", async () => {
    freshRoom();
    const peer = await greeted(address());
    const startedAt = performance.now();
    peer.send("HANG", undefined, { correlationId: "h", timeoutMs: 700 });
    await peer.request("LOOK");
    expect(await sleep()).toBe(true);
    expect(await peer.answer("h")).toMatchObject({ payload: { code: "DEADLINE_EXCEEDED" } });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(690);
    await peer.request("LOOK");
    expect(answersTo(peer, "h")).toHaveLength(1);
  });

  test("answers each of a thousand requests lost at once", async () => {
    freshRoom();
    const peer = await greeted(address());
    const ids = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(128, "c"));
    for (const correlationId of ids) peer.send("HANG", undefined, { correlationId });
    await peer.request("LOOK");
    const { attachedBytes, stored } = await look();
    expect(attachedBytes).toBeLessThanOrEqual(8_192);
    expect(stored).toHaveLength(1_000);
    await sleep();
    await peer.request("LOOK");
    for (const id of ids) expect(answersTo(peer, id)).toMatchObject([{ payload: { code: "UNAVAILABLE" } }]);
    expect((await look()).stored).toEqual([]);
  });

  test("ends a login at its expiry, hibernating or not", async () => {
    freshRoom();
    const startedAt = performance.now();
    const peer = await greeted(address("ada-1500"));
    expect(await sleep()).toBe(true);
    expect(await peer.closed).toMatchObject({ code: 4401 });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1_490);
    await expect.poll(() => seenOf(peer), POLL).toEqual(["open", "close 4401 ada"]);
  });

  test("ends several logins each at its expiry, although it hibernates in between", async () => {
    freshRoom();
    const peers: Peer[] = [];
    for (const lifeMs of [500, 1_200, 1_900]) peers.push(await greeted(address(`ada-${lifeMs}`)));
    for (const peer of peers) {
      expect(await sleep()).toBe(true);
      expect(await peer.closed).toMatchObject({ code: 4401 });
    }
  });

  test("delivers nothing to a login that has expired, however late the alarm is", async () => {
    freshRoom();
    const peer = await greeted(address("ada-1500"));
    await peer.request("JOIN", { topics: ["news"] });
    await ask("/forget-alarm");
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(await publish("news", "late")).toEqual({ ok: true, matchedLocal: 0 });
    expect(await peer.closed).toMatchObject({ code: 4401 });
  });

  test("accepts a login that expires later than any alarm can be set", async () => {
    freshRoom();
    const peer = await greeted(address("ada-8640000000000000"));
    expect(await stateOf(peer)).toMatchObject({ data: { userId: "ada" } });
    await sleep();
    expect(await stateOf(peer)).toMatchObject({ data: { userId: "ada" } });
  });

  test("refuses an invalid time, and no other deadline is affected", async () => {
    freshRoom();
    const peer = await greeted(address("ada-600"));
    for (const at of ["never", "-1e15", "1e300"]) {
      expect(await ask("/alarm", `in=${at}`)).toMatchObject({ error: expect.stringContaining("setAlarm") });
    }
    await sleep();
    expect(await peer.closed).toMatchObject({ code: 4401 });
  });

  test("runs the application's alarm beside the deadlines", async () => {
    freshRoom();
    const peer = await greeted(address("ada-60000"));
    await ask("/alarm", "in=300");
    await sleep();
    await expect.poll(async () => (await look()).alarms, POLL).toBe(1);
    expect((await look()).stored).toEqual([]);
    expect(await peer.request("LOOK")).toMatchObject({ type: "SEEN" });
  });
});
