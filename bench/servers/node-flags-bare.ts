/** The same flags on a bare `node:http` server without checks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HEADERS, readBareFlags } from "./flags/bare-flags.ts";

const [databaseUrl = ""] = process.argv.slice(2);
const answer = await readBareFlags(databaseUrl);

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    text += chunk;
  });
  request.on("end", () => {
    const { body, revision } = answer(request.url ?? "", request.headers.cookie ?? "", text);
    response.writeHead(200, {
      ...HEADERS,
      "content-length": Buffer.byteLength(body),
      "x-feature-flags-revision": revision,
    });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
