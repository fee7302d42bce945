/** Two servers that share a private broker, loaded as one: each has half of the subscribers. */
import { fileURLToPath } from "node:url";
import type { PrivateServer } from "@halyard/services";
import { JSON_ENVELOPE, type Server, startServer } from "./server.ts";

/** Programs run by Node. `url` is their file, and the broker's address is their last argument. */
export function nodePair(
  name: string,
  startBroker: () => Promise<PrivateServer>,
  url: string,
  ...args: readonly string[]
): Server {
  return {
    name,
    dialect: JSON_ENVELOPE,
    async start() {
      const broker = await startBroker();
      const command = { command: process.execPath, args: [fileURLToPath(url), ...args, broker.url] };
      const started = await Promise.allSettled([startServer(command), startServer(command)]);
      const end = async () => {
        const running = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
        await Promise.all(running.map((program) => program.kill()));
        // Last, so that no server logs a lost broker.
        await broker.stop();
      };
      const [first, second] = started;
      if (first.status === "rejected" || second.status === "rejected") {
        await end();
        throw first.status === "rejected" ? first.reason : (second as PromiseRejectedResult).reason;
      }
      return {
        ...first.value,
        second: second.value,
        output: () => `${first.value.output()}\n${second.value.output()}`,
        kill: end,
      };
    },
  };
}
