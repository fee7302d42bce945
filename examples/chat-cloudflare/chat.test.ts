/** Tests of the example with real clients, and the worker in the platform's own engine. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { Worker } from "@halyard/services/worker";
import { type WsClient, wsClient } from "@halyard/wire/client";
import { startLocally } from "./local.ts";
import { Said, Say } from "./messages.ts";

let worker: Worker;
const clients: WsClient[] = [];

before(async () => {
  worker = await startLocally();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
after(() => worker.stop());

// `void`: the test runner waits for its tests.
void test("clients in a room receive each other's messages, and a client in another room does not", async () => {
  const [ada, bob, cara] = [
    await enter("ada", "harbour"),
    await enter("bob", "harbour"),
    await enter("cara", "attic"),
  ];
  await ada.client.request(Say, { text: "Ahoy!" });
  await bob.client.request(Say, { text: "Ahoy, Ada." });
  const both = ["ada: Ahoy!", "bob: Ahoy, Ada."];
  await until(
    () => ada.received.length === 2 && bob.received.length === 2,
    "both clients to receive both messages",
  );
  assert.deepEqual([ada.received, bob.received], [both, both]);

  // Messages of one connection keep their order, so a message of the other room would have arrived before her own.
  await cara.client.request(Say, { text: "Anybody?" });
  await until(() => cara.received.length > 0, "cara to receive her own message");
  assert.deepEqual(cara.received, ["cara: Anybody?"]);
});

void test("a room keeps its connections and their data during hibernation", async () => {
  const [ada, bob] = [await enter("ada", "cabin"), await enter("bob", "cabin")];
  assert.deepEqual((await ada.client.request(Say, { text: "Good night." })).payload, { lines: 1 });
  assert.ok(await worker.evict("ROOM", "cabin"), "the room did not hibernate");

  assert.deepEqual((await ada.client.request(Say, { text: "Good morning." })).payload, { lines: 2 });
  await until(() => bob.received.length === 2, "bob to receive both messages");
  assert.deepEqual(bob.received, ["ada: Good night.", "ada: Good morning."]);
  assert.deepEqual([ada.client.state, bob.client.state], ["open", "open"]);
});

void test("the worker announces to a room, also to a hibernating one, and to no other room", async () => {
  const [ada, bob] = [await enter("ada", "deck"), await enter("bob", "hold")];
  assert.ok(await worker.evict("ROOM", "deck"), "the room did not hibernate");
  assert.equal((await announce("deck", "Land!", "ada-token")).status, 204);
  await until(() => ada.received.length > 0, "ada to receive it");
  assert.deepEqual(ada.received, ["(announcement): Land!"]);
  await bob.client.request(Say, { text: "What?" });
  await until(() => bob.received.length > 0, "bob to receive his own message");
  assert.deepEqual(bob.received, ["bob: What?"]);
  assert.equal((await announce("deck", "Sharks!", "guessed-token")).status, 401);
});

void test("the server refuses a wrong token and an invalid room, and the client does not try again", async () => {
  for (const [room, token, code] of [
    ["harbour", "guessed-token", "UNAUTHENTICATED"],
    ["Not%20a%20room", "ada-token", "PERMISSION_DENIED"],
  ] as const) {
    const client = clientFor(room, token);
    await assert.rejects(client.connect(), { code });
    assert.equal(client.state, "closed");
  }
});

function clientFor(room: string, token: string): WsClient {
  const client = wsClient({
    url: `${worker.url}/rooms/${room}`,
    auth: { getToken: () => token, attach: "protocol" },
  });
  clients.push(client);
  return client;
}

async function enter(name: string, room: string): Promise<{ client: WsClient; received: string[] }> {
  const client = clientFor(room, `${name}-token`);
  const received: string[] = [];
  client.on(Said, ({ from, text }) => received.push(`${from}: ${text}`));
  await client.connect();
  return { client, received };
}

function announce(room: string, text: string, token: string): Promise<Response> {
  return fetch(`${worker.url.replace("ws:", "http:")}/rooms/${room}/announcements`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: text,
  });
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 5_000; !condition(); await pause(5)) {
    assert.ok(Date.now() < deadline, `Waited 5 s for ${what}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
