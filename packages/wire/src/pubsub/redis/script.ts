/** Runs scripts on a connection by their hash, which the server returns when it loads them. */
import { messageOf } from "../../protocol/error.ts";
import type { RedisAddress, RedisConnection } from "./connection.ts";

/** A script with its keys and arguments. */
export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The hashes of the scripts that each connection has loaded, or is loading. */
const loaded = new WeakMap<RedisConnection, Map<string, Promise<string>>>();

export async function runScript(connection: RedisConnection, call: ScriptCall): Promise<unknown> {
  const hash = await hashOf(connection, call.script);
  try {
    return await connection.command("EVALSHA", hash, ...argumentsOf(call));
  } catch (error) {
    // The server has dropped its scripts, and has not run this one.
    if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
    return connection.command("EVAL", call.script, ...argumentsOf(call));
  }
}

/** Runs a script at the node to which a slot is being moved. */
export async function runAsking(connection: RedisConnection, call: ScriptCall): Promise<unknown> {
  // Without waiting: it counts for the next command on the connection.
  const asking = connection.command("ASKING");
  const reply = connection.command("EVAL", call.script, ...argumentsOf(call));
  return (await Promise.all([reply, asking]))[0];
}

/** Whether a cluster node refused a command because of its slot, and so has not run it. */
export function isRefusal(error: unknown): boolean {
  return /^(?:MOVED|ASK|TRYAGAIN)\b/.test(messageOf(error));
}

/** The node to which the slot of a refused command is being moved: `ASK <slot> <host>:<port>`. */
export function askedAddress(error: unknown): RedisAddress | undefined {
  const [, host, port] = /^ASK \d+ (.+):(\d+)$/.exec(messageOf(error)) ?? [];
  return host === undefined ? undefined : { host, port: Number(port) };
}

function argumentsOf({ keys, args }: ScriptCall): string[] {
  return [String(keys.length), ...keys, ...args];
}

/** All calls wait for the same promise, so that they are sent in their order. */
function hashOf(connection: RedisConnection, script: string): Promise<string> {
  const hashes = loaded.get(connection) ?? new Map<string, Promise<string>>();
  loaded.set(connection, hashes);
  const known = hashes.get(script);
  if (known !== undefined) return known;
  const loading = connection.command("SCRIPT", "LOAD", script).then(String);
  hashes.set(script, loading);
  loading.catch(() => hashes.delete(script));
  return loading;
}
