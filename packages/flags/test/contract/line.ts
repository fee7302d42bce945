/** A line to a server that a test can cut, or hold up so that nothing comes through and nothing fails. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Line {
  /** The server's address by way of this line. */
  readonly url: string;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  /** Lets nothing through in either direction. */
  hold(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function openLine(serverUrl: string): Promise<Line> {
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
    if (state === "open") join(pair);
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
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    restore() {
      if (state === "held") for (const pair of pairs) join(pair);
      state = "open";
    },
    async close() {
      destroyAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function join([near, far]: readonly [Socket, Socket]): void {
  near.pipe(far);
  far.pipe(near);
}
