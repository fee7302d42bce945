/**
 * Joins and leaves of one channel with presence, in two servers of this process that share a Redis. Prints the CPU time
 * and the bytes of the broker for each join. Arguments: URL, members of the channel, other channels, members of each of
 * those, joins.
 */
import { randomUUID } from "node:crypto";
import { redisPubSub } from "@halyard/wire/redis";
import { channel, createRouter, message, z } from "@halyard/wire/zod";
import { createClient } from "redis";

const [url = "", ...counts] = process.argv.slice(2);
const [members = 0, others = 0, otherMembers = 0, joins = 0] = counts.map(Number);
/** Joins in each step; steps are as far apart as changes are collected. */
const JOINS_PER_STEP = 250;
const STEP_MS = 200;

const Said = message("SAID", { text: z.string() });
const Room = channel("room:{id}", {
  params: { id: z.string() },
  events: [Said],
  presence: { name: z.string() },
});

interface Session {
  readonly clientId: string;
  readonly user: string;
}

const prefix = `bench:${randomUUID()}:`;
const servers = [0, 1].map(() => {
  const pubsub = redisPubSub(createClient({ url }), { prefix });
  const router = createRouter<Session>({ pubsub, maxTopicsPerConnection: 10 }).channel(Room, {
    authorize: () => true,
    presence: (ctx) => ({ key: ctx.data.user, name: `Name of ${ctx.data.user}` }),
  });
  return { pubsub, server: router.attach() };
});

interface Peer {
  leave(): Promise<void>;
}

/** A connection without a network: what is measured is presence. */
function join(index: number, id: string): Promise<Peer> {
  const { server } = servers[index % 2] ?? {};
  if (server === undefined) throw new Error("There is no server.");
  const waiting = new Map<string, ReturnType<typeof Promise.withResolvers<void>>>();
  const socket = {
    bufferedBytes: 0,
    send(frame: string) {
      const head = frame.slice(0, 120);
      const [, id = ""] = /"correlationId":"(\w+)"/.exec(head) ?? [];
      // With members missing, something else would be measured.
      if (head.includes("$ws:error")) waiting.get(id)?.reject(new Error(`${id} failed: ${frame}`));
      else waiting.get(id)?.resolve();
      return "sent" as const;
    },
    close: () => undefined,
  };
  const connection = server.accept(socket, { clientId: randomUUID(), user: `user ${index}` });
  const request = (type: string): Promise<void> => {
    const answer = Promise.withResolvers<void>();
    waiting.set(type, answer);
    const meta = { correlationId: type };
    connection.receive(
      JSON.stringify({ type: `$ws:${type}`, meta, payload: { channel: Room.pattern, params: { id } } }),
    );
    return answer.promise;
  };
  const leave = async (): Promise<void> => {
    await request("leave");
    connection.closed(1000, "");
  };
  return request("join").then(() => ({ leave }));
}

async function fill(id: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => join(index, id)));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const admin = createClient({ url }).on("error", () => {});
await admin.connect();
const brokerBytes = async (): Promise<number> => {
  const stats = await admin.info("stats");
  const read = (name: string) => Number(new RegExp(`${name}:(\\d+)`).exec(stats)?.[1] ?? 0);
  return read("total_net_input_bytes") + read("total_net_output_bytes");
};

await pause(1_000);
await fill("measured", members);
for (let other = 0; other < others; other++) await fill(`other ${other}`, otherMembers);
await pause(2_000);

const measure = async (steps: number, isJoining: boolean): Promise<{ cpuUs: number; bytes: number }> => {
  const bytes = await brokerBytes();
  const cpu = process.cpuUsage();
  for (let step = 0; step < steps; step++) {
    const peers = isJoining
      ? await Promise.all(
          Array.from({ length: JOINS_PER_STEP }, (_, index) =>
            join(1e6 + step * JOINS_PER_STEP + index, "measured"),
          ),
        )
      : [];
    await pause(STEP_MS);
    await Promise.all(peers.map((peer) => peer.leave()));
    await pause(STEP_MS);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { cpuUs: user + system, bytes: (await brokerBytes()) - bytes };
};
const steps = Math.max(1, Math.floor(joins / JOINS_PER_STEP));
// The first joins run code that is not compiled yet.
await measure(2, true);
// Heartbeats and idle timers are not the cost of joins.
const idle = await measure(steps, false);
const busy = await measure(steps, true);
const count = steps * JOINS_PER_STEP;
console.log(
  JSON.stringify({ cpuUs: (busy.cpuUs - idle.cpuUs) / count, bytes: (busy.bytes - idle.bytes) / count }),
);
process.exit(0);
