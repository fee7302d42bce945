/** Generates malformed requests: valid ones with one to three random changes, repeatable by seed. */
import type { Host, Person } from "./host.ts";
import { newKey } from "./new-key.ts";

export interface Tally {
  requests: number;
  /** Number of requests answered with 4xx. */
  refused: number;
  /** Number of requests that stayed valid and succeeded. */
  accepted: number;
}

export type Chance = () => number;

/** The generator mulberry32, which is the same on every platform. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = <Item>(chance: Chance, items: readonly Item[]): Item => {
  const item = items[Math.floor(chance() * items.length)];
  if (item === undefined) throw new Error("The list to pick from is empty.");
  return item;
};

function nest(levels: number): unknown {
  let value: unknown = [];
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { deep: value };
  return value;
}

/** Replacement values as JSON text, which can contain text that `JSON.stringify` would escape. */
export const JUNK: readonly string[] = [
  "null",
  "true",
  "false",
  "0",
  "-1",
  "1.5",
  "1e999",
  "-1e999",
  "9007199254740993",
  "1e-320",
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"__proto__"',
  '"constructor"',
  '"../../etc"',
  '"%00"',
  "[]",
  "{}",
  "[null]",
  "[[]]",
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":1}}',
  '{"toString":1}',
  '{"then":1}',
  '{"toJSON":1}',
  '{"conditions":[]}',
  '{"conditions":[{}]}',
  '{"conditions":{}}',
  '{"segment":1}',
  '{"length":-1}',
  '{"":{"":{"":""}}}',
  '"2026-13-45T99:99:99Z"',
  '"0000-00-00"',
  '"(((((((((("',
  '"(a+)+$"',
  '["value","value"]',
  '"value"',
  '"full"',
  `"${"x".repeat(300)}"`,
  `"${"é".repeat(5000)}"`,
  `[${Array(1200).fill(0).join()}]`,
  JSON.stringify(nest(9)),
  JSON.stringify(nest(70)),
  "[".repeat(2000) + "]".repeat(2000),
];

interface Seed {
  readonly method: "POST" | "PATCH";
  readonly path: string;
  readonly body: object;
  readonly asAdmin: boolean;
}

/** One valid request for every route with a body. */
async function seedsOf(host: Host): Promise<Seed[]> {
  const { api } = host.auth;
  const conditions = {
    operator: "OR",
    conditions: [
      { attribute: "attributes.plan", operator: "in", value: ["pro", "team"] },
      { conditions: [{ attribute: "email", operator: "regex", value: "@example\\.com$" }] },
    ],
    not: { conditions: [{ attribute: "geo.country", operator: "equals", value: "XX" }] },
  } as const;
  const flag = {
    name: "N",
    description: "D",
    type: "string",
    enabled: true,
    defaultValue: "d",
    rolloutPercentage: 50,
    variants: [
      { key: "a", weight: 40, value: "A", metadata: { m: 1 } },
      { key: "b", weight: 60, value: "B" },
    ],
    environments: { beta: { enabled: true, rolloutPercentage: 10, defaultValue: "e" } },
    salt: "s",
    bucketBy: "attributes.account.id",
    visibility: "public",
    metadata: { owner: ["me"] },
  } as const;
  const { id } = await api.createFeatureFlag({ body: { ...flag, key: newKey() } });
  const rule = {
    priority: 1,
    name: "R",
    conditions,
    value: "r",
    variant: "a",
    percentage: 50,
    enabled: true,
  };
  const made = await api.createFeatureFlagRule({ body: { ...rule, flagId: id } });
  const segment = await api.createFeatureFlagSegment({ body: { key: newKey(), name: "S", conditions } });
  const context = {
    userId: "u",
    organizationId: "o",
    anonymousId: "a",
    attributes: { plan: "pro", account: { id: 7 } },
    device: { type: "mobile", os: "iOS" },
    geo: { country: "DE" },
  };
  const evaluation = { context, select: ["value", "reason"], environment: "beta", track: false, debug: true };
  const A = "/feature-flags/admin";
  const open = { method: "POST", asAdmin: false } as const;
  const post = { method: "POST", asAdmin: true } as const;
  const patch = { method: "PATCH", asAdmin: true } as const;
  return [
    {
      ...open,
      path: "/feature-flags/evaluate",
      body: { flagKey: "k", default: { a: [1] }, contextInResponse: true, ...evaluation },
    },
    {
      ...open,
      path: "/feature-flags/evaluate-batch",
      body: { flagKeys: ["k", "l"], defaults: { k: 1 }, contextInResponse: true, ...evaluation },
    },
    {
      ...open,
      path: "/feature-flags/bootstrap",
      body: { include: ["k"], prefix: "k", includeDisabled: true, ...evaluation },
    },
    { ...post, path: `${A}/flags`, body: { key: "k", ...flag } },
    { ...patch, path: `${A}/flags/${id}`, body: flag },
    { ...post, path: `${A}/flags/${id}/explain`, body: { context, environment: "beta" } },
    { ...post, path: `${A}/flags/${id}/rules`, body: rule },
    { ...patch, path: `${A}/flags/${id}/rules/${made.id}`, body: rule },
    {
      ...post,
      path: `${A}/overrides`,
      body: {
        flagId: id,
        userId: "u",
        value: "o",
        enabled: true,
        variant: "a",
        reason: "r",
        expiresAt: "2090-01-01T00:00:00Z",
      },
    },
    { ...post, path: `${A}/segments`, body: { key: "s", name: "S", conditions, organizationId: "o" } },
    { ...patch, path: `${A}/segments/${segment.id}`, body: { name: "S", conditions } },
  ];
}

/** The JSON text of the body with one to three changes. */
export function brokenBody(chance: Chance, body: object): string {
  const marks = new Map<string, string>();
  const damages = 1 + Math.floor(chance() * 3);
  let tree: unknown = structuredClone(body);
  for (let damage = 0; damage < damages; damage++) {
    const mark = `@@${damage}@@`;
    marks.set(`"${mark}"`, pick(chance, JUNK));
    tree = replaceSomewhere(chance, tree, mark);
  }
  let text = JSON.stringify(tree) ?? "";
  for (const [mark, junk] of marks) text = text.replace(mark, () => junk);
  return chance() < 0.1 ? brokenText(chance, text) : text;
}

/** Walks to a random place and replaces the value there with the mark, removes it, or adds the mark next to it. */
function replaceSomewhere(chance: Chance, node: unknown, mark: string): unknown {
  if (typeof node !== "object" || node === null || chance() < 0.15) return mark;
  const keys = Object.keys(node);
  if (keys.length === 0) return mark;
  const holder = node as Record<string, unknown>;
  const roll = chance();
  if (roll < 0.08) return { ...holder, [pick(chance, ["colour", "id", "__proto__x", "toString", ""])]: mark };
  const key = pick(chance, keys);
  if (roll < 0.15 && !Array.isArray(node)) {
    const { [key]: _removed, ...rest } = holder;
    return rest;
  }
  holder[key] = replaceSomewhere(chance, holder[key], mark);
  return node;
}

export function brokenText(chance: Chance, text: string): string {
  const at = Math.floor(chance() * text.length);
  return pick(chance, [
    text.slice(0, at),
    `${text.slice(0, at)}\u0000${text.slice(at)}`,
    `${text},`,
    `[${text}`,
    text.replaceAll('"', "'"),
    "",
    " ",
    "undefined",
    "NaN",
  ]);
}

const QUERIES = [
  "limit",
  "offset",
  "cursor",
  "sort",
  "q",
  "type",
  "enabled",
  "prefix",
  "include",
  "flagId",
  "userId",
  "action",
  "start",
  "end",
  "organizationId",
  "__proto__",
  "toString",
];
const LISTS = ["flags", "overrides", "segments", "audit"];

export function brokenUrl(chance: Chance): string {
  const list = pick(chance, LISTS);
  const query = Array.from({ length: 1 + Math.floor(chance() * 3) }, () => {
    const value = pick(chance, JUNK).slice(0, 400).replaceAll(/^"|"$/g, "");
    return `${pick(chance, QUERIES)}=${encodeURIComponent(value.replaceAll("\\u0000", "\u0000"))}`;
  });
  const id = chance() < 0.3 ? `/${encodeURIComponent(pick(chance, JUNK).slice(0, 300))}` : "";
  return `/feature-flags/admin/${list}${id}?${query.join("&")}`;
}

/** Sends malformed requests until the given number was refused. Throws at the first response that is a server error. */
export async function sendMalformed(
  host: Host,
  admin: Person,
  refusals: number,
  seed: number,
): Promise<Tally> {
  const chance = chanceOf(seed);
  const seeds = await seedsOf(host);
  const tally: Tally = { requests: 0, refused: 0, accepted: 0 };
  while (tally.refused < refusals) {
    const asks = chance() < 0.1;
    const { method, path, body, asAdmin } = pick(chance, seeds);
    const url = asks ? brokenUrl(chance) : path;
    const text = asks ? undefined : brokenBody(chance, body);
    const response = await host.auth.handler(
      new Request(`${host.origin}/api/auth${url}`, {
        method: asks ? "GET" : method,
        headers: {
          origin: host.origin,
          ...(text !== undefined && { "content-type": "application/json" }),
          ...((asks || asAdmin) && admin.headers),
        },
        ...(text !== undefined && { body: text }),
      }),
    );
    tally.requests++;
    const answered = await response.text();
    if (response.status >= 500) {
      throw new Error(
        `${response.status} ${answered} for ${asks ? "GET" : method} ${url} ${text} (seed ${seed})`,
      );
    }
    if (response.status >= 400) tally.refused++;
    else tally.accepted++;
  }
  return tally;
}
