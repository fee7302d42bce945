// Local TCP ports: a check whether one is free, and free ones for private servers.
import { createServer } from "node:net";

// Below every system's ephemeral range, so that no outgoing connection takes the port before it is used.
const FIRST_PORT = 20_000;
const LAST_PORT = 31_999;

const handedOut = new Set<number>();

/** Whether a server could listen on `127.0.0.1:port` now. */
export function portIsFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** A port on which nothing listens and which this process has not returned before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    if (handedOut.has(port)) continue;
    handedOut.add(port);
    if (await portIsFree(port)) return port;
  }
  throw new Error(
    `No free port found between ${FIRST_PORT} and ${LAST_PORT} after 200 attempts. Stop unused servers.`,
  );
}
