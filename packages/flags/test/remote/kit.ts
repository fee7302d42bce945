/** An application that serves flag definitions, and remote processes whose frames a test can read. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagDefinitions } from "@halyard/flags/live";
import { createRemoteFlags, type RemoteFlags, type RemoteFlagsOptions } from "@halyard/flags/remote";
import { type ServerHandle, serve } from "@halyard/wire/node";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { Auth, Host, KeyOwner, Person } from "../host.ts";

export const NEEDED = ["read", "evaluate-as"];

export interface DefinitionsServer {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Serves the definitions of an auth instance until the end of the test. */
export async function serveDefinitions(auth: Auth, port = 0): Promise<DefinitionsServer> {
  const { router, authenticate } = flagDefinitions(auth);
  const handle: ServerHandle = await serve(router, {
    port,
    host: "127.0.0.1",
    authenticate,
    handleSignals: false,
    onError: () => undefined,
  });
  onTestFinished(() => handle.stop());
  return { url: `ws://127.0.0.1:${handle.port}/`, port: handle.port, stop: () => handle.stop() };
}

/** The text of an API key of a person or an organization. */
export async function newApiKey(
  host: Host,
  owner: KeyOwner,
  actions: readonly string[] = NEEDED,
): Promise<{ readonly id: string; readonly key: string }> {
  const made = await host.key(owner, actions);
  return { id: made.id, key: made.headers["x-api-key"] ?? "" };
}

export interface Remote {
  readonly flags: RemoteFlags;
  /** Everything that the server sent, in order. */
  readonly frames: string[];
  /** Everything that the process sent, in order. */
  readonly sent: string[];
  /** The errors that were reported. */
  readonly errors: string[];
  /** The number of sockets that were created. */
  sockets(): number;
  /** Cuts the connection, as a network does. */
  cut(): void;
}

/** Starts a remote process, closed at the end of the test. */
export function startRemote(options: RemoteFlagsOptions): Remote {
  const frames: string[] = [];
  const sent: string[] = [];
  const errors: string[] = [];
  let count = 0;
  let current: WebSocket | undefined;
  const flags = createRemoteFlags({
    reconnect: { initialDelayMs: 20, maxDelayMs: 100 },
    wsFactory: (url, protocols) => {
      count += 1;
      const socket = new WebSocket(url, protocols);
      current = socket;
      socket.on("message", (data) => frames.push(String(data)));
      const send = socket.send.bind(socket);
      socket.send = (data: string) => {
        sent.push(data);
        send(data);
      };
      return socket;
    },
    ...options,
  });
  flags.onError((error) => errors.push(error.message));
  onTestFinished(() => flags.close());
  return { flags, frames, sent, errors, sockets: () => count, cut: () => current?.terminate() };
}

/** The records of all definitions that arrived, parsed. */
export function recordsIn(frames: readonly string[]): unknown[][] {
  return frames
    .map((frame) => JSON.parse(frame))
    .filter(({ type }) => type === "FLAG_DEFINITIONS")
    .flatMap(({ payload }) => payload.records.map((record: string) => JSON.parse(record)));
}

/** Resolves with the keys of the next change. */
export function nextChange({ flags }: Remote): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const stop = flags.onChange(({ keys }) => {
      stop();
      resolve(keys);
    });
  });
}

/** The path of a file in an empty folder of this test. */
export function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "halyard-remote-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "flags");
}

/** Creates an admin, whose API keys reach all flags. */
export const newAdmin = (host: Host, name = "admin"): Promise<Person> => host.person(name, "admin");
