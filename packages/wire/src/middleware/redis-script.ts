/** Runs a Lua script with one key on Redis, with any supported client library. Sends the hash first, and the script only when Redis does not know it. */
import { hasMethods } from "../protocol/checks.ts";

/** A client of redis (node-redis), ioredis or Bun; with the first two also a cluster or Sentinel client. */
export interface RedisScriptClient {
  /** Runs a Lua script. */
  eval(...args: never[]): unknown;
}

/** How each library runs a script. */
interface NodeRedis {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}
interface Ioredis {
  evalsha(sha: string, keys: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...keysAndArguments: string[]): Promise<unknown>;
}
interface BunRedis {
  send(command: string, args: string[]): Promise<unknown>;
}

type Call = (how: "sha" | "script", text: string, key: string, args: readonly string[]) => Promise<unknown>;

export function scriptRunner(
  client: unknown,
  script: string,
): (key: string, args: readonly string[]) => Promise<unknown> {
  const call = callOf(client);
  let hashing: Promise<string> | undefined;
  return async (key, args) => {
    hashing ??= sha1(script);
    const sha = await hashing;
    try {
      return await call("sha", sha, key, args);
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("NOSCRIPT"))) throw error;
      return call("script", script, key, args);
    }
  };
}

function callOf(client: unknown): Call {
  if (hasMethods<NodeRedis>(client, "evalSha", "eval")) {
    return (how, text, key, args) => {
      const options = { keys: [key], arguments: [...args] };
      return how === "sha" ? client.evalSha(text, options) : client.eval(text, options);
    };
  }
  if (hasMethods<BunRedis>(client, "send") && "onclose" in client) {
    return (how, text, key, args) =>
      client.send(how === "sha" ? "EVALSHA" : "EVAL", [text, "1", key, ...args]);
  }
  if (hasMethods<Ioredis>(client, "evalsha", "eval")) {
    return (how, text, key, args) =>
      how === "sha" ? client.evalsha(text, 1, key, ...args) : client.eval(text, 1, key, ...args);
  }
  throw new TypeError(
    "redisRateLimiter() does not support this client. Pass one made by redis (createClient, createCluster, createSentinel), ioredis (Redis, Cluster) or Bun (RedisClient).",
  );
}

/** The hash by which Redis identifies a script. */
async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
