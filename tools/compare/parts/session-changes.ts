/** Changes of sessions by Better Auth and by SQL, with what followers and cached callers see after them. */
import { closeFeatureFlags, featureFlags, withFeatureFlags } from "@halyard/flags";
import { findCaller, followCaller, forgetCaller, type SessionCaller } from "@halyard/sessions";
import { createRandom, type Random } from "../../../packages/flags/test/engine/random.ts";
import { CHANGES, type Scene } from "../../../packages/sessions/test/changes.ts";
import { type Host, type Person, type Store, startAuth } from "../../../packages/sessions/test/host.ts";
import type { Entry, Part, Stored } from "../part.ts";
import { waitUntil } from "../wait.ts";

interface Facts {
  readonly root: Person;
  readonly owner: Person;
}

/** The people whose sessions are followed at a time. */
const SCENES = 12;
/** Changes between two rounds of changes by SQL. */
const BATCH = 48;
/** Far above the time in which this process must notice its own change. */
const ANNOUNCED_MS = 5_000;
/** Far above the time in which a change by SQL must be noticed. */
const COMPARED_MS = 30_000;

interface SqlChange {
  readonly name: string;
  run(store: Store, scene: Scene): Promise<void>;
}

const PAST = "2020-01-01T00:00:00.000Z";
const SQL_CHANGES: readonly SqlChange[] = [
  sqlChange("the session deleted", `delete from "session" where "token" = ?`, ({ ann }) => [ann.token]),
  sqlChange("all sessions deleted", `delete from "session" where "userId" = ?`, ({ ann }) => [ann.id]),
  sqlChange("the session expired", `update "session" set "expiresAt" = ? where "token" = ?`, ({ ann }) => [
    PAST,
    ann.token,
  ]),
  sqlChange(
    "no organization",
    `update "session" set "activeOrganizationId" = null where "token" = ?`,
    ({ ann }) => [ann.token],
  ),
  sqlChange(
    "another organization",
    `update "session" set "activeOrganizationId" = ? where "token" = ?`,
    ({ organizationId, ann }) => [organizationId, ann.token],
  ),
  sqlChange("a role", `update "user" set "role" = 'editor' where "id" = ?`, ({ ann }) => [ann.id]),
  sqlChange("a name", `update "user" set "name" = 'Renamed' where "id" = ?`, ({ ann }) => [ann.id]),
  sqlChange("a ban", `update "user" set "banned" = true where "id" = ?`, ({ ann }) => [ann.id]),
  sqlChange("the membership deleted", `delete from "member" where "id" = ?`, ({ memberId }) => [memberId]),
  sqlChange(
    "a role in the organization",
    `update "member" set "role" = 'admin' where "id" = ?`,
    ({ memberId }) => [memberId],
  ),
];

export const sessionChanges: Part<Facts> = {
  comparesRows: true,
  async prepare(stored) {
    const { store, close } = open(stored);
    const host = await startAuth(store, { plugins: [featureFlags()] });
    const facts = { root: await host.administrator(), owner: await host.person("owner") };
    await close();
    return facts;
  },
  async run({ stored, facts, seed, size, record }) {
    const [here, there] = [open(stored), open(stored)];
    const host = await startAuth(here.store, { plugins: [featureFlags()] });
    // Another process, without a bus.
    const other = await startAuth(there.store, { plugins: [featureFlags()] });
    const stage = await Stage.open({ host, other, store: here.store, facts, random: createRandom(seed) });
    let done = 0;
    while (done < size) {
      const bySql = Math.min(SCENES, size - done);
      const byAuth = Math.min(BATCH, size - done - bySql);
      for (let at = 0; at < byAuth; at++) record(await stage.change());
      for (const entry of await stage.changeBySql(bySql)) record(entry);
      done += byAuth + bySql;
    }
    await Promise.all([closeFeatureFlags(host.auth), closeFeatureFlags(other.auth)]);
    await Promise.all([here.close(), there.close()]);
  },
};

function sqlChange(name: string, text: string, valuesOf: (scene: Scene) => string[]): SqlChange {
  return { name, run: (store, scene) => store.sql(text, ...valuesOf(scene)) };
}

function open({ fresh, sql }: Stored): { store: Store; close(): Promise<void> } {
  const { database, close } = fresh.connect();
  return { store: { options: { database }, sql }, close };
}

/** What a follower of one session was told. */
class Follower {
  caller: SessionCaller | undefined;
  end: string | undefined;
  #parts: string[] = [];
  #calls = 0;

  async follow(host: Host, person: Person): Promise<void> {
    const found = await findCaller(host.auth, { headers: host.headers(person) });
    if (found === undefined) throw new Error(`The session of ${person.email} was not found.`);
    await followCaller(host.auth, found, {
      current: (current) => {
        this.caller = current;
      },
      changed: ({ changed, current }) => {
        this.#calls += 1;
        this.#parts.push(...changed);
        this.caller = current;
      },
      ended: (reason) => {
        this.#calls += 1;
        this.end = reason;
        this.caller = undefined;
      },
    });
  }

  get hasNews(): boolean {
    return this.#calls > 0;
  }

  /** One change may arrive in several calls. */
  take(): unknown {
    const caller = this.caller && comparable(this.caller);
    const news = { parts: [...new Set(this.#parts)].sort(), end: this.end, caller };
    this.#parts = [];
    this.#calls = 0;
    return news;
  }
}

interface Followed {
  readonly scene: Scene;
  readonly here: Follower;
  readonly there: Follower;
}

interface StageOptions {
  readonly host: Host;
  readonly other: Host;
  readonly store: Store;
  readonly facts: Facts;
  readonly random: Random;
}

/** What the rows say about the caller of a session. */
interface Truth {
  readonly user: object;
  readonly session: object;
  /** Better Auth itself does not look at a ban of a user who is signed in. */
  readonly isBanned: boolean;
  readonly userId: string;
  readonly role: string;
  readonly organizationId: string | undefined;
  readonly organizationRole: string | undefined;
}

type Row = Record<string, unknown>;

/** People whose sessions two processes follow. */
class Stage {
  readonly #options: StageOptions;
  readonly #fast: { handler(request: Request): Promise<Response> };
  readonly #followed: Followed[] = [];
  readonly #bystanders: Follower[] = [];
  /** Followers of people who were replaced since the last changes by SQL. */
  #retired: Followed[] = [];
  #people = 0;

  private constructor(options: StageOptions) {
    this.#options = options;
    this.#fast = withFeatureFlags(options.host.auth);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options);
    for (const person of [options.facts.root, options.facts.owner]) {
      const bystander = new Follower();
      await bystander.follow(options.host, person);
      stage.#bystanders.push(bystander);
    }
    for (let at = 0; at < SCENES; at++) stage.#followed.push(await stage.#invite());
    return stage;
  }

  /** One change by Better Auth in this process. */
  async change(): Promise<Entry> {
    const { random } = this.#options;
    const followed = await this.#personAt(random.below(SCENES));
    const row = random.pick(CHANGES);
    if (row.isActive) await attempt(() => this.#activate(followed.scene));
    await attempt(async () => row.prepare?.(followed.scene));
    await this.#cached(followed.scene);
    await this.#settle();
    const prepared = this.#news();
    const before = await this.#truth(followed.scene);
    const result = await attempt(() => row.run(followed.scene));
    const isChanged = JSON.stringify(before) !== JSON.stringify(await this.#truth(followed.scene));
    // At once: a request of this process does not wait for followers.
    const cached = await this.#cached(followed.scene);
    if (isChanged) await waitUntil(() => followed.here.hasNews, ANNOUNCED_MS);
    await this.#settle();
    const found = await this.#find(followed.scene);
    return {
      about: `${followed.scene.ann.email}: ${row.name}`,
      seen: { prepared, result, cached, found, news: this.#news() },
    };
  }

  /** One change by SQL for each of the first people. It is noticed by comparison, so all of them are awaited together. */
  async changeBySql(count: number): Promise<Entry[]> {
    const { store, random } = this.#options;
    const changed: { followed: Followed; name: string }[] = [];
    for (let at = 0; at < count; at++) {
      const followed = await this.#personAt(at);
      if (random.chance(0.6)) await attempt(() => this.#activate(followed.scene));
      await this.#cached(followed.scene);
      await this.#settle();
      changed.push({ followed, name: random.pick(SQL_CHANGES).name });
    }
    const before = this.#news();
    for (const { followed, name } of changed) {
      await SQL_CHANGES.find((change) => change.name === name)?.run(store, followed.scene);
    }
    const all = [...this.#followed, ...this.#retired];
    const awaited = new Set(all);
    await waitUntil(async () => {
      for (const followed of awaited) if (await this.#isNoticed(followed)) awaited.delete(followed);
      return awaited.size === 0;
    }, COMPARED_MS);
    const entries: Entry[] = [{ about: "before the changes by SQL", seen: before }];
    const missed = [...awaited].map(({ scene }) => scene.ann.email);
    entries.push({ about: `not noticed after ${COMPARED_MS} ms`, seen: missed });
    for (const { followed, name } of changed) {
      const seen = { here: followed.here.take(), cached: await this.#cached(followed.scene) };
      entries.push({ about: `${followed.scene.ann.email} by SQL: ${name}`, seen });
    }
    // What the other process saw of several changes depends on the time of its comparison.
    for (const { scene, there } of all) {
      there.take();
      const seen = [there.caller && comparable(there.caller), there.end];
      entries.push({ about: `${scene.ann.email} in another process`, seen });
    }
    this.#retired = [];
    return entries;
  }

  async #personAt(at: number): Promise<Followed> {
    const followed = this.#followed[at];
    if (followed !== undefined && followed.here.end === undefined) return followed;
    if (followed !== undefined) this.#retired.push(followed);
    const invited = await this.#invite();
    this.#followed[at] = invited;
    return invited;
  }

  async #invite(): Promise<Followed> {
    const { host, other, store, facts } = this.#options;
    const { root, owner } = facts;
    this.#people += 1;
    const ann = await host.person(`person-${this.#people}`);
    const organization = await host.call("/organization/create", {
      as: owner,
      body: { name: "Alpha", slug: `alpha-${this.#people}` },
    });
    const organizationId: string = organization.json.id;
    const member = await host.auth.api.addMember({
      body: { userId: ann.id, organizationId, role: "member" },
    });
    const [here, there] = [new Follower(), new Follower()];
    await here.follow(host, ann);
    await there.follow(other, ann);
    return { scene: { host, store, ann, root, owner, organizationId, memberId: member.id }, here, there };
  }

  /** Resolves when this process has read the sessions whose change it knows. */
  #settle(): Promise<void> {
    return forgetCaller(this.#options.host.auth, { sessionId: "none" });
  }

  #activate({ ann, organizationId }: Scene): Promise<unknown> {
    return this.#options.host.call("/organization/set-active", { as: ann, body: { organizationId } });
  }

  /** The followers of this process who were told something, in the order of their people. */
  #news(): unknown[] {
    const followers = [...this.#bystanders, ...this.#followed.map(({ here }) => here)];
    return followers.filter(({ hasNews }) => hasNews).map((follower) => follower.take());
  }

  /** The caller that an evaluation uses, by cookie and by bearer token. */
  async #cached({ ann }: Scene): Promise<unknown[]> {
    const contexts = [];
    for (const headers of [{ cookie: ann.cookie }, { authorization: `Bearer ${ann.token}` }]) {
      const response = await this.#fast.handler(
        new Request("http://auth.example/api/auth/feature-flags/evaluate", {
          method: "POST",
          headers: { "content-type": "application/json", origin: "http://auth.example", ...headers },
          body: JSON.stringify({ flagKey: "none", contextInResponse: true }),
        }),
      );
      const answer = (await response.json()) as { context?: unknown };
      contexts.push(response.ok ? answer.context : answer);
    }
    return contexts;
  }

  async #find({ ann }: Scene): Promise<unknown> {
    const { host } = this.#options;
    const found = await findCaller(host.auth, { headers: host.headers(ann) });
    return found === undefined ? null : "session" in found ? comparable(found) : found;
  }

  /** Undefined when the session does not hold. */
  async #truth({ ann }: Scene): Promise<Truth | undefined> {
    const { adapter } = await this.#options.host.auth.$context;
    const one = (model: string, match: Record<string, string>) => {
      const where = Object.entries(match).map(([field, value]) => ({ field, value }));
      return adapter.findOne<Row>({ model, where });
    };
    const session = await one("session", { token: ann.token });
    const user = session && (await one("user", { id: ann.id }));
    if (!session || !user || Number(session["expiresAt"]) <= Date.now()) return undefined;
    const organizationId = session["activeOrganizationId"];
    const member =
      typeof organizationId === "string" && (await one("member", { userId: ann.id, organizationId }));
    return {
      user: { ...user, updatedAt: undefined },
      session: { ...session, updatedAt: undefined, expiresAt: undefined },
      isBanned: Boolean(user["banned"]),
      userId: ann.id,
      role: String(user["role"]),
      organizationId: member ? String(organizationId) : undefined,
      organizationRole: member ? String(member["role"]) : undefined,
    };
  }

  /** Whether both processes and the cached callers agree with the rows. */
  async #isNoticed({ scene, here, there }: Followed): Promise<boolean> {
    const truth = await this.#truth(scene);
    const expected = JSON.stringify(truth && !truth.isBanned ? summaryOf(truth, truth.user) : null);
    const summaries = [here, there].map(({ caller }) => (caller ? summaryOf(caller, caller.user) : null));
    if (summaries.some((summary) => JSON.stringify(summary) !== expected)) return false;
    const contexts = (await this.#cached(scene)) as (Partial<Truth> & { attributes?: Partial<Truth> })[];
    return contexts.every(
      ({ userId, role, organizationId, attributes }) =>
        userId === truth?.userId &&
        role === truth?.role &&
        organizationId === truth?.organizationId &&
        attributes?.organizationRole === truth?.organizationRole,
    );
  }
}

/**
 * Who leaves an organization is removed from it by one write, and the session is changed by a second one. The time of the
 * reading decides whether a caller without an organization shows the one that was left.
 */
function comparable(caller: SessionCaller): SessionCaller {
  if (caller.organizationId !== undefined) return caller;
  return { ...caller, session: { ...caller.session, activeOrganizationId: null } };
}

function summaryOf({ role, organizationId, organizationRole }: Partial<Truth>, user: object): unknown[] {
  return [role, organizationId, organizationRole, (user as Row)["name"], (user as Row)["email"]];
}

/** The message of an error is a result too. */
async function attempt(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return "done";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
