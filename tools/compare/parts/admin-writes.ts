/** Admin writes over HTTP, many of them refused, and what they leave in the audit log. */
import type { FlagType } from "@halyard/flags/engine";
import { type Generated, Generator } from "../../../packages/flags/test/engine/generate.ts";
import { createRandom, type Random } from "../../../packages/flags/test/engine/random.ts";
import { createFlags } from "../../../packages/flags/test/generated-flags.ts";
import { type Answer, type Host, type Person, startHost } from "../../../packages/flags/test/host.ts";
import { brokenBody, brokenUrl } from "../../../packages/flags/test/malformed.ts";
import type { Part, Stored } from "../part.ts";

interface Flag {
  readonly id: string;
  readonly type: FlagType;
}

interface Facts {
  readonly callers: readonly (Person | null)[];
  readonly userIds: readonly string[];
  readonly organizations: readonly string[];
  readonly flags: readonly Flag[];
}

interface Write {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/feature-flags/admin`. */
  readonly path: string;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

const USERS = 40;
const FLAGS = 24;
/** Of the callers. */
const ROOTS = 24;
const COMPARED = ["content-type", "cache-control", "etag", "location", "x-feature-flags-revision"];
const AUDIT_PAGE = 200;

export const adminWrites: Part<Facts> = {
  comparesRows: true,
  async prepare(stored, seed) {
    const [host, close] = await open(stored, false);
    const root = await host.person("root", "admin");
    const [owner, member, stranger, user] = [
      await host.person("owner"),
      await host.person("member"),
      await host.person("stranger"),
      await host.person("user"),
    ];
    const organizations = [
      await host.organization(owner, "first"),
      await host.organization(stranger, "second"),
    ];
    await host.join(member, organizations[0] ?? "");
    const users = [];
    for (let at = 0; at < USERS; at++) users.push(await host.person(`user-${at}`));
    for (const one of users.slice(0, USERS / 4)) await host.join(one, organizations[0] ?? "");
    const keys = [
      await host.key({ userId: root.id }, ["read", "create", "update"]),
      await host.key({ userId: root.id }, ["read", "audit", "delete", "override", "evaluate-as"]),
      await host.key({ userId: owner.id, organizationId: organizations[0] ?? "" }, ["read", "update"]),
    ];
    const generated = await createFlags(host, new Generator(createRandom(seed)), FLAGS);
    const flags: Flag[] = [];
    for (const { id } of generated) {
      const { type } = await host.auth.api.getFeatureFlag({ params: { id } });
      flags.push({ id, type });
    }
    await close();
    return {
      // Most writes are those of callers who may make them.
      callers: [
        ...Array<Person>(ROOTS).fill(root),
        owner,
        owner,
        owner,
        ...keys,
        member,
        stranger,
        user,
        null,
      ],
      userIds: [...users.map(({ id }) => id), "u1", "u2", "gone"],
      organizations: [...organizations, "nowhere"],
      flags,
    };
  },
  async run({ stored, facts, seed, size, record }) {
    const [host, close] = await open(stored, true);
    const random = createRandom(seed);
    const script = new Script(random, facts);
    const sent = { "user-agent": "comparison/1" };
    for (let at = 0; at < size; at++) {
      const { method, path, body, headers } = script.next();
      const as = random.pick(facts.callers) ?? undefined;
      const answer = await host.call(method, `/feature-flags/admin${path}`, {
        as,
        ...(body !== undefined && { body }),
        headers: { ...sent, "x-request-id": `request-${at}`, ...headers },
      });
      script.learn(answer);
      const text = typeof body === "string" ? body : JSON.stringify(body);
      record({ about: `write ${at}: ${method} ${path} ${text}`, seen: seenOf(answer) });
    }
    for (const organizationId of ["", ...facts.organizations]) {
      await recordAudit(host, facts.callers[0] ?? undefined, organizationId, record);
    }
    await close();
  },
};

async function open({ fresh }: Stored, multiTenant: boolean): Promise<[Host, () => Promise<void>]> {
  const { database, close } = fresh.connect();
  const host = await startHost({
    database,
    flags: { multiTenant, environments: { default: "production", claimable: ["production", "beta"] } },
  });
  return [
    host,
    async () => {
      await host.close();
      await close();
    },
  ];
}

function seenOf({ status, headers, text }: Answer): unknown {
  // A cursor has the id of the last entry in base64.
  const steady = text.replaceAll(/"nextCursor":"[^"]+"/g, '"nextCursor":""');
  return { status, headers: COMPARED.map((name) => headers.get(name)), text: steady };
}

async function recordAudit(
  host: Host,
  as: Person | undefined,
  organizationId: string,
  record: (entry: { about: string; seen: unknown }) => void,
): Promise<void> {
  for (let offset = 0; ; offset += AUDIT_PAGE) {
    const path = `/feature-flags/admin/audit?limit=${AUDIT_PAGE}&offset=${offset}&organizationId=${organizationId}`;
    const { status, json } = await host.call("GET", path, { as });
    const entries: unknown[] = json.entries ?? [];
    record({ about: `audit of ${organizationId} from ${offset}: ${status}`, seen: entries.length });
    for (const [at, entry] of entries.entries()) {
      record({ about: `audit of ${organizationId}, ${offset + at}`, seen: entry });
    }
    if (entries.length < AUDIT_PAGE) return;
  }
}

/** Chooses the writes. It learns the ids of what they create from the answers. */
class Script {
  readonly #random: Random;
  readonly #generator: Generator;
  readonly #facts: Facts;
  readonly #flags: Flag[];
  readonly #rules: { readonly flagId: string; readonly id: string }[] = [];
  readonly #overrides: string[] = [];
  readonly #segments: string[] = ["key:s0", "key:s1", "key:s2", "key:s3"];
  readonly #plans: string[] = [];
  readonly #entries: string[] = [];
  #count = 0;

  constructor(random: Random, facts: Facts) {
    this.#random = random;
    this.#generator = new Generator(random);
    this.#facts = facts;
    this.#flags = [...facts.flags];
  }

  next(): Write {
    const random = this.#random;
    this.#count += 1;
    if (random.chance(0.03)) {
      return { method: "GET", path: brokenUrl(random.next).replace("/feature-flags/admin", "") };
    }
    const write = this.#valid();
    const isBroken = typeof write.body === "object" && random.chance(0.12);
    return isBroken ? { ...write, body: brokenBody(random.next, structuredClone(write.body ?? {})) } : write;
  }

  /** Remembers ids in the answer. */
  learn({ status, json }: Answer): void {
    if (status >= 300 || typeof json !== "object" || json === null) return;
    const { id, flagId, userId, priority, conditions, changes, entries, rules, type } = json;
    for (const entry of entries ?? []) this.#entries.push(entry.id);
    for (const rule of rules ?? []) this.#rules.push({ flagId: rule.flagId, id: rule.id });
    if (typeof id !== "string") return;
    if (changes !== undefined) this.#plans.push(id);
    else if (type !== undefined) this.#flags.push({ id, type });
    else if (priority !== undefined) this.#rules.push({ flagId, id });
    else if (userId !== undefined) this.#overrides.push(id);
    else if (conditions !== undefined) this.#segments.push(id);
  }

  #valid(): Write {
    const random = this.#random;
    // Few of the latest flags were deleted.
    const flag =
      this.#flags.at(-1 - random.below(Math.min(30, this.#flags.length))) ?? random.pick(this.#flags);
    const flagId = flag.id;
    const rule = this.#rules.at(-1 - random.below(12)) ?? { flagId, id: "none" };
    const segment = random.pick(this.#segments);
    const roll = random.next();
    if (roll < 0.14) return { method: "POST", path: "/flags", body: this.#flag() };
    if (roll < 0.3) {
      const headers = random.chance(0.2) ? { "if-match": `"${1 + random.below(3)}"` } : {};
      return { method: "PATCH", path: `/flags/${flagId}`, body: this.#flagPatch(), headers };
    }
    if (roll < 0.33) return { method: "DELETE", path: `/flags/${flagId}` };
    if (roll < 0.46) return { method: "POST", path: `/flags/${flagId}/rules`, body: this.#rule(flag) };
    if (roll < 0.53) {
      return { method: "PATCH", path: `/flags/${rule.flagId}/rules/${rule.id}`, body: this.#rulePatch(flag) };
    }
    if (roll < 0.57) return { method: "DELETE", path: `/flags/${rule.flagId}/rules/${rule.id}` };
    if (roll < 0.67) return { method: "POST", path: "/overrides", body: this.#override(flag) };
    if (roll < 0.7) {
      return { method: "DELETE", path: `/overrides/${this.#overrides.at(-1 - random.below(4)) ?? "none"}` };
    }
    if (roll < 0.74) return { method: "POST", path: "/segments", body: this.#segment() };
    if (roll < 0.77) return { method: "PATCH", path: `/segments/${segment}`, body: this.#segmentPatch() };
    if (roll < 0.79) return { method: "DELETE", path: `/segments/${segment}` };
    if (roll < 0.84) return { method: "POST", path: "/plans", body: this.#plan() };
    if (roll < 0.88) {
      return {
        method: "POST",
        path: `/plans/${this.#plans.at(-1 - random.below(2)) ?? "none"}/apply`,
        body: {},
      };
    }
    if (roll < 0.93) {
      const entry = this.#entries.at(-1 - random.below(30)) ?? "none";
      return { method: "POST", path: `/audit/${entry}/revert`, body: {} };
    }
    return { method: "GET", path: this.#reading(flagId) };
  }

  #owned(): { organizationId?: string } {
    if (this.#random.chance(0.03)) return {};
    return { organizationId: this.#random.chance(0.3) ? this.#random.pick(this.#facts.organizations) : "" };
  }

  /** With a salt: a random one would assign other users in each build. */
  #flag(): object {
    const { rules: _rules, ...fields } = this.#generator.flag().flag;
    const key = this.#random.chance(0.9) ? `flag-of-${this.#count}` : "flag-4";
    return {
      ...fields,
      key,
      name: `Flag ${this.#count}`,
      salt: `salt-${this.#count}`,
      ...(this.#random.chance(0.3) && { description: "Described", metadata: { owner: "team" } }),
      ...(this.#random.chance(0.2) && { visibility: "server" }),
      ...this.#owned(),
    };
  }

  #flagPatch(): object {
    const random = this.#random;
    const { flag } = this.#generator.flag();
    const { rules: _rules, key: _key, type: _type, salt: _salt, ...fields } = flag;
    // Values seldom fit a flag of another type.
    if (random.chance(0.15)) return fields;
    return {
      ...(random.chance(0.5) && { enabled: random.chance(0.6) }),
      ...(random.chance(0.3) && { rolloutPercentage: random.pick([0, 25, 100, null]) }),
      ...(random.chance(0.3) && { description: random.pick(["Changed", null]) }),
      ...(random.chance(0.1) && { name: `Name ${this.#count}` }),
      ...(random.chance(0.1) && { key: `renamed-${this.#count}` }),
      ...(random.chance(0.1) && { tenantOverridable: random.chance(0.5) }),
    };
  }

  /** The hash of a rule's percentage has a random salt, so new rules apply to all users or to none of them. */
  #rule({ type }: Flag): object {
    const random = this.#random;
    const { flag } = this.#flagOf(type);
    const {
      id: _id,
      salt: _salt,
      percentage: _percentage,
      variant: _variant,
      ...fields
    } = flag.rules[0] ?? {
      conditions: { conditions: [] },
    };
    const whole = random.pick<{ percentage?: number }>([{}, {}, { percentage: 0 }, { percentage: 100 }]);
    const value = flag.defaultValue ?? true;
    return {
      value,
      ...fields,
      ...whole,
      priority: random.below(10),
      ...(random.chance(0.5) && { name: "Rule" }),
    };
  }

  /** A generated flag of this type, or of another one. */
  #flagOf(type: FlagType): Generated {
    for (let tries = 0; tries < 20; tries++) {
      const generated = this.#generator.flag();
      if (generated.flag.type === type && generated.flag.rules.length > 0) return generated;
    }
    return this.#generator.flag();
  }

  #rulePatch(flag: Flag): object {
    const { conditions } = this.#rule(flag) as { conditions: object };
    return this.#random.pick<object>([
      { conditions },
      { priority: this.#random.below(10) },
      { enabled: this.#random.chance(0.5) },
      { name: null, percentage: this.#random.pick([0, 100, null]) },
      { value: "a", variant: null },
    ]);
  }

  #override({ id, type }: Flag): object {
    const random = this.#random;
    const value = random.chance(0.1) ? "a" : (this.#flagOf(type).flag.defaultValue ?? true);
    return {
      flagId: id,
      userId: random.pick(this.#facts.userIds),
      value,
      ...(random.chance(0.3) && { reason: "Asked for it" }),
      ...(random.chance(0.3) && {
        expiresAt: random.pick(["2090-01-01T00:00:00Z", "2090-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]),
      }),
      ...(random.chance(0.1) && { enabled: false }),
    };
  }

  #segment(): object {
    const key = this.#random.chance(0.8) ? `segment-${this.#count}` : "s0";
    return { key, ...this.#segmentPatch(), ...this.#owned() };
  }

  #segmentPatch(): { conditions: object; name?: string } {
    const [, conditions = { conditions: [] }] = this.#random.pick([...this.#generator.flag().segments]);
    return { conditions, ...(this.#random.chance(0.3) && { name: `Segment ${this.#count}` }) };
  }

  #plan(): object {
    const random = this.#random;
    const changes = random.list(random.pick([1, 1, 1, 2, 3]), () => ({
      flagId: (this.#flags.at(-1 - random.below(20)) ?? random.pick(this.#flags)).id,
      fields: this.#flagPatch(),
    }));
    return { changes, ...(random.chance(0.2) && { environment: random.pick(["beta", "staging"]) }) };
  }

  #reading(flagId: string): string {
    return this.#random.pick([
      "/audit?limit=30&organizationId=",
      "/audit?limit=30&organizationId=",
      "/audit?limit=30&organizationId=",
      `/audit?limit=10&organizationId=&flagId=${flagId}`,
      `/audit?action=delete&organizationId=${this.#facts.organizations[0]}`,
      `/flags/${flagId}`,
      `/flags/${flagId}/rules`,
      `/flags/${flagId}/rules`,
      "/flags?sort=-key&limit=20&organizationId=",
      "/flags?q=flag&sort=updatedAt&enabled=true&organizationId=",
      `/flags?organizationId=${this.#facts.organizations[0]}`,
      `/overrides?flagId=${flagId}&sort=userId&organizationId=`,
      "/segments?sort=key&organizationId=",
    ]);
  }
}
