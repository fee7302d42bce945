/** Checks how lists are divided into pages. */
import { describe, expect, test } from "vitest";
import type { Host, Person } from "../host.ts";
import { newKey, suiteHost } from "../memory-host.ts";
import { flagHelpers } from "./flag-helpers.ts";
import { WAYS } from "./ways.ts";

let host: Host;
let admin: Person;
suiteHost({}, async (started) => {
  host = started;
  admin = await host.person("admin", "admin");
});

describe.each(WAYS)("guide/flags-http-admin: Pagination (%s)", (_name, by) => {
  const way = () => by({ host, admin });
  const { make } = flagHelpers(way);

  test("a page reports its limit, hasMore and nextCursor, and every entry appears once even if others are deleted", async () => {
    const prefix = newKey("page");
    for (let at = 0; at < 5; at++) await make({ key: `${prefix}-${at}` });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { json } = await way().listFlags({ prefix, sort: "key", limit: 2, ...(cursor && { cursor }) });
      expect(json.page.limit).toBe(2);
      expect(json.page.hasMore).toBe("nextCursor" in json.page);
      seen.push(...json.flags.map((flag: { key: string }) => flag.key));
      if (cursor === undefined) await way().deleteFlag(json.flags[0].id);
      cursor = json.page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([0, 1, 2, 3, 4].map((at) => `${prefix}-${at}`));
  });

  test.each([
    [undefined, 50],
    [0, 1],
    [-5, 1],
    [7, 7],
    [200, 200],
    [100_000, 200],
  ])("the limit %j is applied as %d", async (limit, used) => {
    expect((await way().listFlags(limit === undefined ? {} : { limit })).json.page.limit).toBe(used);
  });

  test.each([{ limit: "abc" }, { limit: 1.5 }, { cursor: "garbage" }, { sort: "secret" }, { sort: "--key" }])(
    "a list with %j is refused",
    async (query) => {
      for (const answer of [await way().listFlags(query), await way().listOverrides(query)]) {
        expect([answer.status, answer.json.code]).toEqual([400, "VALIDATION_ERROR"]);
      }
    },
  );
});
