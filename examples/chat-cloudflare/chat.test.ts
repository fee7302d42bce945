/** What the example shows, driven as its users do: real clients, and the worker in the platform's own engine. */
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

// `void`: the runner waits for its tests by itself.
void test("two people in a room hear each other; a third in another room does not", async () => {
  const [ada, bob, cara] = [
    await enter("ada", "harbour"),
    await enter("bob", "harbour"),
    await enter("cara", "attic"),
  ];
  await ada.client.request(Say, { text: "Ahoy!" });
  await bob.client.request(Say, { text: "Ahoy, Ada." });
  const both = ["ada: Ahoy!", "bob: Ahoy, Ada."];
  await until(() => ada.heard.length === 2 && bob.heard.length === 2, "both to hear both");
  assert.deepEqual([ada.heard, bob.heard], [both, both]);

  // Messages of one connection keep their order, so what was meant for cara would have come before her own.
  await cara.client.request(Say, { text: "Anybody?" });
  await until(() => cara.heard.length > 0, "cara to hear herself");
  assert.deepEqual(cara.heard, ["cara: Anybody?"]);
});

void test("a room that has slept knows who is in it, and what they have said", async () => {
  const [ada, bob] = [await enter("ada", "cabin"), await enter("bob", "cabin")];
  assert.deepEqual((await ada.client.request(Say, { text: "Good night." })).payload, { lines: 1 });
  assert.ok(await worker.evict("ROOM", "cabin"), "the room did not fall asleep");

  assert.deepEqual((await ada.client.request(Say, { text: "Good morning." })).payload, { lines: 2 });
  await until(() => bob.heard.length === 2, "bob to hear both");
  assert.deepEqual(bob.heard, ["ada: Good night.", "ada: Good morning."]);
  assert.deepEqual([ada.client.state, bob.client.state], ["open", "open"]);
});

void test("the worker announces to a room, also to one that sleeps, and to no other", async () => {
  const [ada, bob] = [await enter("ada", "deck"), await enter("bob", "hold")];
  assert.ok(await worker.evict("ROOM", "deck"), "the room did not fall asleep");
  assert.equal((await announce("deck", "Land!", "ada-token")).status, 204);
  await until(() => ada.heard.length > 0, "ada to hear it");
  assert.deepEqual(ada.heard, ["(everybody): Land!"]);
  await bob.client.request(Say, { text: "What?" });
  await until(() => bob.heard.length > 0, "bob to hear himself");
  assert.deepEqual(bob.heard, ["bob: What?"]);
  assert.equal((await announce("deck", "Sharks!", "guessed-token")).status, 401);
});

void test("a wrong token, or what is no room, is refused, and the client does not try again", async () => {
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

async function enter(name: string, room: string): Promise<{ client: WsClient; heard: string[] }> {
  const client = clientFor(room, `${name}-token`);
  const heard: string[] = [];
  client.on(Said, ({ from, text }) => heard.push(`${from}: ${text}`));
  await client.connect();
  return { client, heard };
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
    assert.ok(Date.now() < deadline, `waited 5 s for ${what}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
