import { describe, expect, test } from "vitest";
import type { Envelope, Meta } from "../protocol/envelope.ts";
import type { ClientCore } from "./core.ts";
import { errorIn, failure } from "./failures.ts";
import { createRoomMembers } from "./room-members.ts";

function start({ isOpen = true } = {}) {
  const sent: { type: string; payload: unknown; meta: Meta }[] = [];
  const core = {
    environment: globalThis,
    failure,
    errorIn,
    thrown: (error: unknown) => {
      throw error;
    },
    sendControl(type: string, payload: unknown, meta: Meta) {
      sent.push({ type, payload, meta });
      return isOpen;
    },
  } as unknown as ClientCore;
  let last = 0;
  const members = createRoomMembers(core, { channel: "room", params: {} }, () => `id${++last}`);
  const keys = () => members.list.map(({ key }) => key);
  return { members, sent, keys };
}

const frame = (type: string, correlationId: string, payload: unknown): Envelope => ({
  problem: undefined,
  type,
  meta: { correlationId },
  payload,
  hasCustom: false,
});

describe("the members of a room", () => {
  test("follow the frames of the server, as a new array each time", () => {
    const { members, keys } = start();
    const lists: unknown[] = [];
    members.changes.add((list) => lists.push(list));
    members.update({ members: [{ key: "ann", name: "Ann" }] });
    const before = members.list;
    members.update({ joined: [{ key: "ben" }, { key: "ann", name: "Anna" }], left: ["cas"], partial: true });
    expect(members.list).toEqual([{ key: "ann", name: "Anna" }, { key: "ben" }]);
    expect(before).toEqual([{ key: "ann", name: "Ann" }]);
    expect([members.count, members.isPartial]).toEqual([2, true]);
    members.update({ left: ["ann"], partial: false });
    expect([keys(), members.isPartial, lists.length]).toEqual([["ben"], false, 3]);
  });

  test("are a count when they are too many, and a list again later", () => {
    const { members, keys } = start();
    members.update({ members: [{ key: "ann" }] });
    members.update({ count: 1_500, partial: false });
    expect([keys(), members.count]).toEqual([[], 1_500]);
    members.update({ members: [{ key: "ben" }], partial: false });
    expect([keys(), members.count]).toEqual([["ben"], 1]);
  });

  test("survive frames that no server of this protocol sends", () => {
    const { members, keys } = start();
    members.update({ members: [null, 5, "x", {}, { key: 7 }, { key: "ann" }], left: "ann", count: "many" });
    members.update({ joined: {}, left: [{}, null] });
    expect(keys()).toEqual(["ann"]);
  });

  test("are read in pages, which fail when the server refuses or the connection is lost", async () => {
    const { members, sent } = start();
    const page = members.page({ after: "ann", limit: 2 });
    expect(sent).toEqual([
      {
        type: "$ws:members",
        payload: { channel: "room", params: {}, after: "ann", limit: 2 },
        meta: { correlationId: "id1" },
      },
    ]);
    expect(members.answered(frame("$ws:members", "other", {}))).toBe(false);
    const answer = { topic: "t", members: [{ key: "ben" }], count: 2, partial: false };
    expect(members.answered(frame("$ws:members", "id1", answer))).toBe(true);
    expect(await page).toEqual(answer);
    const refused = members.page();
    members.answered(frame("$ws:error", "id2", { code: "FAILED_PRECONDITION", message: "not joined" }));
    await expect(refused).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
    const codes: string[] = [];
    members.page().catch(({ code }: { code: string }) => codes.push(code));
    members.lost();
    await Promise.resolve();
    expect(codes).toEqual(["UNAVAILABLE"]);
    await expect(start({ isOpen: false }).members.page()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
