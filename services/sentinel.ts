// A private Redis with failover: a master, two replicas, and three Sentinels.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { programPath } from "./machine.ts";
import { type PrivateServer, startPrivate, startRedis } from "./private-server.ts";
import { askRedis, redis } from "./redis.ts";
import { waitFor } from "./wait.ts";

export interface PrivateSentinels {
  /** The Sentinels' name for the master. */
  readonly name: string;
  /** The data servers, in any role. */
  readonly servers: readonly PrivateServer[];
  readonly sentinels: readonly PrivateServer[];
  /** The data server that the Sentinels currently name as master. */
  master(): Promise<PrivateServer>;
  /** Resolves when the master has an up-to-date replica and all Sentinels know it. */
  healthy(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = "halyard";
const SENTINELS = 3;
const REPLICAS = 2;
/** A former master that returns has no replica, so it refuses writes until the Sentinels make it a replica. */
const SETTINGS = { "min-replicas-to-write": "1" };
const HEALTHY_TIMEOUT_MS = 30_000;

export async function startRedisSentinels(): Promise<PrivateSentinels> {
  const first = await startRedis(SETTINGS);
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startRedis(SETTINGS)));
  for (const { url } of replicas) await askRedis(url, "REPLICAOF", "127.0.0.1", String(first.port));
  const servers = [first, ...replicas];
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () => startPrivate({ ...redis, launch: sentinelOf(first.port) })),
  );
  const [watcher] = sentinels;

  async function master(): Promise<PrivateServer> {
    const info = await askRedis(watcher?.url ?? "", "INFO", "sentinel");
    const port = Number(/master0:.*address=[^:]+:(\d+)/.exec(info)?.[1]);
    const found = servers.find((server) => server.port === port);
    if (found === undefined)
      throw new Error(`the Sentinels name port ${port}, which belongs to no server of this group`);
    return found;
  }

  async function healthy(): Promise<void> {
    const check = async () => {
      const replication = await askRedis((await master()).url, "INFO", "replication");
      if (!replication.includes("role:master") || !replication.includes("state=online"))
        throw new Error("no replica is up to date");
      for (const { url } of sentinels) {
        const info = await askRedis(url, "INFO", "sentinel");
        if (!info.includes("status=ok") || !info.includes(`slaves=${REPLICAS},sentinels=${SENTINELS}`))
          throw new Error(info.replaceAll("\r\n", " "));
      }
    };
    await waitFor(check, { what: "the Sentinels to agree", timeoutMs: HEALTHY_TIMEOUT_MS });
  }

  await healthy();
  return {
    name: NAME,
    servers,
    sentinels,
    master,
    healthy,
    async stop() {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
    },
  };
}

/** A Sentinel rewrites its configuration, so it gets its own file, which it keeps on a restart. */
function sentinelOf(masterPort: number): typeof redis.launch {
  return (directory, port) => {
    const file = join(directory, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${directory}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
      `sentinel down-after-milliseconds ${NAME} 1000`,
      `sentinel failover-timeout ${NAME} 5000`,
    ];
    try {
      writeFileSync(file, `${lines.join("\n")}\n`, { flag: "wx" });
    } catch {
      // It exists from an earlier start.
    }
    return { command: programPath("redis-server"), args: [file, "--sentinel"], cwd: directory };
  };
}
