/** Signs in the callers that plugins of Better Auth know beside ordinary users: impersonated, anonymous, several at once. */
import type { BothPaths } from "./both-paths.ts";
import type { People } from "./generated-requests.ts";
import type { Host } from "./host.ts";

type Headers = Record<string, string>;

let addresses = 0;

/** The people, and those who need the plugins `anonymous` and `multiSession`. */
export async function inviteUnusual(paths: BothPaths, people: People): Promise<People> {
  const { host } = paths;
  const { origin } = host;
  const send = async (path: string, body: object, headers: Headers = {}) => {
    const text = JSON.stringify(body);
    const sent = {
      origin,
      "content-type": "application/json",
      "content-length": String(text.length),
      // Better Auth limits sign-ins by address, for all instances of a process together.
      "x-forwarded-for": `198.51.100.${++addresses}`,
    };
    const request = {
      method: "POST",
      path: `/api/auth${path}`,
      body: text,
      headers: { ...sent, ...headers },
    };
    const answer = await paths.plain.fetch(request);
    if (answer.status !== 200) throw new Error(`${path} failed: ${answer.status} ${answer.text}`);
    return { origin, cookie: cookieOf(answer.headers.getSetCookie()) };
  };
  const root = await host.person("root", "admin");
  const ghost = await host.person("ghost");
  const target = await host.person("target");
  const banned = await host.person("banned");
  await ban(host, banned.id, root.headers);
  const asGhost = await send("/admin/impersonate-user", { userId: ghost.id }, root.headers);
  const endedEarly = await send("/admin/impersonate-user", { userId: target.id }, root.headers);
  await send("/admin/stop-impersonating", {}, endedEarly);
  const guest = await send("/sign-in/anonymous", {});
  const first = await send("/sign-in/email", { email: ghost.email, password: "correct horse battery" });
  const both = await send(
    "/sign-in/email",
    { email: target.email, password: "correct horse battery" },
    { cookie: first.cookie },
  );
  // A browser keeps the cookie of the first session beside those of the second.
  const kept = first.cookie.split("; ").filter((pair) => pair.includes("_multi-"));
  const several = { origin, cookie: [...kept, both.cookie].join("; ") };
  const unusual: Headers[] = [
    { ...banned.headers, origin },
    asGhost,
    { origin, cookie: `${asGhost.cookie}; ${kept.join("; ")}` },
    endedEarly,
    guest,
    first,
    several,
    // The session that is not the active one.
    { origin, cookie: kept.join("; ") },
  ];
  return {
    ...people,
    ids: [...people.ids, ghost.id, target.id],
    everyone: [...people.everyone, ...unusual, ...unusual],
  };
}

async function ban({ auth }: Host, userId: string, headers: Headers): Promise<void> {
  await auth.api.banUser({ body: { userId }, headers: new globalThis.Headers(headers) });
}

/** As a browser keeps them: the last of each name, without those that were deleted. */
export function cookieOf(lines: readonly string[]): string {
  const kept = new Map<string, string>();
  for (const line of lines) {
    const [pair = ""] = line.split(";", 1);
    const [name = ""] = pair.split("=", 1);
    if (/max-age=0(?:;|$)/i.test(line)) kept.delete(name);
    else kept.set(name, pair);
  }
  return [...kept.values()].join("; ");
}
