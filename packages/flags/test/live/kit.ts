/** An application with live flags on a wire router, and pages of its users. */
import { featureFlagsClient } from "@halyard/flags/client";
import { liveFlags } from "@halyard/flags/live";
import { featureFlagsLiveClient } from "@halyard/flags/live-client";
import { createRouter } from "@halyard/wire";
import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { wsClient } from "@halyard/wire/client";
import { serve } from "@halyard/wire/node";
import { createAuthClient } from "better-auth/client";
import { onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { type Host, type HostOptions, type Person, startHost } from "../host.ts";

/** Far below the interval of polling, which must not be what brings a change. */
export const SOON = { timeout: 4000, interval: 5 };

export interface LiveHost extends Host {
  readonly liveUrl: string;
  /** Subscribed connections. */
  subscribers(): number;
  /** Open connections. */
  connections(): number;
  /** Ends all subscriptions, and leaves the connections open. */
  endLive(): void;
  stopLive(): Promise<void>;
}

/**
 * Mounts live flags of a host on a router of its own. `anonymous`: also for visitors without a session. `mount`: by another
 * copy of the package.
 */
export async function mountLive(
  host: Host,
  { anonymous = false, mount = liveFlags }: { anonymous?: boolean; mount?: typeof liveFlags } = {},
): Promise<LiveHost> {
  const router = createRouter<SessionData>();
  let connections = 0;
  router
    .onOpen(() => {
      connections += 1;
    })
    .onClose(() => {
      connections -= 1;
    });
  const live = mount(router, host.auth);
  const options = { port: 0, host: "127.0.0.1", handleSignals: false };
  // The type of the data says that a session is there; live flags do not rely on it.
  const authenticate = betterAuthSession(host.auth, { anonymous }) as ReturnType<typeof betterAuthSession>;
  const server = await serve(router, { ...options, authenticate });
  const stopLive = async () => {
    live.close();
    await server.stop();
  };
  const liveUrl = `ws://127.0.0.1:${server.port}/`;
  return {
    ...host,
    liveUrl,
    subscribers: () => live.size,
    connections: () => connections,
    endLive: () => live.close(),
    stopLive,
  };
}

export async function startLive(
  options: HostOptions,
  mounting?: Parameters<typeof mountLive>[1],
): Promise<LiveHost> {
  const host = await startHost(options);
  const live = await mountLive(host, mounting);
  onTestFinished(async () => {
    await live.stopLive();
    await host.close();
  });
  return live;
}

export interface Told {
  readonly type: string;
  readonly key: string;
  readonly value?: unknown;
}

export interface PageOptions {
  readonly exposures?: boolean;
  readonly environment?: string;
  /** What the socket sends instead of the page's cookies. */
  readonly socketHeaders?: Record<string, string>;
}

/** A page of a person: its flags client, subscribed; what it was told; the frames it received. */
export function openPage(host: LiveHost, person: Pick<Person, "headers">, options: PageOptions = {}) {
  const frames: string[] = [];
  const paths: string[] = [];
  const sockets = new Set<WebSocket>();
  const cookies = new Map<string, string>(
    (person.headers["cookie"] ?? "").split("; ").map((pair) => splitOnce(pair, "=")),
  );
  const ownHeaders = () => ({
    ...person.headers,
    cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; "),
  });
  const firstOrigin = host.origin;
  let isBlocked = false;
  const wire = wsClient({
    url: host.liveUrl,
    reconnect: { initialDelayMs: 20, maxDelayMs: 50, jitter: "none" },
    wsFactory(_url, protocols) {
      const origin = host.liveUrl.replace("ws:", "http:").replace(/\/$/, "");
      // No server listens on this port.
      const socket = new WebSocket(isBlocked ? "ws://127.0.0.1:1" : host.liveUrl, protocols, {
        headers: options.socketHeaders ?? ownHeaders(),
        origin,
      });
      sockets.add(socket);
      socket.on("message", (data) => frames.push(String(data)));
      socket.on("close", () => sockets.delete(socket));
      return socket;
    },
  });
  let lastError = "";
  wire.onError(({ message }) => {
    lastError = message;
  });
  const client = createAuthClient({
    baseURL: host.origin,
    plugins: [
      featureFlagsClient({ exposures: options.exposures ?? false, environment: options.environment }),
      featureFlagsLiveClient({ client: wire }),
    ],
    fetchOptions: {
      customFetchImpl: async (input, init) => {
        const request = new Request(input, init);
        paths.push(new URL(request.url).pathname);
        // A test may give the page another host.
        const url = request.url.replace(firstOrigin, host.origin);
        const headers = new Headers(request.headers);
        headers.set("origin", host.origin);
        for (const [name, value] of Object.entries(ownHeaders())) headers.set(name, value);
        const response = await fetch(new Request(new Request(url, request), { headers }));
        for (const line of response.headers.getSetCookie())
          cookies.set(...splitOnce(line.split(";", 1)[0] ?? "", "="));
        return response;
      },
    },
  });
  const flags = client.featureFlags;
  const subscription = flags.subscribe();
  const told: Told[] = [];
  subscription.on("flag:updated", (event) => told.push({ type: "flag:updated", ...event }));
  subscription.on("flag:deleted", (event) => told.push({ type: "flag:deleted", ...event }));
  const page = {
    client,
    flags,
    wire,
    subscription,
    told,
    frames,
    paths,
    /** Of the connection. */
    lastError: () => lastError,
    text: () => frames.join("\n"),
    valuesTold: (key: string) => told.filter((one) => one.key === key).map(({ value }) => value),
    sees: (key: string, value: unknown) =>
      vi.waitFor(async () => {
        const seen = await flags.getValue(key);
        if (JSON.stringify(seen) !== JSON.stringify(value))
          throw new Error(`${key} is ${JSON.stringify(seen)}, not ${JSON.stringify(value)}`);
      }, SOON),
    isLive: () =>
      vi.waitFor(() => {
        if (subscription.state !== "live") throw new Error(`The subscription is ${subscription.state}.`);
      }, SOON),
    /** Ends the connection; the client reconnects by itself. */
    cut() {
      for (const socket of sockets) socket.terminate();
    },
    /** Ends the connection, and lets none open until `unblock`. */
    block() {
      isBlocked = true;
      page.cut();
    },
    unblock() {
      isBlocked = false;
    },
    async close() {
      subscription.close();
      await wire.close();
    },
  };
  return page;
}

export type Page = ReturnType<typeof openPage>;

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** A page that is connected and subscribed. */
export async function livePage(
  host: LiveHost,
  person: Pick<Person, "headers">,
  options?: PageOptions,
): Promise<Page> {
  const page = openPage(host, person, options);
  onTestFinished(() => page.close());
  await page.wire.connect();
  await page.flags.bootstrap();
  await page.isLive();
  return page;
}
