/** NATS that dies, freezes, or says what nobody said. */
import { startNats } from "@halyard/services";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { natsPubSub } from "../src/nats.ts";
import { brokerContract } from "./contract/broker.ts";
import { startProxy } from "./fixtures/proxy.ts";

brokerContract("NATS", async () => {
  const server = await startNats();
  const connections: NatsConnection[] = [];
  const open = async () => {
    const options = { servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 };
    const connection = await connect(options);
    connections.push(connection);
    return connection;
  };
  return {
    server,
    open: async () => natsPubSub(await open()),
    async write(topic, text) {
      const connection = await open();
      connection.publish(`halyard.t.${topic}`, text);
      await connection.flush();
    },
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.stop();
    },
  };
});

test("a connection to NATS that is back but silent is replaced, until one is heard", async () => {
  const server = await startNats();
  const proxy = await startProxy(server.port);
  const servers = `127.0.0.1:${proxy.port}`;
  const connection = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  const pubsub = natsPubSub(connection, { replyTimeoutMs: 200 });
  try {
    await pubsub.subscribe("room", { deliver: () => 1 });
    // What follows the greeting, the subscriptions among it, does not arrive.
    proxy.holdAfter("PONG");
    proxy.cut();
    proxy.mend();
    await expect.poll(() => proxy.held, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(pubsub.status.connected).toBe(false);
    proxy.release();
    await expect.poll(() => pubsub.status.connected, { timeout: 20_000 }).toBe(true);
  } finally {
    await pubsub.close();
    await connection.close();
    await proxy.stop();
    await server.stop();
  }
});
