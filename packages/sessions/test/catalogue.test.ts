/**
 * Better Auth's endpoints that write, and the methods of its internal adapter, by what they do to sessions. A new one
 * fails here: classify it, and add a row to `changes.ts` when it can change a session that another request uses.
 */
import { DatabaseSync } from "node:sqlite";
import { betterAuth } from "better-auth";
import {
  admin,
  anonymous,
  bearer,
  deviceAuthorization,
  emailOTP,
  magicLink,
  multiSession,
  oneTap,
  oneTimeToken,
  organization,
  phoneNumber,
  siwe,
  twoFactor,
  username,
} from "better-auth/plugins";
import { expect, test } from "vitest";
import { CHANGES } from "./changes.ts";

/**
 * `row`: `changes.ts` has it. `like`: writes the same rows as a row there, by the same methods. `sign-in`: creates a session
 * that no connection can have yet. `none`: writes no session, user, member or organization, or nothing at all.
 */
type Class = "row" | "like" | "sign-in" | "none";

const ENDPOINTS: Readonly<Record<string, Class>> = {
  "/admin/ban-user": "row",
  "/admin/create-user": "none",
  "/admin/has-permission": "none",
  "/admin/impersonate-user": "row",
  "/admin/list-user-sessions": "none",
  "/admin/remove-user": "row",
  "/admin/revoke-user-session": "row",
  "/admin/revoke-user-sessions": "row",
  "/admin/set-role": "row",
  "/admin/set-user-password": "none",
  "/admin/stop-impersonating": "row",
  "/admin/unban-user": "row",
  "/admin/update-user": "row",
  "/callback/:id": "sign-in",
  "/change-email": "row",
  "/change-password": "row",
  "/delete-anonymous-user": "like",
  "/delete-user": "row",
  "/device/approve": "none",
  "/device/code": "none",
  "/device/deny": "none",
  "/device/token": "sign-in",
  "/email-otp/change-email": "like",
  "/email-otp/check-verification-otp": "none",
  "/email-otp/request-email-change": "none",
  "/email-otp/request-password-reset": "none",
  "/email-otp/reset-password": "like",
  "/email-otp/send-verification-otp": "none",
  "/email-otp/verify-email": "like",
  "/forget-password/email-otp": "none",
  "/get-access-token": "none",
  "/get-session": "like",
  "/is-username-available": "none",
  "/link-social": "none",
  "/multi-session/revoke": "row",
  "/multi-session/set-active": "none",
  "/one-tap/callback": "sign-in",
  "/one-time-token/verify": "none",
  "/organization/accept-invitation": "like",
  "/organization/add-team-member": "none",
  "/organization/cancel-invitation": "none",
  "/organization/check-slug": "none",
  "/organization/create": "row",
  "/organization/create-role": "none",
  "/organization/create-team": "none",
  "/organization/delete": "row",
  "/organization/delete-role": "none",
  "/organization/has-permission": "none",
  "/organization/invite-member": "none",
  "/organization/leave": "row",
  "/organization/reject-invitation": "like",
  "/organization/remove-member": "row",
  "/organization/remove-team": "none",
  "/organization/remove-team-member": "none",
  "/organization/set-active": "row",
  "/organization/set-active-team": "like",
  "/organization/update": "none",
  "/organization/update-member-role": "row",
  "/organization/update-role": "none",
  "/organization/update-team": "none",
  "/phone-number/request-password-reset": "none",
  "/phone-number/reset-password": "like",
  "/phone-number/send-otp": "none",
  "/phone-number/verify": "like",
  "/refresh-token": "none",
  "/request-password-reset": "none",
  "/reset-password": "like",
  "/revoke-other-sessions": "row",
  "/revoke-session": "row",
  "/revoke-sessions": "row",
  "/send-verification-email": "none",
  "/sign-in/anonymous": "sign-in",
  "/sign-in/email": "sign-in",
  "/sign-in/email-otp": "sign-in",
  "/sign-in/magic-link": "none",
  "/sign-in/phone-number": "sign-in",
  "/sign-in/social": "sign-in",
  "/sign-in/username": "sign-in",
  "/sign-out": "row",
  "/sign-up/email": "sign-in",
  "/siwe/get-nonce": "none",
  "/siwe/nonce": "none",
  "/siwe/verify": "sign-in",
  "/two-factor/disable": "like",
  "/two-factor/enable": "like",
  "/two-factor/generate-backup-codes": "none",
  "/two-factor/get-totp-uri": "none",
  "/two-factor/send-otp": "none",
  "/two-factor/verify-backup-code": "sign-in",
  "/two-factor/verify-otp": "sign-in",
  "/two-factor/verify-totp": "sign-in",
  "/unlink-account": "none",
  "/update-session": "like",
  "/update-user": "row",
  "/verify-password": "none",
};

/** Methods of the internal adapter that write sessions or users: all use the adapter or secondary storage, which are wrapped. */
const WRITES_CALLERS: readonly string[] = [
  "createOAuthUser",
  "createSession",
  "createUser",
  "deleteSession",
  "deleteSessions",
  "deleteUser",
  "deleteUserSessions",
  "refreshUserSessions",
  "updateSession",
  "updateUser",
  "updateUserByEmail",
];
const WRITES_OTHERS: readonly string[] = [
  "consumeVerificationValue",
  "createAccount",
  "createVerificationValue",
  "deleteAccount",
  "deleteAccounts",
  "deleteVerificationByIdentifier",
  "linkAccount",
  "reserveVerificationValue",
  "updateAccount",
  "updatePassword",
  "updateVerificationByIdentifier",
];
const READS = /^(?:find|list|count)/;

function createFullAuth() {
  const ignore = async () => {};
  return betterAuth({
    baseURL: "http://auth.example",
    secret: "a secret for tests that is long enough 0123456789",
    database: new DatabaseSync(":memory:"),
    emailAndPassword: { enabled: true },
    logger: { disabled: true },
    plugins: [
      admin(),
      anonymous(),
      bearer(),
      deviceAuthorization({ verificationUri: "/device" }),
      emailOTP({ sendVerificationOTP: ignore }),
      magicLink({ sendMagicLink: ignore }),
      multiSession(),
      oneTap(),
      oneTimeToken(),
      organization({ teams: { enabled: true }, dynamicAccessControl: { enabled: true } }),
      phoneNumber({ sendOTP: ignore }),
      siwe({ domain: "example.com", getNonce: async () => "nonce", verifyMessage: async () => false }),
      twoFactor(),
      username(),
    ],
  });
}

test("every endpoint of Better Auth that writes is classified", () => {
  const { api } = createFullAuth();
  const paths = Object.values<{ path?: string; options?: { method?: string | string[] } }>(api).flatMap(
    ({ path, options }) =>
      [options?.method].flat().some((method) => method !== "GET") && path ? [path] : [],
  );
  expect([...new Set(paths)].sort()).toEqual(Object.keys(ENDPOINTS).sort());
});

test("every endpoint that changes a session in use has a row that is tested", () => {
  const tested = new Set(CHANGES.flatMap(({ endpoints }) => endpoints));
  const missing = Object.entries(ENDPOINTS).flatMap(([path, kind]) =>
    kind === "row" && !tested.has(path) ? [path] : [],
  );
  expect(missing).toEqual([]);
});

test("every method of Better Auth's internal adapter is classified", async () => {
  const { internalAdapter } = await createFullAuth().$context;
  const writes = Object.keys(internalAdapter).filter((name) => !READS.test(name));
  expect(writes.sort()).toEqual([...WRITES_CALLERS, ...WRITES_OTHERS].sort());
});

test("every method of Better Auth's adapter that writes is wrapped", async () => {
  const { adapter } = await createFullAuth().$context;
  const methods = Object.entries(adapter).flatMap(([name, value]) =>
    typeof value === "function" ? [name] : [],
  );
  const reads = ["count", "createSchema", "findMany", "findOne"];
  expect(methods.filter((name) => !reads.includes(name)).sort()).toEqual([
    "consumeOne",
    "create",
    "delete",
    "deleteMany",
    "incrementOne",
    "transaction",
    "update",
    "updateMany",
  ]);
});
