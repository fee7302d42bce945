/**
 * A simulated A/B test through the real stack: pages rendered on a server, hydrated clients, reads of server code, sign-ins
 * in the middle, events of a shop that knows users only, and a network that loses requests and responses and repeats
 * requests. The script keeps its own books of what each person saw and did.
 */
import { createServerFlags, type FlagsBootstrap } from "@halyard/flags";
import { featureFlagsClient } from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";
import { type ArmFigures, Books, sorted } from "./ab-test-books.ts";
import { createRandom, type Random } from "./engine/random.ts";
import type { Host } from "./host.ts";

const PASSWORD = "correct horse battery";
const DAY_MS = 86_400_000;

/** The flags of the experiments, by what they are bucketed by. */
const FLAGS = {
  headline: { type: "string", bucketBy: "anonymousId", variants: weights(50) },
  pricing: { type: "string", bucketBy: "userId", variants: weights(30) },
  express: { type: "boolean", bucketBy: "anonymousId", rolloutPercentage: 40 },
} as const;
type FlagKey = keyof typeof FLAGS;

function weights(ofA: number) {
  return [
    { key: "a", weight: ofA, value: "A" },
    { key: "b", weight: 100 - ofA, value: "B" },
  ];
}

export interface AbTestResult {
  readonly counted: Record<string, Record<string, ArmFigures>>;
  readonly books: Record<string, Record<string, ArmFigures>>;
  /** Requests that were lost, whose response was lost, and that were sent twice. */
  readonly faults: number;
  readonly signIns: number;
  readonly exposures: number;
}

export interface AbTestOptions {
  readonly host: Host;
  readonly subjects: number;
  readonly seed: number;
  /** People at the same time. */
  readonly parallel?: number;
}

export async function runAbTest(options: AbTestOptions): Promise<AbTestResult> {
  const { host, subjects, seed, parallel = 50 } = options;
  const { api } = host.auth;
  const ids = new Map<string, string>();
  for (const [key, fields] of Object.entries(FLAGS)) {
    const { id } = await api.createFeatureFlag({ body: { key, name: key, enabled: true, ...fields } });
    ids.set(key, id);
  }
  const books = new Books(Object.keys(FLAGS));
  const world = { host, books, faults: 0, signIns: 0 };
  let next = 0;
  const half = Math.floor(subjects / 2);
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (next < subjects) {
        const number = next++;
        // In the middle of the experiment, the weights change: pages of before still report what they showed.
        if (number === half) {
          await api.updateFeatureFlag({ body: { id: ids.get("headline") ?? "", variants: weights(80) } });
        }
        await live(world, number, createRandom(seed + number));
      }
    }),
  );
  const expected = books.figures();
  let counted: AbTestResult["counted"] = {};
  // Clients report their last exposures a second later, and repeat what was lost.
  for (let attempt = 0; attempt < 60; attempt++) {
    counted = await readFigures(host, ids);
    if (JSON.stringify(counted) === JSON.stringify(expected)) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const { faults, signIns } = world;
  return { counted, books: expected, faults, signIns, exposures: books.exposures };
}

interface World {
  readonly host: Host;
  readonly books: Books;
  faults: number;
  signIns: number;
}

/** One person: a page, perhaps a sign-in, another page, perhaps a sign-out and another visitor in the same browser. */
async function live(world: World, number: number, random: Random): Promise<void> {
  const { host } = world;
  const email = `person-${number}@example.com`;
  const signsIn = random.chance(0.6);
  const user = signsIn
    ? (await host.auth.api.createUser({ body: { email, name: email, password: PASSWORD } })).user
    : undefined;
  const browser = new Browser(world, random);
  const visitor = await browser.open();
  await visitor.look();
  if (random.chance(0.4)) await visitor.track("headline", "view", random.below(5));
  if (random.chance(0.3)) await visitor.track("pricing", "compare");
  if (user === undefined) return;

  await visitor.signIn(email, user.id);
  if (random.chance(0.5)) await visitor.look();
  if (random.chance(0.5)) await visitor.track("headline", "view", 1);
  const page = random.chance(0.7) ? await browser.open(user.id) : visitor;
  if (random.chance(0.8)) await page.look();
  if (random.chance(0.5)) await browser.serve(user.id);
  if (random.chance(0.5)) await page.track("pricing", "buy", 10 + random.below(90));
  if (random.chance(0.5)) await page.track("express", "buy", 3);
  for (const key of ["headline", "pricing", "express"] as const) {
    if (random.chance(0.3)) await browser.pay(user.id, key, `${number}-${key}`);
  }

  if (!random.chance(0.2)) return;
  // Signed out: the browser gets a new id, and the next visitor is another subject.
  browser.clear();
  const stranger = await browser.open();
  await stranger.look();
  if (random.chance(0.5)) await stranger.track("headline", "view", 2);
}

class Browser {
  readonly #world: World;
  readonly #random: Random;
  #cookies = new Map<string, string>();
  #misfortunes = 0;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  get headers(): Headers {
    const cookie = Array.from(this.#cookies, ([name, value]) => `${name}=${value}`).join("; ");
    return new Headers({ ...(cookie !== "" && { cookie }), origin: this.#world.host.origin });
  }

  clear(): void {
    this.#cookies.clear();
  }

  /** Opens a page that the server renders. The client in it begins with the flags of the page. */
  async open(userId?: string): Promise<Page> {
    const { host, books } = this.#world;
    const rendered = await createServerFlags(host.auth).bootstrap({ headers: this.headers });
    const bootstrap = JSON.parse(JSON.stringify(rendered)) as FlagsBootstrap;
    const anonymousId = bootstrap.context?.anonymousId ?? "";
    this.#cookies.set("halyard_anonymous_id", anonymousId);
    const client = createAuthClient({
      baseURL: host.origin,
      // On a busy machine, a read that gives up would show what the visitor saw before the sign-in.
      plugins: [featureFlagsClient({ bootstrap, anonymousId, timeoutMs: 120_000 })],
      fetchOptions: { retry: 0, customFetchImpl: (input, init) => this.#fetch(new Request(input, init)) },
    });
    return new Page({ client, books, random: this.#random, anonymousId, userId, world: this.#world });
  }

  /** A read of server code, in a request of the signed-in user. */
  async serve(userId: string): Promise<void> {
    const { host, books } = this.#world;
    const flags = createServerFlags(host.auth);
    for (let times = 0; times < 2; times++) {
      const arm = await flags.getVariant("pricing", { headers: this.headers, track: true });
      books.show("pricing", arm ?? "", userId);
    }
  }

  /** The webhook of a payment provider: it knows the user only, and is delivered twice. */
  async pay(userId: string, flagKey: FlagKey, idempotencyKey: string): Promise<void> {
    const { host, books } = this.#world;
    const body = { flagKey, event: "paid", value: 5, idempotencyKey, context: { userId } };
    for (let times = 0; times < 2; times++) await host.auth.api.createFeatureFlagEvent({ body });
    const isUserFlag = FLAGS[flagKey].bucketBy === "userId";
    books.happen(flagKey, "paid", 5, isUserFlag ? () => userId : () => books.anonymousOf(userId));
  }

  /** The network: requests and responses are lost, and requests arrive twice. */
  async #fetch(request: Request): Promise<Response> {
    const isSteady = request.url.endsWith("/bootstrap") || request.url.endsWith("/get-session");
    const copy = request.clone();
    const misfortune = (probability: number) => {
      const happens = !isSteady && this.#misfortunes < 2 && this.#random.chance(probability);
      if (happens) {
        this.#misfortunes += 1;
        this.#world.faults += 1;
      }
      return happens;
    };
    if (misfortune(0.05)) throw new TypeError("The request was lost.");
    const response = await this.#send(request);
    if (misfortune(0.05)) throw new TypeError("The response was lost.");
    if (misfortune(0.05)) await this.#send(copy);
    this.#misfortunes = 0;
    return response;
  }

  async #send(request: Request): Promise<Response> {
    const headers = new Headers(request.headers);
    for (const [name, value] of this.headers) headers.set(name, value);
    const response = await fetch(request, { headers });
    for (const line of response.headers.getSetCookie()) {
      const [name = "", value = ""] = line.split(";", 1)[0]?.split("=") ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}

type Client = ReturnType<typeof createPageClient>;
const createPageClient = () => createAuthClient({ plugins: [featureFlagsClient()] });

interface PageOptions {
  readonly world: World;
  readonly client: Client;
  readonly books: Books;
  readonly random: Random;
  readonly anonymousId: string;
  readonly userId: string | undefined;
}

class Page {
  readonly #options: PageOptions;
  #userId: string | undefined;
  #keys = 0;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#userId = options.userId;
  }

  /** Reads the flags, as a page that shows them does. */
  async look(): Promise<void> {
    const { client, books, anonymousId, random } = this.#options;
    const { featureFlags: flags } = client;
    if (random.chance(0.9)) {
      books.show("headline", (await flags.getVariant("headline")) ?? "", anonymousId);
      await flags.getValue("headline");
    }
    if (random.chance(0.7)) books.show("express", String(await flags.isEnabled("express")), anonymousId);
    if (random.chance(0.7)) {
      const arm = (await flags.getVariant("pricing")) ?? "";
      if (this.#userId !== undefined) books.show("pricing", arm, this.#userId);
      // A visitor without the unit's id belongs to one cohort, and is not a subject.
      else books.exclude("pricing", arm, () => books.userOf(anonymousId) ?? anonymousId);
    }
  }

  async track(flagKey: FlagKey, event: string, value?: number): Promise<void> {
    const { client, books, anonymousId } = this.#options;
    const idempotencyKey = `${anonymousId}-${this.#userId ?? ""}-${++this.#keys}-${event}`;
    for (;;) {
      const { success } = await client.featureFlags.track(flagKey, event, value, { idempotencyKey });
      if (success) break;
    }
    const userId = this.#userId;
    const byUser = FLAGS[flagKey].bucketBy === "userId";
    books.happen(flagKey, event, value, () => (byUser ? (userId ?? books.userOf(anonymousId)) : anonymousId));
  }

  async signIn(email: string, userId: string): Promise<void> {
    const { client, books, anonymousId, world } = this.#options;
    const attempt = async () => (await client.signIn.email({ email, password: PASSWORD })).error === null;
    // Better Auth's client rejects without a response.
    for (let isDone = false; !isDone; ) isDone = await attempt().catch(() => false);
    world.signIns += 1;
    books.link(anonymousId, userId);
    this.#userId = userId;
  }
}

async function readFigures(
  host: Host,
  ids: ReadonlyMap<string, string>,
): Promise<Record<string, Record<string, ArmFigures>>> {
  const all: Record<string, Record<string, ArmFigures>> = {};
  for (const [key, id] of ids) {
    const start = new Date(Date.now() - 3 * DAY_MS).toISOString();
    const { byVariant } = await host.auth.api.getFeatureFlagStats({ params: { id }, query: { start } });
    const arms: Record<string, ArmFigures> = {};
    for (const [arm, { excluded, ...subjects }] of Object.entries(byVariant)) {
      for (const [name, figures] of [
        [arm, subjects],
        [`${arm} excluded`, excluded],
      ] as const) {
        if (figures === undefined) continue;
        const { exposures, uniqueUsers, events } = figures;
        if (exposures === 0 && Object.keys(events).length === 0) continue;
        arms[name] = [
          exposures,
          uniqueUsers,
          Object.fromEntries(
            Object.entries(events).map(([event, { count, sum, uniqueConverters }]) => [
              event,
              [count, sum, uniqueConverters],
            ]),
          ),
        ];
      }
    }
    all[key] = sorted(arms);
  }
  return all;
}
