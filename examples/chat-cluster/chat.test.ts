import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Join, Said, Say } from "@halyard/example-chat-node/messages";
import { holdPromises } from "@halyard/example-chat-node/promises";
import { createRedisPrefix } from "@halyard/services";
import { type WsClient, wsClient } from "@halyard/wire/client";
import { type ChatCluster, startCluster } from "./cluster.ts";

let cluster: ChatCluster;
const clients: WsClient[] = [];

// All that the chat promises in one process, it promises in three.
holdPromises(async () => {
  const { url, prefix } = await createRedisPrefix();
  cluster = await startCluster(0, { REDIS_URL: url, PREFIX: `${prefix}:` });
  return cluster;
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

void test("a process that is killed is replaced; its people come back and lose nothing that was said", async () => {
  const [ada, bob] = [await enter("ada"), await enter("bob")];
  for (let round = 0; round < 3; round++) {
    await say(ada, `before ${round}`);
    // Whichever process it is, somebody is on it or nobody is: the promise is the same.
    const victim = cluster.members[0];
    process.kill(victim?.pid ?? 0, "SIGKILL");
    await say(ada, `after ${round}`);
  }
  const said = [0, 1, 2].flatMap((round) => [`before ${round}`, `after ${round}`]);
  await until(() => said.every((text) => bob.seen.has(text)), "bob to see all that was said");
  await until(() => cluster.members.length === 3, "three processes to run again");
});

void test("a deploy that replaces every process fails nobody's request", async () => {
  const people = [await enter("cara"), await enter("dan"), await enter("eve")];
  let isOver = false;
  let asked = 0;
  const asking = people.map(async ({ client }) => {
    // Slower than the rate limit, with all three together.
    for (; !isOver; await pause(400)) {
      await client.request(Join, { room: "pier" }, { timeoutMs: 30_000 });
      asked++;
    }
  });
  await cluster.roll();
  isOver = true;
  await Promise.all(asking);
  assert.ok(asked > 10, `only ${asked} requests were made`);
  assert.equal(cluster.members.length, 3);
});

interface Guest {
  readonly client: WsClient;
  /** Heard, or read after an interruption. */
  readonly seen: Set<string>;
}

async function enter(name: string): Promise<Guest> {
  const client = wsClient({
    url: `ws://localhost:${cluster.port}`,
    auth: { getToken: () => `${name}-token`, attach: "protocol" },
  });
  clients.push(client);
  const seen = new Set<string>();
  const read = async (): Promise<void> => {
    const { payload } = await client.request(Join, { room: "pier" });
    for (const { text } of payload.recent) seen.add(text);
  };
  client.on(Said, ({ text }) => seen.add(text));
  // Two ways to miss something: the connection was lost, or the server was cut off from the others.
  client.onState((state) => {
    if (state === "open") read().catch(() => undefined);
  });
  client.onGap(() => void read().catch(() => undefined));
  await client.connect();
  await read();
  return { client, seen };
}

/** Says it until it is taken: with an id of its own it is never said twice. */
async function say({ client }: Guest, text: string): Promise<void> {
  const id = crypto.randomUUID();
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      await client.request(Say, { room: "pier", id, text }, { timeoutMs: 2_000 });
      return;
    } catch {
      // The process is gone, or the room is not joined yet on the new one.
      await pause(200);
    }
  }
  assert.fail(`"${text}" could not be said`);
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !condition(); await pause(20)) {
    assert.ok(Date.now() < deadline, `waited a minute for ${what}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
