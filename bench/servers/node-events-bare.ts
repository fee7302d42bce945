/** Events on a bare `node:http` server that writes them in groups without checks. */
import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { openPool } from "@halyard/services/postgres-pool";
import { type BareEvent, createGroups } from "./flags/grouped-insert.ts";
import { USER_ID_LENGTH } from "./flags/people.ts";

type Sent = Pick<BareEvent, "flagKey" | "event" | "value" | "properties">;

const [databaseUrl = ""] = process.argv.slice(2);
const write = createGroups(openPool({ connectionString: databaseUrl, max: 10 }));

async function answer(cookie: string, text: string, response: ServerResponse): Promise<void> {
  const from = cookie.indexOf("=") + 1;
  const userId = cookie.slice(from, from + USER_ID_LENGTH);
  const id = randomUUID();
  const sent = JSON.parse(text) as Sent;
  await write([{ ...sent, id, userId, at: new Date().toISOString() }]);
  const body = `{"success":true,"eventId":"${id}"}`;
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    text += chunk;
  });
  request.on("end", () => void answer(request.headers.cookie ?? "", text, response));
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
