/** The fields of `user` and `session` are at run time what the types of `auth.$Infer` say. */
import { findCaller, followCaller, forgetCaller, type SessionCaller } from "@halyard/sessions";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createStore, STORES, startAuth } from "./host.ts";

const FIELDS = {
  user: {
    additionalFields: {
      bornAt: { type: "date", defaultValue: () => new Date(0) },
      seats: { type: "number", defaultValue: 3 },
      hidden: { type: "string", defaultValue: "h", returned: false },
    },
  },
  session: { additionalFields: { device: { type: "string", defaultValue: "phone" } } },
} as const;

/** The types of the fields that have one for certain. */
function typesOf({ user, session }: SessionCaller): unknown {
  const typeOf = (value: unknown) => (value instanceof Date ? "date" : typeof value);
  const pick = (row: object, names: string[]) => names.map((name) => typeOf(row[name as keyof object]));
  return [
    pick(user, ["id", "name", "emailVerified", "createdAt", "updatedAt", "bornAt", "seats", "hidden"]),
    pick(session, ["id", "expiresAt", "createdAt", "updatedAt", "device", "token"]),
  ];
}
const TYPES = [
  ["string", "string", "boolean", "date", "date", "date", "number", "undefined"],
  ["string", "date", "date", "date", "string", "undefined"],
];

describe.each(STORES)("guide/sessions: the rows of a caller ($name)", (options) => {
  test("have the types of auth.$Infer when a session is found, found again, and read after a change elsewhere", async () => {
    const store = await createStore(options);
    const [here, elsewhere] = [await startAuth(store, FIELDS), await startAuth(store, FIELDS)];
    const ann = await here.person("ann");
    const credentials = { headers: here.headers(ann) };
    const found = await findCaller(elsewhere.auth, credentials);
    const again = await findCaller(elsewhere.auth, credentials);
    if (found === undefined || again === undefined) return expect.fail("There is no session.");
    const changes: SessionCaller[] = [];
    const stop = await followCaller(elsewhere.auth, found, {
      changed: ({ current }) => void changes.push(current),
      ended: () => undefined,
    });
    onTestFinished(stop);
    await here.call("/update-user", { as: ann, body: { name: "Ann" } });
    await forgetCaller(elsewhere.auth, { userId: ann.id });
    await vi.waitFor(() => expect(changes.map(({ user }) => user["name"])).toEqual(["Ann"]));
    expect([found, again, ...changes].map(typesOf)).toEqual([TYPES, TYPES, TYPES]);
  });
});
