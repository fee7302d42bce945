/** A program that works for a number of seconds on a request over HTTP and returns the result. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Adds the time it took. */
async function measured(run: (seconds: number) => Promise<object>, seconds: number): Promise<object> {
  const started = performance.now();
  const cpu = process.cpuUsage();
  const result = await run(seconds);
  const { user, system } = process.cpuUsage(cpu);
  return { ...result, cpuUs: user + system, seconds: (performance.now() - started) / 1000 };
}

export function serveRuns(run: (seconds: number) => Promise<object>): void {
  const server = createServer((request, response) => {
    const seconds = Number(new URL(request.url ?? "", "http://localhost").searchParams.get("seconds"));
    measured(run, seconds).then(
      (result) => response.end(JSON.stringify(result)),
      (error: unknown) => {
        console.error(error);
        response.writeHead(500).end(String(error));
      },
    );
  });
  server.listen(0, "127.0.0.1", () => {
    console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
  });
}
