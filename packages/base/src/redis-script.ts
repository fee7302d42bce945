/** Runs Lua scripts on Redis: sends the hash of a script, and the script only when Redis does not know it. */

/** A script with its keys and arguments. */
export interface ScriptCall {
  /** The text of the script. */
  readonly script: string;
  /** The keys. */
  readonly keys: readonly string[];
  /** The other arguments. */
  readonly args: readonly string[];
}

/** Sends a script, or its hash. */
export type SendScript = (
  command: "EVALSHA" | "EVAL",
  text: string,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/** Runs a script. `hash` is the name that Redis has for it once it knows the script. */
export async function runScript(
  send: SendScript,
  hash: Promise<string>,
  { script, keys, args }: ScriptCall,
): Promise<unknown> {
  const name = await hash;
  try {
    return await send("EVALSHA", name, keys, args);
  } catch (error) {
    // Redis does not know the script, so it has not run it.
    if (!(error instanceof Error && error.message.includes("NOSCRIPT"))) throw error;
    return send("EVAL", script, keys, args);
  }
}

/** Runs one script on the client of an application. */
export type ScriptRunner = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** For a client of `redis`, `ioredis` or Bun, a cluster's or Sentinel's too; undefined for anything else. */
export function scriptRunner(client: unknown, script: string): ScriptRunner | undefined {
  const send = senderOf(client);
  if (send === undefined) return undefined;
  let hash: Promise<string> | undefined;
  return (keys, args) => {
    hash ??= sha1(script);
    return runScript(send, hash, { script, keys, args });
  };
}

/** The part of node-redis that is used. Cluster clients have it as well. */
export interface NodeRedisScripts {
  /** Runs a script by its hash. */
  evalSha(hash: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The part of ioredis that is used. Cluster clients have it as well. */
export interface IoredisScripts {
  /** Runs a script by its hash. */
  evalsha(hash: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** The part of Bun's client that is used. */
export interface BunRedisScripts {
  /** Sends a command. */
  send(command: string, args: string[]): Promise<unknown>;
}

function senderOf(client: unknown): SendScript | undefined {
  if (has<NodeRedisScripts>(client, "evalSha", "eval")) {
    return (command, text, keys, args) => {
      const options = { keys: [...keys], arguments: [...args] };
      return command === "EVALSHA" ? client.evalSha(text, options) : client.eval(text, options);
    };
  }
  if (has<BunRedisScripts>(client, "send")) {
    return (command, text, keys, args) => client.send(command, [text, String(keys.length), ...keys, ...args]);
  }
  if (has<IoredisScripts>(client, "evalsha", "eval")) {
    return (command, text, keys, args) => {
      const keysAndArguments = [...keys, ...args];
      return command === "EVALSHA"
        ? client.evalsha(text, keys.length, ...keysAndArguments)
        : client.eval(text, keys.length, ...keysAndArguments);
    };
  }
  return undefined;
}

function has<Client extends object>(
  client: unknown,
  ...methods: (keyof Client & string)[]
): client is Client {
  if (typeof client !== "object" || client === null) return false;
  return methods.every((method) => typeof (client as Record<string, unknown>)[method] === "function");
}

/** The hash by which Redis identifies a script. */
async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
