// NATS with JetStream: detection, private and shared servers, and a prefix per test file.
import { join } from "node:path";
import { converse } from "./line-socket.ts";
import { findProgram, programPath } from "./machine.ts";
import { runningUrl, type ServerKind } from "./server.ts";
import { type TestPrefix, uniqueName } from "./test-database.ts";

export interface NatsInfo {
  readonly version: string;
  readonly jetStream: boolean;
  /** The client addresses of all known servers of the cluster, including this one. */
  readonly connectUrls: readonly string[];
}

function address(url: string): URL {
  const parsed = new URL(url);
  if (parsed.port === "") parsed.port = "4222";
  return parsed;
}

function parseInfo(line: string): NatsInfo {
  if (!line.startsWith("INFO ")) throw new Error(`it is not NATS: its first line is "${line.slice(0, 40)}"`);
  const info: unknown = JSON.parse(line.slice(5));
  if (typeof info !== "object" || info === null) throw new Error("the INFO of NATS is not an object");
  const { version, jetstream, connect_urls: urls }: Record<string, unknown> = { ...info };
  return {
    version: typeof version === "string" ? version : "unknown",
    jetStream: jetstream === true,
    connectUrls: Array.isArray(urls) ? urls.map(String) : [],
  };
}

/** The information that a NATS server sends to every new connection. */
export function natsInfo(url: string): Promise<NatsInfo> {
  return converse(address(url), async (peer) => parseInfo(await peer.line()));
}

/** Resolves when JetStream at `url` responds. In a cluster this takes until a leader is elected. */
export function checkJetStream(url: string): Promise<void> {
  return converse(address(url), async (peer) => {
    await peer.line();
    peer.write('CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB $JS.API.INFO answer 0\r\n\r\n');
    for (;;) {
      const line = await peer.line();
      if (line.startsWith("-ERR")) throw new Error(`NATS answers "${line}"`);
      if (line === "PING") peer.write("PONG\r\n");
      if (!line.startsWith("MSG ")) continue;
      const answer = await peer.bytes(Number(line.split(" ").at(-1)));
      if (answer.includes('"error"')) throw new Error(`JetStream is not ready: ${answer}`);
      return;
    }
  });
}

export const nats: ServerKind = {
  name: "nats",
  title: "NATS",
  urlVariable: "NATS_URL",
  protocols: ["nats:"],
  portVariable: "HALYARD_NATS_PORT",
  usualPort: 4222,
  packages: ["nats-server"],
  stopSignal: "SIGTERM",
  localUrls: (port) => [`nats://127.0.0.1:${port}`],
  async check(url) {
    const { version, jetStream } = await natsInfo(url);
    if (!jetStream) throw new Error("it runs without JetStream. Start it with the option -js");
    return version;
  },
  missingPrograms: () => ["nats-server"].filter((program) => findProgram(program) === undefined),
  async prepare() {
    // It creates its own files.
  },
  launch: (directory, port) => ({
    command: programPath("nats-server"),
    args: ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(directory, "jetstream")],
    cwd: directory,
  }),
};

/** The shared NATS server, and a prefix for the subjects and streams of one test file. */
export async function createNatsPrefix(): Promise<TestPrefix> {
  return { url: await runningUrl(nats), prefix: uniqueName() };
}
