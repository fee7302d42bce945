/** Flags over HTTP on Bun: by the wrapped auth instance, or by hand without checks. */
import { withFeatureFlags } from "@halyard/flags";
import { createAuth } from "./flags/auth.ts";
import { HEADERS, readBareFlags } from "./flags/bare-flags.ts";
import { countRequests } from "./flags/counted.ts";
import { serveHttp } from "./shared/bun.ts";

type Handler = (request: Request, server: unknown) => Promise<Response>;

const [databaseUrl = "", way = ""] = process.argv.slice(2);

async function wrappedHandler(): Promise<Handler> {
  const { auth } = createAuth(databaseUrl);
  await auth.$context;
  return withFeatureFlags({ ...auth, handler: countRequests(auth.handler) }).handler;
}

async function bareHandler(): Promise<Handler> {
  const answer = await readBareFlags(databaseUrl);
  return async (request) => {
    const cookie = request.headers.get("cookie") ?? "";
    const { body, revision } = answer(request.url, cookie, await request.text());
    return new Response(body, { headers: { ...HEADERS, "x-feature-flags-revision": revision } });
  };
}

const fetch = await (way === "bare" ? bareHandler() : wrappedHandler());
const server = serveHttp({ port: 0, hostname: "127.0.0.1", fetch });
console.log(JSON.stringify({ port: server.port }));
