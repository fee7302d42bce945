/** A TCP proxy that can stop forwarding without closing anything, which leaves half-open connections. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface StallingProxy {
  readonly port: number;
  /** Stops forwarding in both directions. */
  stall(): void;
  stop(): Promise<void>;
}

export async function startStallingProxy(target: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((inner) => {
    const outer = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on("data", (data) => {
        if (!isStalled) to.write(data);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        if (!isStalled) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      isStalled = true;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
