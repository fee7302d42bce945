import { describe, expect, test } from "vitest";
import {
  hasOrganizations,
  isPossibleId,
  mayExist,
  organizationExists,
  readMembership,
} from "./organizations.ts";
import type { HostContext } from "./request.ts";

type Options = HostContext["options"];

/** A host whose database gives this row, or fails. */
function setUp(row: unknown, plugins: readonly string[] = ["admin", "organization"]) {
  const queries: unknown[] = [];
  const findOne = async (query: unknown) => {
    queries.push(query);
    if (row instanceof Error) throw row;
    return row;
  };
  const options = { plugins: plugins.map((id) => ({ id })) };
  return { queries, context: { adapter: { findOne }, options } as unknown as HostContext };
}

describe("a membership", () => {
  test("is that of the user in the organization", async () => {
    const { context, queries } = setUp({ id: "m1", role: "owner" });
    expect(await readMembership(context, "ann", "acme")).toEqual({ id: "m1", role: "owner" });
    expect(queries).toEqual([
      {
        model: "member",
        where: [
          { field: "userId", value: "ann" },
          { field: "organizationId", value: "acme" },
        ],
      },
    ]);
  });

  test("does not exist without a row, or without a role", async () => {
    for (const row of [null, { id: "m1" }, { id: "m1", role: null }]) {
      expect(await readMembership(setUp(row).context, "ann", "acme")).toBeUndefined();
    }
  });

  test("may have no id of its own", async () => {
    const { context } = setUp({ id: 7, role: "owner" });
    expect(await readMembership(context, "ann", "acme")).toEqual({ id: undefined, role: "owner" });
  });

  test("is not taken for missing when the database fails", async () => {
    const down = new Error("down");
    const { context } = setUp(down);
    const failure = {
      name: "IdentityError",
      problem: "unavailable",
      retryAfterSeconds: 5,
      message: expect.stringContaining("organizations"),
      cause: down,
    };
    await expect(readMembership(context, "ann", "acme")).rejects.toMatchObject(failure);
    await expect(organizationExists(context, "acme")).rejects.toMatchObject(failure);
  });
});

describe("an organization", () => {
  test("exists when its row does", async () => {
    const { context, queries } = setUp({ id: "acme" });
    expect(await organizationExists(context, "acme")).toBe(true);
    expect(queries).toEqual([{ model: "organization", where: [{ field: "id", value: "acme" }] }]);
    expect(await organizationExists(setUp(null).context, "acme")).toBe(false);
  });

  test("is not looked up on a host without organizations, or by an id that none can have", async () => {
    const without = setUp({ id: "acme" }, ["admin"]);
    expect(await organizationExists(without.context, "acme")).toBe(false);
    const { context, queries } = setUp({ id: "acme" });
    expect(await organizationExists(context, "\0")).toBe(false);
    expect([...without.queries, ...queries]).toEqual([]);
    expect([mayExist(context, "acme"), mayExist(without.context, "acme")]).toEqual([true, false]);
  });

  test("needs Better Auth's plugin", () => {
    expect(hasOrganizations(setUp(null).context)).toBe(true);
    expect(hasOrganizations(setUp(null, []).context)).toBe(false);
    expect(hasOrganizations({ options: {} } as HostContext)).toBe(false);
  });
});

describe("an id is looked up only when the database can have it", () => {
  const possible = (advanced: Options["advanced"], ids: readonly string[]) =>
    ids.filter((id) => isPossibleId({ options: { advanced } } as HostContext, id));

  test("as a text: up to 255 characters, without NUL and half surrogate pairs", () => {
    const good = ["a", "", "x".repeat(255), "\u{1f600}", "a\nb"];
    const bad = ["x".repeat(256), "a\0", "\0a", "\ud83d", "a\ude00b"];
    expect(possible(undefined, [...good, ...bad])).toEqual(good);
    expect(possible({}, [...good, ...bad])).toEqual(good);
    expect(possible({ database: {} }, [...good, ...bad])).toEqual(good);
  });

  test("as a serial number", () => {
    const good = ["1", "123456789012345"];
    const bad = ["", "a", "1a", "a1", "-1", "1.5", "1234567890123456"];
    expect(possible({ database: { generateId: "serial" } }, [...good, ...bad])).toEqual(good);
  });

  test("as a UUID", () => {
    const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
    const good = [uuid, uuid.toUpperCase()];
    const bad = ["1", `${uuid}0`, `0${uuid}`, uuid.replaceAll("-", ""), uuid.replace("0", "g")];
    expect(possible({ database: { generateId: "uuid" } }, [...good, ...bad])).toEqual(good);
  });
});
