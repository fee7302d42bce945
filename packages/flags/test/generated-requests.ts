/** Generates requests to the public operations, from callers of every kind, and plants the flags that they name. */
import type { Host, Person } from "./host.ts";
import { brokenText, type Chance, JUNK, pick } from "./malformed.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** The callers, by the headers they send. */
export interface People {
  readonly everyone: readonly Record<string, string>[];
  readonly ids: readonly string[];
  readonly organizations: readonly string[];
  /** Further contexts that requests may claim. */
  readonly claims?: readonly object[];
}

export async function invite(host: Host): Promise<People> {
  const { auth } = host;
  const [admin, user, owner, member] = [
    await host.person("admin", "admin"),
    await host.person("user"),
    await host.person("owner"),
    await host.person("member"),
  ];
  const organization = await host.organization(owner, "first");
  const foreign = await host.organization(await host.person("stranger"), "second");
  await host.join(member, organization, "member");
  const keys = [
    await host.key({ userId: user.id }, ["read"]),
    await host.key({ userId: admin.id }, ["read", "evaluate-as"]),
    await host.key({ userId: owner.id, organizationId: organization }, ["read"]),
  ];
  const counted = await auth.api.createApiKey({
    body: { userId: user.id, remaining: 1_000_000, permissions: { featureFlag: ["read"] } },
  });
  const session = (person: Person) => ({ ...person.headers, origin: host.origin });
  const cookie = user.headers["cookie"] ?? "";
  const [, value = ""] = cookie.split("=", 2);
  const token = decodeURIComponent(value);
  return {
    ids: [user.id, admin.id, "somebody"],
    organizations: [organization, foreign, "", "nowhere"],
    everyone: [
      {},
      {},
      {},
      { origin: "https://elsewhere.example" },
      { "x-forwarded-for": "203.0.113.7" },
      { "x-forwarded-for": "2001:db8:1:2::3" },
      ...[admin, user, user, user, owner, member].map(session),
      { ...session(user), cookie: `theme=dark; ${cookie}; other="a b"` },
      { ...session(user), cookie: `${cookie}; ${cookie}` },
      { ...session(user), cookie: `${cookie.slice(0, -3)}xyz` },
      { ...session(user), cookie: `better-auth.session_token=nonsense` },
      { ...session(user), cookie: `${cookie}; better-auth.session_data=abc` },
      { ...session(user), cookie: "theme=dark" },
      { cookie },
      { cookie, origin: "https://elsewhere.example" },
      { cookie, origin: "null" },
      { cookie, referer: `${host.origin}/page` },
      { authorization: `Bearer ${token}` },
      { authorization: `Bearer ${token.split(".")[0]}` },
      { authorization: "Bearer nonsense" },
      { authorization: "Basic dXNlcjpwYXNz" },
      ...keys.map(({ headers }) => headers),
      { "x-api-key": counted.key },
      { "x-api-key": "nonsense" },
      { ...session(user), ...keys[0]?.headers },
    ],
  };
}

/** Creates flags of every type with rules, overrides and segments. */
export async function plant({ auth }: Host, { ids, organizations }: People): Promise<string[]> {
  const conditions = { conditions: [{ attribute: "plan", operator: "equals" as const, value: "pro" }] };
  const variants = [
    { key: "a", weight: 50, value: { at: "2026-01-01T00:00:00.000Z", é: [1, null] }, metadata: { m: "ü" } },
    { key: "b", weight: 50, value: null },
  ];
  const bodies = [
    { key: "plain", type: "boolean" as const, defaultValue: true },
    { key: "__proto__", type: "string" as const, defaultValue: "prototype" },
    { key: "many", type: "json" as const, variants, rolloutPercentage: 50 },
    { key: "ruled", type: "string" as const, defaultValue: 'quote " and \u2028' },
    { key: "off", type: "number" as const, defaultValue: 1.5, enabled: false },
    { key: "off-value", type: "json" as const, defaultValue: 1, offValue: { é: [null] }, enabled: false },
    { key: "hidden", type: "boolean" as const, visibility: "server" as const },
    { key: "ringed", type: "string" as const, environments: { beta: { enabled: false, offValue: "b" } } },
    { key: "by-organization", type: "json" as const, variants, bucketBy: "organizationId" as const },
  ];
  for (const body of bodies) {
    const { id, type } = await auth.api.createFeatureFlag({ body: { name: "N", enabled: true, ...body } });
    if (body.key === "ruled") {
      await auth.api.createFeatureFlagRule({ body: { flagId: id, priority: 1, conditions, value: "r" } });
      const everyone = { conditions: [] };
      await auth.api.createFeatureFlagRule({
        body: { flagId: id, priority: 0, conditions: everyone, value: "in beta", environments: ["beta"] },
      });
    }
    if (type === "boolean" && ids[0] !== undefined) {
      await auth.api.createFeatureFlagOverride({ body: { flagId: id, userId: ids[0], value: false } });
    }
  }
  return [...bodies.map(({ key }) => key), "missing", "7", organizations[0] ?? ""];
}

const PATHS = [
  "evaluate",
  "evaluate",
  "evaluate-batch",
  "bootstrap",
  "bootstrap",
  "events",
  "events/batch",
  "exposures",
];
/** Tokens with the forms that the server must refuse. */
const NO_TOKENS = ["", "a.b", `${"A".repeat(40)}.${"A".repeat(22)}`, 7, null];
const TYPES = [
  "application/json; charset=utf-8",
  "APPLICATION/JSON",
  "text/plain",
  "application/vnd.api+json",
  "",
];

/** Generates a request. Most are valid. */
export function nextRequest(chance: Chance, people: People, keys: readonly string[]): Asked {
  const maybe = <Value>(share: number, value: () => Value) => (chance() < share ? value() : undefined);
  const junk = () => JSON.parse(pick(chance, JUNK)) as unknown;
  const key = () => pick(chance, keys);
  const path = pick(chance, PATHS);
  const { claims = [] } = people;
  const ownContext = () => ({
    userId: maybe(0.3, () => pick(chance, people.ids)),
    email: maybe(0.05, () => "user@example.com"),
    role: maybe(0.05, () => "admin"),
    organizationId: maybe(0.15, () => pick(chance, people.organizations)),
    anonymousId: maybe(0.2, () => "anonymous"),
    attributes: maybe(0.6, () => ({
      plan: pick(chance, ["pro", "free", 3, null]),
      nested: maybe(0.2, junk),
      organizationRole: maybe(0.05, () => "member"),
    })),
    device: maybe(0.1, () => ({ type: pick(chance, ["mobile", "sundial"]), unknown: 1 })),
    geo: maybe(0.1, () => ({ country: "DE" })),
    unknown: maybe(0.05, junk),
  });
  const context = maybe(0.6, () =>
    claims.length > 0 && chance() < 0.6 ? pick(chance, claims) : ownContext(),
  );
  const request = {
    context,
    select: maybe(0.5, () =>
      pick(chance, ["full", "value", ["value"], ["variant", "reason", "metadata"], []]),
    ),
    environment: maybe(0.2, () => pick(chance, ["production", "beta", "secret"])),
    track: maybe(0.05, () => true),
    exposures: maybe(0.2, () => chance() < 0.9),
    debug: maybe(0.1, () => true),
    contextInResponse: maybe(0.3, () => chance() < 0.5),
    unknown: maybe(0.05, junk),
    callbackURL: maybe(0.01, () => "https://elsewhere.example"),
  };
  const event = () => ({
    flagKey: key(),
    event: pick(chance, ["click", "buy"]),
    value: maybe(0.5, () => Math.floor(chance() * 10)),
    properties: maybe(0.2, () => ({ a: 1 })),
    context: maybe(0.1, () => context),
    idempotencyKey: maybe(0.2, () => `k${Math.floor(chance() * 50)}`),
  });
  const bodies: Record<string, () => Record<string, unknown>> = {
    evaluate: () => ({ flagKey: key(), default: maybe(0.3, junk), ...request }),
    "evaluate-batch": () => ({
      flagKeys: Array.from({ length: Math.floor(chance() * 6) }, key),
      defaults: maybe(0.3, () => ({ missing: junk() })),
      ...request,
    }),
    bootstrap: () => ({
      include: maybe(0.1, () => [key(), key()]),
      prefix: maybe(0.1, () => pick(chance, ["p", "r", ""])),
      includeDisabled: maybe(0.3, () => true),
      position: maybe(0.2, () => pick(chance, ["0", "x", "1.1.other"])),
      ...request,
    }),
    events: event,
    "events/batch": () => ({ events: Array.from({ length: 1 + Math.floor(chance() * 3) }, event) }),
    exposures: () => ({
      exposures: Array.from({ length: Math.floor(chance() * 4) }, () => pick(chance, NO_TOKENS)),
    }),
  };
  const body = bodies[path]?.() ?? {};
  const names = Object.keys(body);
  if (chance() < 0.1 && names.length > 0) body[pick(chance, names)] = junk();
  const whole = JSON.stringify(body);
  const text = chance() < 0.03 ? brokenText(chance, whole) : chance() < 0.02 ? "" : whole;
  const suffix = maybe(0.02, () => pick(chance, ["/", "?x=1", "?", "%20", "/x"])) ?? "";
  const type = maybe(0.04, () => pick(chance, TYPES)) ?? "application/json";
  const method = maybe(0.02, () => pick(chance, ["GET", "PUT", "DELETE", "PATCH"])) ?? "POST";
  return {
    method,
    path: `/api/auth/feature-flags/${path}${suffix}`,
    body: method === "GET" ? undefined : text,
    headers: {
      ...pick(chance, people.everyone),
      ...(type !== "" && { "content-type": type }),
      ...(method !== "GET" && { "content-length": String(new TextEncoder().encode(text).length) }),
      ...(chance() < 0.1 && { "x-deployment-ring": pick(chance, ["beta", "secret", ""]) }),
      ...(chance() < 0.1 && { "x-feature-flags-revision": pick(chance, ["1", "x", "5"]) }),
      ...(chance() < 0.05 && { "if-none-match": pick(chance, ["*", 'W/"0"']) }),
      ...(chance() < 0.1 && { "idempotency-key": `h${Math.floor(chance() * 50)}` }),
    },
  };
}
