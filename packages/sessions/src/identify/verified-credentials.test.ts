import { type BetterAuthOptions, betterAuth } from "better-auth";
import { bearer } from "better-auth/plugins";
import { expect, test } from "vitest";
import { VerifiedCredentials } from "./verified-credentials.ts";

async function create(): Promise<VerifiedCredentials> {
  const options: BetterAuthOptions = {
    baseURL: "http://auth.example",
    secret: "a secret for tests that is long enough 0123456789",
    plugins: [bearer()],
  };
  return new VerifiedCredentials(await betterAuth(options).$context);
}

test("a session has one entry, however the headers around it vary", async () => {
  const verified = await create();
  const name = { sessionId: "s", token: "t" };
  const keys = ["Bearer a", "Bearer b", "Bearer c"].map((authorization) =>
    verified.keyOf({ headers: new Headers({ authorization }) }),
  );
  for (const key of keys) verified.add(String(key), name);
  expect(keys.map((key) => verified.get(String(key)))).toEqual([undefined, undefined, name]);
  verified.delete(name);
  expect(verified.get(String(keys[2]))).toBeUndefined();
});

test("requests without credentials, or with an API key, have no key", async () => {
  const verified = await create();
  const cookie = "better-auth.session_token=a.b";
  expect(verified.keyOf({ headers: new Headers() })).toBeUndefined();
  expect(verified.keyOf({ headers: new Headers({ cookie, "x-api-key": "k" }) })).toBeUndefined();
  expect(verified.keyOf({ headers: new Headers({ cookie }) })).toBe(cookie);
});
