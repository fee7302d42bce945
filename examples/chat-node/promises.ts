/** Tests of the chat on any platform, with real clients. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { WsError } from "@halyard/wire";
import { type ChannelRoom, joinChannel, type WsClient, wsClient } from "@halyard/wire/client";
import { type Chat, createChat } from "./chat.ts";
import { Hints, IsTyping, type Line, Room, Said, Say, Typing } from "./messages.ts";
import { users } from "./users.ts";

export interface RunningChat {
  readonly port: number;
  stop(): Promise<void>;
}

let chat: RunningChat;
const clients: WsClient[] = [];

/** Registers the tests. `start` serves the chat on a free port of localhost. */
export function holdPromises(start: (chat: Chat) => Promise<RunningChat>): void {
  before(async () => {
    chat = await start(createChat(users));
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  after(() => chat.stop());

  // `void`: the test runner waits for its tests.
  void test("clients in a room receive each other's messages, and a client in another room does not", async () => {
    const [ada, bob, cara] = [
      await enter("ada", "harbour"),
      await enter("bob", "harbour"),
      await enter("cara", "attic"),
    ];
    await ada.client.request(Say, { room: "harbour", text: "Ahoy!" });
    await bob.client.request(Say, { room: "harbour", text: "Ahoy, Ada." });
    const both = ["ada: Ahoy!", "bob: Ahoy, Ada."];
    await until(
      () => ada.received.length === 2 && bob.received.length === 2,
      "both clients to receive both messages",
    );
    assert.deepEqual([ada.received, bob.received], [both, both]);

    // Messages of one connection keep their order, so a message of the other room would have arrived before her own.
    await cara.client.request(Say, { room: "attic", text: "Anybody?" });
    await until(() => cara.received.length > 0, "cara to receive her own message");
    assert.deepEqual(cara.received, ["cara: Anybody?"]);
  });

  void test("a client that joins later receives the last messages", async () => {
    const ada = await enter("ada", "library");
    await ada.client.request(Say, { room: "library", text: "Quiet, please." });
    const bob = await enter("bob", "library");
    await until(() => bob.received.length > 0, "bob to receive the message");
    assert.deepEqual(bob.received, ["ada: Quiet, please."]);
  });

  void test("a message that is sent twice with the same id is delivered once", async () => {
    const ada = await enter("ada", "echo");
    const message = { room: "echo", id: "1", text: "Once." };
    await ada.client.request(Say, message);
    await ada.client.request(Say, message);
    await ada.client.request(Say, { room: "echo", id: "2", text: "Twice." });
    await until(() => ada.received.length >= 2, "ada to receive both messages");
    assert.deepEqual(ada.received, ["ada: Once.", "ada: Twice."]);
  });

  void test("a client cannot send to a room that it has not joined", async () => {
    const ada = await enter("ada", "hall");
    const request = ada.client.request(Say, { room: "cellar", text: "Hello?" });
    await assert.rejects(request, { code: "PERMISSION_DENIED" });
  });

  void test("typing is shown to the others and not to the user that types", async () => {
    const [ada, bob] = [await enter("ada", "desk"), await enter("bob", "desk")];
    ada.client.send(Typing, { room: "desk" });
    await until(() => bob.typing.length > 0, "bob to see that ada types");
    assert.deepEqual(bob.typing, ["ada"]);

    // A later response proves that an echo would have arrived before it.
    await ada.client.request(Say, { room: "desk", text: "Done." });
    assert.deepEqual(ada.typing, []);
  });

  void test("a client that was disconnected receives what it missed, once and in order", async () => {
    const [ada, dan] = [await enter("ada", "pier"), await enter("dan", "pier")];
    await ada.client.request(Say, { room: "pier", text: "one" });
    await until(() => dan.received.length === 1, "dan to receive the first message");
    await dan.client.close();
    await ada.client.request(Say, { room: "pier", text: "two" });
    await ada.client.request(Say, { room: "pier", text: "three" });
    await dan.client.connect();
    await until(() => dan.received.length === 3, "dan to receive all messages");
    assert.deepEqual(dan.received, ["ada: one", "ada: two", "ada: three"]);
  });

  void test("the server refuses a wrong token, and the client does not try again", async () => {
    const client = clientFor("guessed-token");
    await assert.rejects(client.connect(), { code: "UNAUTHENTICATED" });
    assert.equal(client.state, "closed");
  });

  void test("the server refuses a flood with a time to wait, and other users are not affected", async () => {
    const [eve, fay] = [await enter("eve", "square"), await enter("fay", "square")];
    const flood = Array.from({ length: 60 }, () => eve.client.request(Say, { room: "square", text: "spam" }));
    const refusals = (await Promise.allSettled(flood)).flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason] : [],
    );

    assert.ok(refusals.length >= 30, `only ${refusals.length} of 60 were refused`);
    for (const error of refusals) {
      assert.ok(WsError.isWsError(error));
      assert.equal(error.code, "RESOURCE_EXHAUSTED");
      assert.ok((error.retryAfterMs ?? 0) > 0);
    }
    await fay.client.request(Say, { room: "square", text: "I can still send." });
  });
}

interface Guest {
  readonly client: WsClient;
  readonly room: ChannelRoom<typeof Room>;
  /** Messages of others, as "name: text". */
  readonly received: string[];
  /** Users that were shown as typing. */
  readonly typing: string[];
}

function spoken({ from, text }: Line): string {
  return `${from}: ${text}`;
}

function clientFor(token: string): WsClient {
  const client = wsClient({
    url: `ws://localhost:${chat.port}`,
    auth: { getToken: () => token, attach: "protocol" },
  });
  clients.push(client);
  return client;
}

async function enter(name: string, room: string): Promise<Guest> {
  const client = clientFor(`${name}-token`);
  const hints = joinChannel(client, Hints, { room });
  const guest: Guest = {
    client,
    room: joinChannel(client, Room, { room }, { last: 20 }),
    received: [],
    typing: [],
  };
  guest.room.on(Said, (line) => guest.received.push(spoken(line)));
  hints.on(IsTyping, ({ from }) => guest.typing.push(from));
  await client.connect();
  await Promise.all([guest.room.joined, hints.joined]);
  return guest;
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 5_000; !condition(); await pause(5)) {
    assert.ok(Date.now() < deadline, `Waited 5 s for ${what}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
