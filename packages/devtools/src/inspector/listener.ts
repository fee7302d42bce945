/** An HTTP server for a fetch-style handler; `node:http` exists on Node and on Bun. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export async function listen(
  port: number,
  host: string,
  answer: (request: Request) => Promise<Response>,
): Promise<Server> {
  const server = createServer((request, response) => {
    respond(request, response, answer).catch((error: unknown) => {
      console.error("[halyard] The inspector failed to answer a request:", error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: Error & { code?: string }) =>
      reject(
        cause.code === "EADDRINUSE"
          ? new Error(
              `The inspector cannot listen on port ${port}: another program uses it. Set another port: inspector.listen({ port: … }).`,
              { cause },
            )
          : cause,
      ),
    );
    server.listen(port, host, resolve);
  });
  // The inspector alone does not keep a process running.
  server.unref();
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const { status, headers, body } = await answerOf(request, answer);
  response.writeHead(status, headers);
  response.end(body);
}

async function answerOf(request: IncomingMessage, answer: (request: Request) => Promise<Response>) {
  const address = `http://${request.headers.host ?? ""}${request.url ?? "/"}`;
  // The peer chooses both parts. A Request refuses credentials in its address.
  if (!URL.canParse(address) || new URL(address).username || new URL(address).password)
    return { status: 400, headers: {}, body: "" };
  const headers = Object.entries(request.headers).map(([name, value = ""]): [string, string] => [
    name,
    String(value),
  ]);
  const result = await answer(new Request(address, { method: request.method ?? "GET", headers }));
  return {
    status: result.status,
    headers: Object.fromEntries(result.headers),
    body: Buffer.from(await result.arrayBuffer()),
  };
}
