import { expect, test } from "vitest";
import type { OpenContext } from "../router/context.ts";
import { createTestServer, type TestConnection } from "../testing/index.ts";
import { channel, createRouter, message, rpc, z } from "../zod.ts";

interface Data {
  readonly clientId: string;
  readonly name?: string;
}

const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [message("SAID", {})],
  presence: { name: z.string() },
});
const Rename = rpc("RENAME", { names: z.array(z.string()) }, "RENAMED", {});

function serve(shows: (ctx: OpenContext<Data>) => void = () => undefined) {
  const router = createRouter<Data>()
    .channel(Room, {
      authorize: () => true,
      presence: (ctx) => {
        shows(ctx);
        return { name: ctx.data.name ?? "nobody" };
      },
    })
    .rpc(Rename, (ctx) => {
      for (const name of ctx.payload.names) ctx.assignData({ name });
      return {};
    });
  const server = createTestServer(router);
  const members = async () => (await router.to(Room, { id: "a" }).members()).map(({ name }) => name);
  return { server, members };
}

const join = (peer: TestConnection) =>
  peer.sendRaw(
    JSON.stringify({
      type: "$ws:join",
      meta: { correlationId: "join" },
      payload: { channel: "room:{id}", params: { id: "a" } },
    }),
  );

test("several assignments in one tick run presence once, with the last of them", async () => {
  const shown: unknown[] = [];
  const { server, members } = serve((ctx) => shown.push(ctx.data.name));
  const peer = await server.connect();
  await join(peer);
  await peer.request(Rename, { names: ["Ann", "Annette", "Anna"] });
  expect([await members(), shown]).toEqual([["Anna"], [undefined, "Anna"]]);
});

test("data that is assigned while a join is under way is in its member", async () => {
  let isFirst = true;
  const { server, members } = serve((ctx) => {
    if (isFirst) void Promise.resolve().then(() => ctx.assignData({ name: "Anna" }));
    isFirst = false;
  });
  await join(await server.connect());
  expect(await members()).toEqual(["Anna"]);
});

test("a presence that assigns data itself runs once for each assignment of others", async () => {
  let runs = 0;
  const { server, members } = serve((ctx) => {
    // A bound, so that the test fails and does not hang.
    if (++runs < 100) ctx.assignData({ name: `run ${runs}` });
  });
  const peer = await server.connect();
  await join(peer);
  const before = runs;
  await peer.request(Rename, { names: ["Anna"] });
  expect([runs - before, await members()]).toEqual([1, [`run ${runs}`]]);
});
