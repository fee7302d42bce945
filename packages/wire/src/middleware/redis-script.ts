/** Runs one Lua script of one key on Redis, with whichever client library: by its hash, and in full where it is not known yet. */

/** A client of node-redis, ioredis or Bun; of the first two also a cluster or one behind Sentinels. */
export interface RedisScriptClient {
  eval(...args: never[]): unknown;
}

/** The ways the libraries call a script. */
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
  if (isLike<NodeRedis>(client, "evalSha", "eval")) {
    return (how, text, key, args) => {
      const options = { keys: [key], arguments: [...args] };
      return how === "sha" ? client.evalSha(text, options) : client.eval(text, options);
    };
  }
  if (isLike<BunRedis>(client, "send") && "onclose" in client) {
    return (how, text, key, args) =>
      client.send(how === "sha" ? "EVALSHA" : "EVAL", [text, "1", key, ...args]);
  }
  if (isLike<Ioredis>(client, "evalsha", "eval")) {
    return (how, text, key, args) =>
      how === "sha" ? client.evalsha(text, 1, key, ...args) : client.eval(text, 1, key, ...args);
  }
  throw new TypeError(
    "redisRateLimiter does not know this client. Give it one made by redis (createClient, createCluster, createSentinel), ioredis (Redis, Cluster) or Bun (RedisClient).",
  );
}

function isLike<Client extends object>(
  value: unknown,
  ...methods: (keyof Client & string)[]
): value is Client {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function");
}

/** The hash that Redis knows a script by. */
async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
