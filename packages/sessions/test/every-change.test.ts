/** Each way a session can change reaches those who follow it, on every session store. */
import { findCaller, followCaller, forgetCaller } from "@halyard/sessions";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { sessionsOf } from "../src/identify/sessions.ts";
import { CHANGES, type Scene } from "./changes.ts";
import { createStore, type Host, type Person, STORES, type Store, startAuth } from "./host.ts";

/** Ends a test that hangs. Without the comparison, nothing but the announced change can be what is found. */
const FOUND_WITHIN_MS = 10_000;

type Stage = Pick<Scene, "host" | "store" | "root" | "owner">;

async function setUpStage(store: Store): Promise<Stage> {
  const host = await startAuth(store);
  return { host, store, root: await host.administrator(), owner: await host.person("owner") };
}

async function setUp({ host, store, root, owner }: Stage): Promise<Scene> {
  const ann = await host.person("ann");
  const organization = await host.call("/organization/create", {
    as: owner,
    body: { name: "Alpha", slug: `alpha-${ann.id}` },
  });
  const organizationId: string = organization.json.id;
  const member = await host.auth.api.addMember({ body: { userId: ann.id, organizationId, role: "member" } });
  if (!member) throw new Error("The member was not added.");
  return { host, store, ann, root, owner, organizationId, memberId: member.id };
}

async function follow(host: Host, person: Person) {
  const caller = await findCaller(host.auth, { headers: host.headers(person) });
  if (caller === undefined) throw new Error("The session was not found.");
  const seen: (string | readonly string[])[] = [];
  const stop = await followCaller(host.auth, caller, {
    changed: ({ changed }) => seen.push(changed),
    ended: (reason) => seen.push(reason),
  });
  onTestFinished(stop);
  return { caller, seen };
}

describe.each(STORES)("on $name", (options) => {
  let stage: Stage;
  const ends: (() => void | Promise<void>)[] = [];

  // One database for all changes: each has its own user, session and organization.
  beforeAll(async () => {
    stage = await setUpStage(await createStore(options, (clean) => ends.push(clean)));
  });

  afterAll(async () => {
    for (const clean of ends) await clean();
  });

  test.each(CHANGES)("$name", async ({ effect, isActive, prepare, run }) => {
    const scene = await setUp(stage);
    const { host, ann, organizationId } = scene;
    if (isActive) await host.call("/organization/set-active", { as: ann, body: { organizationId } });
    await prepare?.(scene);
    const { seen } = await follow(host, ann);
    (await sessionsOf(host.auth)).reconciliation.stop();
    await run(scene);
    await forgetCaller(host.auth, { sessionId: "none" });
    const last = () => (effect === "ended" ? seen.at(-1) : [...new Set(seen.flat())].sort());
    const expected = effect === "ended" ? "ended" : [...effect].sort();
    await vi.waitFor(() => expect(last()).toEqual(expected), FOUND_WITHIN_MS);
  });

  test("a session that expires is no longer found", async () => {
    const store = await createStore(options);
    const host = await startAuth(store, { session: { expiresIn: 60 } });
    const ann = await host.person("ann");
    expect(await findCaller(host.auth, { headers: host.headers(ann) })).toBeDefined();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await findCaller(host.auth, { headers: host.headers(ann) })).toBeUndefined();
  });
});

describe.each(STORES.filter(({ storage }) => !storage))("past Better Auth, on $name", (options) => {
  test("forgetCaller makes a deleted session end at once", async () => {
    const { host, store, ann } = await setUp(await setUpStage(await createStore(options)));
    const { seen } = await follow(host, ann);
    await store.sql(`delete from "session" where "userId" = ?`, ann.id);
    await forgetCaller(host.auth, { userId: ann.id });
    expect(seen).toEqual(["ended"]);
  });

  test("the comparison finds a deleted session, a role and a membership within 5 s", async () => {
    const { host, store, ann, owner, root, organizationId, memberId } = await setUp(
      await setUpStage(await createStore(options)),
    );
    await host.call("/organization/set-active", { as: ann, body: { organizationId } });
    const [member, other, deleted] = [
      await follow(host, ann),
      await follow(host, owner),
      await follow(host, root),
    ];
    await store.sql(`delete from "member" where id = ?`, memberId);
    await store.sql(`update "user" set role = 'editor' where id = ?`, owner.id);
    await store.sql(`delete from "session" where "userId" = ?`, root.id);
    await vi.waitFor(
      () =>
        expect([member.seen, other.seen, deleted.seen]).toEqual([
          [["organizationId", "organizationRole"]],
          [["role"]],
          ["ended"],
        ]),
      6000,
    );
  });
});

test("one comparison on PostgreSQL finds every change by SQL, among thousands of sessions and without updatedAt", async () => {
  const store = await createStore({ database: "postgres", storage: false });
  const { host, organizationId, memberId } = await setUp(await setUpStage(store));
  const count = 1500;
  const dayOld = "now() - interval '1 day'";
  await store.sql(
    `insert into "user" ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
     select 'u' || i, 'User', i || '@many.example', true, ${dayOld}, ${dayOld} from generate_series(1, ${count}) i`,
  );
  await store.sql(
    `insert into "session" ("id", "token", "userId", "expiresAt", "createdAt", "updatedAt")
     select 's' || i, 't' || i, 'u' || i, now() + interval '1 day', ${dayOld}, ${dayOld} from generate_series(1, ${count}) i`,
  );
  const { live, reconciliation } = await sessionsOf(host.auth);
  const seen = new Map<string, unknown[]>();
  const note = (sessionId: string, what: unknown) =>
    seen.set(sessionId, [...(seen.get(sessionId) ?? []), what]);
  const follow = (sessionId: string) =>
    live.follow(sessionId, {
      changed: ({ changed }) => note(sessionId, changed),
      ended: (reason) => note(sessionId, reason),
    });
  await Promise.all(Array.from({ length: count }, (_, at) => follow(`s${at + 1}`)));
  await reconciliation.run();
  // The sessions that were read last are the last to be read again by value.
  await store.sql(`update "user" set name = 'Other' where id = 'u1500'`);
  await store.sql(`update "session" set "activeOrganizationId" = ? where id = 's1499'`, organizationId);
  await store.sql(`update "user" set banned = true where id = 'u1498'`);
  await store.sql(`delete from "session" where id = 's1497'`);
  await reconciliation.run();
  expect(Object.fromEntries(seen)).toEqual({
    s1500: [["user"]],
    s1498: ["ended"],
    s1497: ["ended"],
  });
  // A membership in the organization that is active already.
  await store.sql(`update "member" set "userId" = 'u1499' where id = ?`, memberId);
  await reconciliation.run();
  expect(seen.get("s1499")).toEqual([["organizationId", "organizationRole"]]);
});
