/** What a user of @halyard/sessions may write, with the types they may rely on. Compiled against the packed tarball. */

import {
  connectSessions,
  findCaller,
  followCaller,
  forgetCaller,
  IdentityError,
  type SessionBus,
  type SessionCaller,
} from "@halyard/sessions";
import { createIdentities } from "@halyard/sessions/plugin";
import { type PostgresPool, postgresSessionBus } from "@halyard/sessions/postgres";
import { redisSessionBus } from "@halyard/sessions/redis";
import { betterAuth } from "better-auth";
import { admin, organization } from "better-auth/plugins";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertEqual<A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void {}

const auth = betterAuth({ plugins: [admin(), organization()] });

export async function watch(request: Request, bus: SessionBus): Promise<() => void> {
  await connectSessions(auth, bus);
  const caller = await findCaller(auth, request);
  assertEqual<typeof caller, SessionCaller<typeof auth> | undefined>();
  if (caller === undefined) throw new IdentityError("not-signed-in", "Sign in.");
  assertEqual<typeof caller.organizationRole, string | undefined>();
  await forgetCaller(auth, { userId: caller.userId });
  // @ts-expect-error the listener needs `ended`
  await followCaller(auth, caller, { changed: () => undefined });
  return followCaller(auth, caller, {
    changed: ({ changed, current }) => {
      assertEqual<typeof current, SessionCaller<typeof auth>>();
      changed.includes("role");
    },
    ended: (reason) => {
      assertEqual<typeof reason, "ended" | "unavailable">();
    },
  });
}

export function buses(pool: PostgresPool, client: object): SessionBus[] {
  return [postgresSessionBus(pool), redisSessionBus(client, { channel: "app:sessions" })];
}

export const create: unknown = createIdentities;
