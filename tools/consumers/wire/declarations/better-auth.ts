import { type AuthInstance, betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { serve } from "@halyard/wire/node";
import { createRouter } from "@halyard/wire/zod";

declare const auth: AuthInstance;
export const authenticate = betterAuthSession(auth, { data: ({ user }) => ({ name: String(user["name"]) }) });
export const router = createRouter<SessionData & { name: string }>();
export const start = () => serve(router, { authenticate });
