import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Room, Said, Say } from "@halyard/example-chat-node/messages";
import { holdPromises } from "@halyard/example-chat-node/promises";
import { createRedisPrefix } from "@halyard/services";
import { joinChannel, type WsClient, wsClient } from "@halyard/wire/client";
import { type ChatCluster, startCluster } from "./cluster.ts";

let cluster: ChatCluster;
const clients: WsClient[] = [];

// The chat gives the same guarantees in three processes as in one.
holdPromises(async () => {
  const { url, prefix } = await createRedisPrefix();
  cluster = await startCluster(0, { REDIS_URL: url, PREFIX: `${prefix}:` });
  return cluster;
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

void test("a killed process is replaced, and its clients reconnect and miss no message", async () => {
  const [ada, bob] = [await enter("ada"), await enter("bob")];
  for (let round = 0; round < 3; round++) {
    await say(ada, `before ${round}`);
    // The guarantee is the same whether or not a client is connected to this process.
    const victim = cluster.members[0];
    process.kill(victim?.pid ?? 0, "SIGKILL");
    await say(ada, `after ${round}`);
  }
  const texts = [0, 1, 2].flatMap((round) => [`before ${round}`, `after ${round}`]);
  await until(() => bob.seen.length >= texts.length, "bob to receive all messages");
  assert.deepEqual(bob.seen, texts);
  await until(() => cluster.members.length === 3, "three processes to run again");
});

void test("a deploy that replaces every process fails no request", async () => {
  const people = [await enter("cara"), await enter("dan"), await enter("eve")];
  let isOver = false;
  let requests = 0;
  const asking = people.map(async ({ client }) => {
    // Slower than the rate limit of all three processes together.
    for (; !isOver; await pause(400)) {
      await client.request(Say, { room: "pier", text: "still here" }, { timeoutMs: 30_000 });
      requests++;
    }
  });
  await cluster.roll();
  isOver = true;
  await Promise.all(asking);
  assert.ok(requests > 10, `Only ${requests} requests were made`);
  assert.equal(cluster.members.length, 3);
});

interface Guest {
  readonly client: WsClient;
  /** Messages, and gaps. */
  readonly seen: string[];
}

async function enter(name: string): Promise<Guest> {
  const client = wsClient({
    url: `ws://localhost:${cluster.port}`,
    auth: { getToken: () => `${name}-token`, attach: "protocol" },
  });
  clients.push(client);
  const seen: string[] = [];
  const room = joinChannel(client, Room, { room: "pier" });
  room.on(Said, ({ text }) => seen.push(text));
  room.onGap(({ reason }) => seen.push(`gap: ${reason}`));
  await client.connect();
  await room.joined;
  return { client, seen };
}

/** Sends the message until it is accepted. Its id prevents duplicates. */
async function say({ client }: Guest, text: string): Promise<void> {
  const id = crypto.randomUUID();
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      await client.request(Say, { room: "pier", id, text }, { timeoutMs: 2_000 });
      return;
    } catch {
      // The process has ended, or the room is not joined yet on the new one.
      await pause(200);
    }
  }
  assert.fail(`The message "${text}" was not accepted.`);
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !condition(); await pause(20)) {
    assert.ok(Date.now() < deadline, `Waited a minute for ${what}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
