/** Runs scripts on a connection by their hash, which the server returns when it loads them. */
import { runScript as runByHash, type ScriptCall, type SendScript } from "@halyard/base/redis";
import { messageOf } from "../../protocol/error.ts";
import type { RedisAddress, RedisConnection } from "./connection.ts";

/** The hashes of the scripts that each connection has loaded, or is loading. */
const loaded = new WeakMap<RedisConnection, Map<string, Promise<string>>>();

export async function runScript(connection: RedisConnection, call: ScriptCall): Promise<unknown> {
  const send: SendScript = (command, text, keys, args) =>
    connection.command(command, text, String(keys.length), ...keys, ...args);
  return runByHash(send, hashOf(connection, call.script), call);
}

/** Runs a script at the node to which a slot is being moved. */
export async function runAsking(
  connection: RedisConnection,
  { script, keys, args }: ScriptCall,
): Promise<unknown> {
  // Without waiting: it counts for the next command on the connection.
  const asking = connection.command("ASKING");
  const reply = connection.command("EVAL", script, String(keys.length), ...keys, ...args);
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
