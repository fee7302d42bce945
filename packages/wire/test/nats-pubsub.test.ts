/** Pub/sub over real NATS. */
import { createNatsPrefix } from "@halyard/services";
import { connect } from "@nats-io/transport-node";
import { natsPubSub } from "../src/nats.ts";
import { pubsubContract } from "./contract/pubsub.ts";

const { url, prefix } = await createNatsPrefix();
let count = 0;

/** Two processes in one: two pub/subs with their own connections. */
pubsubContract("NATS", async () => {
  const options = { prefix: `${prefix}.${++count}.` };
  const connections = [await connect({ servers: url }), await connect({ servers: url })] as const;
  const [near, far] = [natsPubSub(connections[0], options), natsPubSub(connections[1], options)];
  return {
    near,
    far,
    async stop() {
      await Promise.all([near.close(), far.close()]);
      for (const connection of connections) await connection.close();
    },
  };
});
