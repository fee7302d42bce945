/** The types of `user` and `session` behind `betterAuthSession()`: those of `auth.$Infer`. */
import { type AuthInstance, findCaller, followCaller, type Row } from "@halyard/sessions";
import { betterAuth } from "better-auth";
import { admin } from "better-auth/plugins";
import { expectTypeOf, test } from "vitest";
import { betterAuthSession, type SessionData } from "../src/adapters/better-auth.ts";
import { serve } from "../src/adapters/node.ts";
import { createRouter } from "../src/index.ts";

const auth = betterAuth({
  plugins: [admin()],
  user: {
    additionalFields: {
      plan: { type: "string", required: true },
      seats: { type: "number", required: false },
      bornAt: { type: "date", required: true },
      hidden: { type: "string", required: true, returned: false },
    },
  },
  session: { additionalFields: { device: { type: "string", required: true } } },
});
declare const plainAuth: AuthInstance;
// biome-ignore lint/suspicious/noExplicitAny: an application may have lost the type of its instance.
declare const looseAuth: any;

/** Code that is only compiled. */
function neverRun(_code: () => unknown): void {}

test("data() gets user and session with the types of auth.$Infer, additional fields and those of plugins included", () => {
  neverRun(() =>
    betterAuthSession(auth, {
      data: ({ user, session, userId }) => {
        expectTypeOf(userId).toEqualTypeOf<string>();
        expectTypeOf(user.name).toEqualTypeOf<string>();
        expectTypeOf(user.plan).toEqualTypeOf<string>();
        expectTypeOf(user.seats).toEqualTypeOf<number | null | undefined>();
        expectTypeOf(user.bornAt).toEqualTypeOf<Date>();
        expectTypeOf(user.banned).toEqualTypeOf<boolean | null | undefined>();
        expectTypeOf(session.expiresAt).toEqualTypeOf<Date>();
        expectTypeOf(session.device).toEqualTypeOf<string>();
        // @ts-expect-error a misspelled field
        void user.plam;
        // @ts-expect-error not returned by Better Auth
        void user.hidden;
        // @ts-expect-error the token is a credential
        void session.token;
        // @ts-expect-error rows are not changed
        user.plan = "pro";
        return {};
      },
    }),
  );
});

test("what data() returns is still inferred, and has to be what the router needs", () => {
  const router = createRouter<SessionData & { plan: string }>();
  neverRun(() =>
    serve(router, { authenticate: betterAuthSession(auth, { data: ({ user }) => ({ plan: user.plan }) }) }),
  );
  neverRun(() =>
    serve(router, {
      authenticate: betterAuthSession(auth, { data: async ({ user }) => ({ plan: user.plan }) }),
    }),
  );
  const seats = betterAuthSession(auth, { data: ({ user }) => ({ plan: user.seats }) });
  // @ts-expect-error seats may be missing
  neverRun(() => serve(router, { authenticate: seats }));
  // @ts-expect-error no plan
  neverRun(() => serve(router, { authenticate: betterAuthSession(auth) }));
  const visitors = createRouter<{ clientId: string; userId?: string; plan?: string }>();
  neverRun(() =>
    serve(visitors, {
      authenticate: betterAuthSession(auth, { anonymous: true, data: ({ user }) => ({ plan: user.plan }) }),
    }),
  );
});

test("onSessionChange, findCaller and followCaller give the same types", () => {
  neverRun(() =>
    betterAuthSession(auth, {
      onSessionChange: (_ctx, { previous, current }) => {
        expectTypeOf(previous.user.plan).toEqualTypeOf<string>();
        expectTypeOf(current.session.device).toEqualTypeOf<string>();
      },
    }),
  );
  neverRun(async () => {
    const caller = await findCaller(auth, { headers: new Headers() });
    expectTypeOf(caller?.user.plan).toEqualTypeOf<string | undefined>();
    await followCaller(
      auth,
      { sessionId: "1" },
      {
        changed: ({ current }) => expectTypeOf(current.user.bornAt).toEqualTypeOf<Date>(),
        ended: () => undefined,
      },
    );
  });
});

test("an instance without $Infer gives rows of unknown fields", () => {
  neverRun(() =>
    betterAuthSession(plainAuth, {
      data: ({ user, session }) => {
        expectTypeOf(user).toEqualTypeOf<Row>();
        expectTypeOf(session).toEqualTypeOf<Row>();
        return {};
      },
    }),
  );
  neverRun(() => betterAuthSession(looseAuth, { data: ({ user }) => ({ plan: user["plan"] }) }));
});
