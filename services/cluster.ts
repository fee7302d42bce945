// Private clusters of Redis and of NATS on this machine. They are complete when they are returned.
import type { Launch } from "./child.ts";
import { checkJetStream, nats, natsInfo } from "./nats.ts";
import { freePort } from "./ports.ts";
import { type PrivateServer, startPrivate } from "./private-server.ts";
import { askRedis, redis } from "./redis.ts";
import { waitFor } from "./wait.ts";

export interface PrivateCluster {
  readonly nodes: readonly PrivateServer[];
  readonly urls: readonly string[];
  /** Stops all nodes gracefully and removes their data. */
  stop(): Promise<void>;
  /** Sends SIGKILL to all nodes. */
  kill(): Promise<void>;
  /** Resolves when all nodes see the whole cluster. Use it after a node's `restart`. */
  healthy(): Promise<void>;
}

const HEALTHY_TIMEOUT_MS = 30_000;
const REDIS_SLOTS = 16_384;

function withArguments(...args: string[]): (launch: Launch) => Launch {
  return (launch) => ({ ...launch, args: [...launch.args, ...args] });
}

function cluster(
  nodes: readonly PrivateServer[],
  check: (node: PrivateServer) => Promise<void>,
): PrivateCluster {
  const all = async (work: (node: PrivateServer) => Promise<unknown>) =>
    void (await Promise.all(nodes.map(work)));
  return {
    nodes,
    urls: nodes.map((node) => node.url),
    stop: () => all((node) => node.stop()),
    kill: () => all((node) => node.kill()),
    healthy: () =>
      all((node) =>
        waitFor(() => check(node), {
          what: `${node.url} to see the whole cluster`,
          timeoutMs: HEALTHY_TIMEOUT_MS,
        }),
      ),
  };
}

/**
 * A Redis Cluster of masters that share the slots evenly. The first `masters` of its nodes are masters at the start.
 * Default: 3 masters without replicas.
 */
export async function startRedisCluster({
  masters = 3,
  replicasPerMaster = 0,
}: {
  masters?: number;
  replicasPerMaster?: number;
} = {}): Promise<PrivateCluster> {
  const size = masters * (1 + replicasPerMaster);
  // Set explicitly, because the default bus port is 10,000 above the other one and may be taken.
  const busPorts = await Promise.all(Array.from({ length: size }, freePort));
  const nodes = await Promise.all(
    busPorts.map((busPort) =>
      startPrivate(
        redis,
        withArguments(
          "--cluster-enabled",
          "yes",
          "--cluster-node-timeout",
          "2000",
          "--cluster-port",
          `${busPort}`,
          // A cluster of one node does not learn its address from others.
          "--cluster-announce-ip",
          "127.0.0.1",
        ),
      ),
    ),
  );
  await Promise.all(
    nodes.slice(0, masters).map(async ({ url }, index) => {
      const first = Math.floor((index * REDIS_SLOTS) / masters);
      const last = Math.floor(((index + 1) * REDIS_SLOTS) / masters) - 1;
      await askRedis(url, "CLUSTER", "ADDSLOTSRANGE", `${first}`, `${last}`);
      await askRedis(url, "CLUSTER", "SET-CONFIG-EPOCH", `${index + 1}`);
    }),
  );
  const [first] = nodes;
  for (const [index, { port }] of nodes.entries()) {
    if (first === undefined || index === 0) continue;
    await askRedis(first.url, "CLUSTER", "MEET", "127.0.0.1", `${port}`, `${busPorts[index]}`);
  }
  const whole = cluster(nodes, async ({ url }) => {
    const info = await askRedis(url, "CLUSTER", "INFO");
    const complete = info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${size}\r`);
    if (!complete) throw new Error(info.replaceAll("\r\n", " "));
    const replication = await askRedis(url, "INFO", "replication");
    if (replication.includes("master_link_status:down")) throw new Error("it does not follow its master yet");
  });
  await whole.healthy();
  await Promise.all(
    nodes.slice(masters).map(async ({ url }, index) => {
      const id = await askRedis(nodes[index % masters]?.url ?? "", "CLUSTER", "MYID");
      await askRedis(url, "CLUSTER", "REPLICATE", id);
    }),
  );
  await whole.healthy();
  return whole;
}

/** A NATS cluster with JetStream and an elected leader. Default: 3 nodes. */
export async function startNatsCluster({
  nodes: size = 3,
}: {
  nodes?: number;
} = {}): Promise<PrivateCluster> {
  const routePorts = await Promise.all(Array.from({ length: size }, freePort));
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(",");
  const nodes = await Promise.all(
    routePorts.map((port, index) =>
      startPrivate(
        nats,
        withArguments(
          ...["-n", `node-${index + 1}`, "--cluster_name", "halyard"],
          ...["--cluster", `nats://127.0.0.1:${port}`, "--routes", routes],
        ),
      ),
    ),
  );
  const whole = cluster(nodes, async ({ url }) => {
    const { connectUrls } = await natsInfo(url);
    if (connectUrls.length < size) throw new Error(`it knows ${connectUrls.length} of ${size} nodes`);
    await checkJetStream(url);
  });
  await whole.healthy();
  return whole;
}
