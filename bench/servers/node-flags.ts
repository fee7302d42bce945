/** Flags over HTTP on Node: by our raw handler, by the wrapped auth instance, or through Better Auth's router alone. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { withFeatureFlags } from "@halyard/flags";
import { type NodeHandler, toNodeHandler as toFastNodeHandler } from "@halyard/flags/node";
import { toNodeHandler } from "better-auth/node";
import { createAuth } from "./flags/auth.ts";
import { countRequests } from "./flags/counted.ts";

const [databaseUrl = "", way = "", attributes = "claimed"] = process.argv.slice(2);
const { auth } = createAuth(databaseUrl, { isTrusting: attributes === "trusted" });
const counted = { ...auth, handler: countRequests(auth.handler) };

function handlerOf(): NodeHandler {
  switch (way) {
    case "raw":
      return toFastNodeHandler(counted);
    case "fetch":
      return toNodeHandler(withFeatureFlags(counted));
    case "router":
      return toNodeHandler(counted);
    default:
      throw new Error(`Unknown variant "${way}".`);
  }
}

const handle = handlerOf();
const server = createServer((request, response) => void handle(request, response));
await auth.$context;
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
