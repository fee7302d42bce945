/** A TCP proxy to a server that a test can cut, or pause so that data waits without an error. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  /** The server's URL through the proxy. */
  readonly url: string;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Stops data in both directions. */
  hold(): void;
  restore(): void;
  close(): Promise<void>;
}

/** `roundTripMs` is how long the network takes for one. Default 0. */
export async function openTcpProxy(serverUrl: string, { roundTripMs = 0 } = {}): Promise<TcpProxy> {
  const target = new URL(serverUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: "open" | "cut" | "held" = "open";

  const server = createServer((near) => {
    if (state === "cut") {
      near.destroy();
      return;
    }
    const far = connect({ host: target.hostname, port: Number(target.port) });
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [one, other] of [pair, [far, near] as const]) {
      one.on("error", () => other.destroy());
      one.on("close", () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
    if (state === "open") join(pair, roundTripMs / 2);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const destroyAll = () => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  return {
    url: url.href,
    cut() {
      state = "cut";
      destroyAll();
    },
    hold() {
      state = "held";
      for (const [near, far] of pairs) {
        near.removeAllListeners("data").unpipe(far).pause();
        far.removeAllListeners("data").unpipe(near).pause();
      }
    },
    restore() {
      if (state === "held") for (const pair of pairs) join(pair, roundTripMs / 2);
      state = "open";
    },
    async close() {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function join([near, far]: readonly [Socket, Socket], delayMs: number): void {
  if (delayMs === 0) {
    near.pipe(far);
    far.pipe(near);
    return;
  }
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    // Timers of the same length fire in the order in which they were set.
    from.on("data", (chunk) => setTimeout(() => to.write(chunk), delayMs)).resume();
  }
}
