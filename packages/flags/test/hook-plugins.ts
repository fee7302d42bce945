/** The plugins of Better Auth with hooks that the fast path need not run. */
import type { BetterAuthPlugin } from "better-auth";
import { nextCookies } from "better-auth/next-js";
import {
  admin,
  anonymous,
  bearer,
  captcha,
  customSession,
  emailOTP,
  jwt,
  lastLoginMethod,
  multiSession,
  oAuthProxy,
  oauthPopup,
  oneTimeToken,
  phoneNumber,
  twoFactor,
  username,
} from "better-auth/plugins";
import { sveltekitCookies } from "better-auth/svelte-kit";
import { tanstackStartCookies } from "better-auth/tanstack-start";
import { tanstackStartCookies as solidStartCookies } from "better-auth/tanstack-start/solid";

/** Plugins of Better Auth whose hooks decide by the path alone, and do not run for flags. */
export const hooksElsewhere: BetterAuthPlugin[] = [
  admin(),
  anonymous(),
  customSession(async ({ user }) => ({ user }), undefined, { shouldMutateListDeviceSessionsEndpoint: true }),
  emailOTP({ sendVerificationOTP: async () => {}, sendVerificationOnSignUp: true }),
  jwt(),
  oAuthProxy(),
  oauthPopup(),
  phoneNumber(),
  twoFactor(),
  username(),
];
/** Plugins of Better Auth whose hooks run for all requests: they identify the caller or forward cookies. */
export const hooksForAll: BetterAuthPlugin[] = [
  bearer(),
  lastLoginMethod(),
  multiSession(),
  nextCookies(),
  oneTimeToken(),
  sveltekitCookies(() => {
    throw new Error("There is no SvelteKit request.");
  }),
  tanstackStartCookies(),
  solidStartCookies(),
];

const always = new Set(["admin", "bearer"]);
/** All of them, 20 with those that the hosts of all tests have: admin, API keys and bearer. */
export const HOOKED: BetterAuthPlugin[] = [
  ...[...hooksElsewhere, ...hooksForAll].filter(({ id }) => !always.has(id)),
  captcha({ provider: "hcaptcha", secretKey: "s", endpoints: ["/sign-up/email"] }),
];
