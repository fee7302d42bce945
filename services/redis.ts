// Redis: detection, private and shared servers, and a prefix per test file.

import { type Conversation, converse } from "./line-socket.ts";
import { findProgram, programPath } from "./machine.ts";
import { runningUrl, type ServerKind } from "./server.ts";
import { type TestPrefix, uniqueName } from "./test-database.ts";

type Command = readonly string[];

async function ask(peer: Conversation, command: Command): Promise<string> {
  const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  peer.write(`*${words.length}\r\n${words.join("")}`);
  const reply = await peer.line();
  const value = reply.slice(1);
  switch (reply[0]) {
    case "+":
    case ":":
      return value;
    case "$":
      return (await peer.bytes(Number(value) + 2)).slice(0, -2);
    default:
      throw new Error(`Redis answers ${command[0]} with "${value}"`);
  }
}

/** Sends one command and resolves to its reply: a status, a number or a text, not a list. */
export function askRedis(url: string, ...command: Command): Promise<string> {
  const address = new URL(url);
  if (address.port === "") address.port = "6379";
  const { username, password } = address;
  return converse(address, async (peer) => {
    if (password !== "") {
      const credentials = [username || "default", password].map(decodeURIComponent);
      await ask(peer, ["AUTH", ...credentials]);
    }
    return ask(peer, command);
  });
}

export const redis: ServerKind = {
  name: "redis",
  title: "Redis",
  urlVariable: "REDIS_URL",
  protocols: ["redis:"],
  portVariable: "HALYARD_REDIS_PORT",
  usualPort: 6379,
  packages: ["redis-server"],
  stopSignal: "SIGTERM",
  localUrls: (port) => [`redis://127.0.0.1:${port}`],
  async check(url) {
    // While the server loads its data, PING is refused and INFO is not.
    await askRedis(url, "PING");
    const info = await askRedis(url, "INFO", "server");
    return /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? "unknown";
  },
  missingPrograms: () => ["redis-server"].filter((program) => findProgram(program) === undefined),
  async prepare() {
    // It creates its own files.
  },
  launch(directory, port) {
    const options = {
      port: String(port),
      bind: "127.0.0.1",
      dir: directory,
      save: "",
      // Writes survive a crash of the server but not of the machine.
      appendonly: "yes",
      appendfsync: "no",
    };
    return {
      command: programPath("redis-server"),
      args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      cwd: directory,
    };
  },
};

/** The shared Redis server, and a prefix for the keys and channels of one test file. */
export async function createRedisPrefix(): Promise<TestPrefix> {
  return { url: await runningUrl(redis), prefix: uniqueName() };
}
