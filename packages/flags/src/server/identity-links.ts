/** Links a visitor's anonymous id to the user who signs in, so that statistics can follow a person across the sign-in. */
import type { ChangeHooks } from "@halyard/sessions/plugin";
import { ANONYMOUS_ID } from "../model/bootstrap.ts";
import { areRequestsIsolated } from "../store/isolated-requests.ts";
import type { ServiceFinder } from "./operations/endpoints.ts";

/** Signing in as one of Better Auth's anonymous users is not a sign-in of a person. */
const ANONYMOUS_SIGN_IN = "/sign-in/anonymous";

/** The database hook that runs after a session was created. The anonymous id comes from the cookie of the sign-in. */
export function linkHooks(serviceOf: ServiceFinder): ChangeHooks {
  return {
    session: {
      create: {
        async after(session, context) {
          const cookie = (context?.headers ?? context?.request?.headers)?.get("cookie");
          const anonymousId = ANONYMOUS_ID.exec(cookie ?? "")?.[1];
          if (!context || anonymousId === undefined || context.path === ANONYMOUS_SIGN_IN) return;
          const { userId, impersonatedBy }: Record<string, unknown> = session;
          // An admin who acts as a user is not this user.
          if (typeof userId !== "string" || typeof impersonatedBy === "string") return;
          const { exposures } = serviceOf(context);
          exposures.link({ anonymousId, userId, atMs: Date.now() });
          // There, work that outlives its request may be cancelled.
          if (areRequestsIsolated()) await exposures.flush();
        },
      },
    },
  };
}
