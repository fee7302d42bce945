/** Random operations of many organizations. Each has a text of its own, which no other may ever receive. */
import type { Random } from "./engine/random.ts";
import type { Host, Person } from "./host.ts";
import {
  ALL_ACTIONS,
  callByUrl,
  fillTenant,
  RECIPES,
  ROUTE_NAMES,
  type Tenant,
} from "./permissions-matrix.ts";

export interface CanaryOptions {
  /** Distinguishes the organizations of several processes. Default 0. */
  readonly firstOrganization?: number;
  readonly organizations: number;
  readonly operationsPerOrganization: number;
  readonly random: Random;
}

export interface CanaryResult {
  readonly operations: number;
  /** Responses with a text of the caller's own organization: what the check would find elsewhere. */
  readonly ownTexts: number;
  readonly leaks: readonly string[];
  /** 5xx responses. */
  readonly failures: readonly string[];
  readonly byStatus: Readonly<Record<number, number>>;
}

interface Organization {
  readonly name: string;
  readonly callers: readonly Person[];
  tenant: Tenant;
}

const GLOBAL = "global";
const AT_ONCE = 8;

export async function runCanaries(host: Host, options: CanaryOptions): Promise<CanaryResult> {
  const { random, organizations: count, firstOrganization = 0 } = options;
  const global: Organization = { name: GLOBAL, callers: [], tenant: await fillTenant(host, "", GLOBAL) };
  const organizations: Organization[] = [];
  for (let at = 0; at < count; at++)
    organizations.push(await createOrganization(host, `org-${firstOrganization + at}`));

  const leaks: string[] = [];
  const failures: string[] = [];
  const byStatus: Record<number, number> = {};
  const total = count * options.operationsPerOrganization;
  let [started, ownTexts] = [0, 0];
  const { pick } = random;

  async function operate(): Promise<void> {
    const home = pick(organizations);
    const as = random.chance(0.1) ? undefined : pick(home.callers);
    const target = pick([home, home, home, pick(organizations), pick(organizations), global]);
    const route = pick(ROUTE_NAMES);
    const { organizationId } = target.tenant;
    const isNamed = organizationId !== "" && random.chance(0.5);
    const input = RECIPES[route].input(target.tenant, isNamed ? { organizationId } : {});
    const caller = { name: home.name, ...(as && { as }), everywhere: [], within: {} };
    const outcome = await callByUrl(host, route, input, caller);
    if (outcome === undefined) return;
    const { status, text } = outcome;
    byStatus[status] = (byStatus[status] ?? 0) + 1;
    if (status >= 500) failures.push(`${route} as ${home.name}: ${status} ${text.slice(0, 200)}`);
    for (const [, owner = ""] of text.matchAll(/canary-of-([\w-]+)\./g)) {
      if (owner === home.name && as !== undefined) ownTexts += 1;
      else if (owner !== GLOBAL) leaks.push(`${route} as ${as ? home.name : "nobody"} shows ${owner}`);
    }
    if (route.startsWith("delete") && status < 300)
      target.tenant = await fillTenant(host, organizationId, target.name);
  }

  const work = async () => {
    while (started++ < total) await operate();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { operations: total, ownTexts, leaks, failures, byStatus };
}

async function createOrganization(host: Host, name: string): Promise<Organization> {
  const owner = await host.person(`owner-${name}`);
  const organizationId = await host.organization(owner, name);
  const member = await host.person(`member-${name}`);
  await host.join(member, organizationId);
  const key = await host.key({ userId: owner.id, organizationId }, ALL_ACTIONS);
  return { name, callers: [owner, member, key], tenant: await fillTenant(host, organizationId, name) };
}

/** Median times of a request for a flag of another organization and for a flag that does not exist, in ms. */
export async function compareTimes(
  host: Host,
  caller: Person,
  foreignId: string,
  rounds: number,
): Promise<{ foreign: number; missing: number }> {
  const times: Record<"foreign" | "missing", number[]> = { foreign: [], missing: [] };
  const missingId = `${foreignId.slice(0, -4)}zzzz`;
  for (let round = 0; round < rounds; round++) {
    for (const [kind, id] of [
      ["foreign", foreignId],
      ["missing", missingId],
    ] as const) {
      const startedAt = performance.now();
      const { status } = await host.call("GET", `/feature-flags/admin/flags/${id}`, { as: caller });
      times[kind].push(performance.now() - startedAt);
      if (status !== 404) throw new Error(`A ${kind} flag was answered with ${status}.`);
    }
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  return { foreign: median(times.foreign), missing: median(times.missing) };
}
