import { expect, test } from "vitest";
import type { HostContext } from "../identify/request.ts";
import { createSessionReader } from "./session-reader.ts";

/** A store with one session, whose rows a test may change. */
function setUp() {
  const expiresAt = new Date(Date.now() + 3_600_000);
  const session = {
    id: "s",
    token: "t",
    userId: "u",
    createdAt: new Date(0),
    updatedAt: new Date(0),
    expiresAt,
  };
  const user: Record<string, unknown> = {
    id: "u",
    email: "u@example.com",
    tags: { a: 1 },
    createdAt: new Date(0),
  };
  const adapter = {
    // Each query makes new objects.
    findMany: async ({ model }: { model: string }) => [structuredClone(model === "session" ? session : user)],
  };
  const reader = createSessionReader({ adapter, options: {}, internalAdapter: {} } as unknown as HostContext);
  const read = async (reading?: Awaited<ReturnType<typeof first>>) =>
    (await reader.read([{ sessionId: "s", token: "t", reading }])).get("s");
  const first = async () => (await reader.read([{ sessionId: "s", token: "t" }])).get("s");
  return { session, user, read, first };
}

test("rows that did not change give the last reading, without a copy", async () => {
  const { read, first } = setUp();
  const reading = await first();
  expect(reading?.caller.userId).toBe("u");
  expect(await read(reading)).toBe(reading);
});

test("every field of a row that changes gives another reading", async () => {
  for (const change of [
    { session: { updatedAt: new Date(1) } },
    { session: { expiresAt: new Date(9e12) } },
    { session: { activeOrganizationId: "o" } },
    { user: { email: "other@example.com" } },
    { user: { tags: { a: 2 } } },
    { user: { added: "field" } },
    { user: { createdAt: new Date(1) } },
  ]) {
    const { session, user, read, first } = setUp();
    const empty = { activeOrganizationId: null };
    Object.assign(session, empty);
    const reading = await first();
    Object.assign(session, change.session);
    Object.assign(user, change.user);
    const next = await read(reading);
    expect(next, JSON.stringify(change)).not.toBe(reading);
    expect(next?.caller.user["email"]).toBe(user["email"]);
  }
});
