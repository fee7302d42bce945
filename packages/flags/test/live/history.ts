/**
 * Random writes, session changes, cuts and kills with many pages on several processes. Checks that at the end every
 * page has the values of a fresh evaluation, that no page ever went back, and that no frame has a text of another user
 * or organization.
 */
import { closeFeatureFlags } from "@halyard/flags";
import type { Random } from "../engine/random.ts";
import type { HostOptions, Person } from "../host.ts";
import { startHost } from "../host.ts";
import { type LiveHost, mountLive, openPage, type Page } from "./kit.ts";
import type { LiveNodes } from "./nodes.ts";

export interface HistoryOptions {
  readonly open: () => HostOptions["database"];
  readonly pages: number;
  readonly processes: number;
  readonly durationMs: number;
  readonly random: Random;
  /** Processes that push the changes, and are killed at random. Default: the auth instances of this process. */
  readonly nodes?: LiveNodes;
}

export interface HistoryResult {
  /** How often a process or the bus was killed. */
  readonly kills: number;
  readonly steps: number;
  /** Values of pages at the end that a fresh evaluation does not give. */
  readonly differences: string[];
  /** Pages that were told an older value after a newer one. */
  readonly backward: string[];
  /** Frames with a text of another user or organization. */
  readonly leaks: string[];
  /** Frames of pages whose session had ended. */
  readonly afterEnd: string[];
  readonly frames: number;
}

interface Visitor {
  readonly person: Person;
  readonly page: Page;
  /** Organizations that it is a member of. */
  readonly memberOf: readonly string[];
  /** When the session ended. */
  endedAt: number | undefined;
  framesAtEnd: number;
}

const FLAGS = 12;
const SETTLE_MS = 20_000;
/** A session that ended in another process is found by comparison within this time. */
const END_MS = 6000;
/** The pause before a process or the bus is killed. */
const KILL_MS = { least: 5_000, spread: 10_000 };

export async function runHistory(options: HistoryOptions): Promise<HistoryResult> {
  const { open, pages, processes, durationMs, random, nodes } = options;
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const hosts: LiveHost[] = [];
  for (let index = 0; index < processes; index++) {
    const bus = await nodes?.openBus();
    const flags = { multiTenant: true, ...(bus && { bus }) };
    // The owner is a member too. Better Auth's own limit is 100.
    const organization = { membershipLimit: pages + 1 };
    const host = await mountLive(
      await startHost({ database: open(), migrate: index === 0, flags, organization }),
    );
    await nodes?.connect(host);
    hosts.push(host);
  }
  await nodes?.start();
  const [first] = hosts as [LiveHost];
  const { api } = first.auth;
  const owner = await first.person("owner");
  const organizations = [
    await first.organization(owner, "alpha"),
    await first.organization(owner, "beta"),
  ] as const;
  /** The counter in each value only grows, so a smaller one is older. */
  let counter = 0;
  const nextValue = (whose: string) => `${whose}#${++counter}`;
  const made: { id: string; key: string; whose: string }[] = [];
  for (let index = 0; index < FLAGS; index++) {
    const whose = index % 3 === 0 ? "" : pick(organizations);
    const key = `flag-${index}`;
    const body = { key, name: "N", type: "string" as const, enabled: true, organizationId: whose };
    const { id } = await api.createFeatureFlag({
      body: { ...body, defaultValue: nextValue(whose || "global") },
    });
    made.push({ id, key, whose });
  }
  const visitors: Visitor[] = [];
  for (let index = 0; index < pages; index++) {
    const host = hosts[index % hosts.length] as LiveHost;
    const liveUrl = nodes?.liveUrls[index % nodes.liveUrls.length] ?? host.liveUrl;
    const person = await first.person(`visitor-${index}`);
    // Half of them are members of one organization only, and must never see the other's values.
    const memberOf = index % 2 === 0 ? [pick(organizations)] : [...organizations];
    for (const one of memberOf)
      await api.addMember({ body: { userId: person.id, organizationId: one, role: "member" } });
    if (index % 4 !== 0) await activate(first, person, pick(memberOf));
    const page = openPage({ ...host, liveUrl }, person);
    void page.wire.connect().catch(() => undefined);
    visitors.push({ person, page, memberOf, endedAt: undefined, framesAtEnd: 0 });
  }
  const isOpen = ({ endedAt }: Visitor) => endedAt === undefined;

  const actions: (() => Promise<void>)[] = [
    async () => {
      const flag = pick(made);
      await api.updateFeatureFlag({ body: { id: flag.id, defaultValue: nextValue(flag.whose || "global") } });
    },
    async () => {
      const flag = pick(made);
      await pick(hosts).auth.api.updateFeatureFlag({
        body: { id: flag.id, defaultValue: nextValue(flag.whose || "global") },
      });
    },
    async () => {
      const [flag, { person }] = [pick(made), pick(visitors)];
      const expiresAt = new Date(Date.now() + 200 + random.below(2000)).toISOString();
      const value = nextValue(`user:${person.id}`);
      const body = { flagId: flag.id, userId: person.id, value, ...(random.below(2) === 0 && { expiresAt }) };
      // The user may have one already.
      await api.createFeatureFlagOverride({ body }).catch(() => undefined);
    },
    async () => {
      const { overrides } = await api.listFeatureFlagOverrides({ query: { flagId: pick(made).id } });
      const override = overrides.length === 0 ? undefined : pick(overrides);
      if (override)
        await api.deleteFeatureFlagOverride({ params: { id: override.id } }).catch(() => undefined);
    },
    async () => {
      const { person, memberOf } = pick(visitors.filter(isOpen));
      await activate(pick(hosts), person, pick(memberOf));
    },
    async () => pick(visitors).page.cut(),
    async () => pick(visitors).page.cut(),
    async () => {
      const alive = visitors.filter(isOpen);
      if (alive.length < visitors.length / 2 || random.below(5) > 0) return;
      const visitor = pick(alive);
      await api.signOut({ headers: new Headers(visitor.person.headers) });
      visitor.endedAt = Date.now();
    },
  ];
  let steps = 0;
  const untilMs = Date.now() + durationMs;
  const killing = nodes && killAtRandom(nodes, untilMs, random);
  while (Date.now() < untilMs) {
    await pick(actions)();
    steps += 1;
    for (const visitor of visitors) {
      const { endedAt, framesAtEnd } = visitor;
      if (endedAt !== undefined && framesAtEnd === 0 && Date.now() - endedAt > END_MS)
        visitor.framesAtEnd = visitor.page.frames.length;
    }
  }

  const kills = (await killing) ?? 0;
  const open_ = visitors.filter(isOpen);
  const differences = await settle(open_, first, SETTLE_MS);
  const result = {
    steps,
    kills,
    differences,
    backward: visitors.flatMap(backwardOf),
    leaks: visitors.flatMap((visitor) => leaksOf(visitor, visitors, organizations)),
    afterEnd: visitors.flatMap(({ page, person, framesAtEnd }) =>
      framesAtEnd > 0 && page.frames.length > framesAtEnd ? [`${person.id} after its session`] : [],
    ),
    frames: visitors.reduce((sum, { page }) => sum + page.frames.length, 0),
  };
  for (const { page } of visitors) await page.close();
  for (const host of hosts) {
    await host.stopLive();
    await host.close();
    await closeFeatureFlags(host.auth);
  }
  return result;
}

async function activate(host: LiveHost, person: Person, organizationId: string): Promise<void> {
  await host.auth.api.setActiveOrganization({
    body: { organizationId },
    headers: new Headers(person.headers),
  });
}

/** Waits until every page has the values of a fresh evaluation. Gives what still differs at the end. */
async function settle(visitors: readonly Visitor[], host: LiveHost, withinMs: number): Promise<string[]> {
  const untilMs = Date.now() + withinMs;
  for (;;) {
    const differences: string[] = [];
    for (const { page, person } of visitors) {
      const headers = new Headers(person.headers);
      const { flags } = await host.auth.api.bootstrapFeatureFlags({
        body: { select: "value", includeDisabled: true },
        headers,
      });
      const [seen, wanted] = [page.flags.values().all(), flags];
      if (page.subscription.state !== "live")
        differences.push(
          `${person.id} is ${page.subscription.state}, its connection ${page.wire.state} (${page.lastError()})`,
        );
      for (const key of new Set([...Object.keys(seen), ...Object.keys(wanted)])) {
        if (seen[key] !== wanted[key])
          differences.push(`${person.id} ${key}: ${String(seen[key])}, not ${String(wanted[key])}`);
      }
    }
    if (differences.length === 0 || Date.now() > untilMs) return differences;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Values of one origin and one flag only grow. An override ends, so values of different origins have no order. */
function backwardOf({ page, person }: Visitor): string[] {
  const last = new Map<string, number>();
  return page.told.flatMap(({ key, value }) => {
    if (typeof value !== "string") return [];
    const [whose = "", count = "0"] = value.split("#");
    const name = `${key} ${whose}`;
    const before = last.get(name) ?? 0;
    last.set(name, Number(count));
    return Number(count) < before ? [`${person.id} ${name}: ${count} after ${before}`] : [];
  });
}

/** A page may see global values, those of its organizations, and its own user's. */
function leaksOf(
  { page, person, memberOf }: Visitor,
  visitors: readonly Visitor[],
  organizations: readonly string[],
): string[] {
  const others = visitors.filter((other) => other.person.id !== person.id).map((other) => other.person.id);
  const foreign = organizations.filter((one) => !memberOf.includes(one)).map((one) => `${one}#`);
  const text = page.text();
  return [...others, ...foreign].flatMap((canary) =>
    text.includes(canary) ? [`${person.id} got ${canary}`] : [],
  );
}

/** Kills a process or the bus from time to time. Resolves to how often it did, with all of them running again. */
async function killAtRandom(nodes: LiveNodes, untilMs: number, random: Random): Promise<number> {
  for (let kills = 0; ; kills++) {
    const pauseMs = KILL_MS.least + random.below(KILL_MS.spread);
    if (Date.now() + pauseMs >= untilMs) return kills;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const victim = random.below(nodes.liveUrls.length + 1);
    await (victim < nodes.liveUrls.length ? nodes.killNode(victim) : nodes.killBus());
  }
}
