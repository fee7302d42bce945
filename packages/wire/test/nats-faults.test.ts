/** NATS that crashes, freezes or sends unexpected data. */
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
  const write = async (subject: string, text: string) => {
    const connection = await open();
    connection.publish(subject, text);
    await connection.flush();
  };
  return {
    server,
    open: async () => natsPubSub(await open()),
    write: (topic, text) => write(`halyard.t.${topic}`, text),
    writeHeartbeat: (text) => write("halyard.h", text),
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.stop();
    },
  };
});

test("the pub/sub replaces a NATS connection that is open again but silent until one responds", async () => {
  const server = await startNats();
  const proxy = await startProxy(server.port);
  const servers = `127.0.0.1:${proxy.port}`;
  const connection = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  const pubsub = natsPubSub(connection, { replyTimeoutMs: 200 });
  try {
    await pubsub.subscribe("room", { deliver: () => 1 });
    // The proxy holds everything after INFO, including the subscriptions.
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
