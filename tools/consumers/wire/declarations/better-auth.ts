import { betterAuthSession, type SessionData } from "@halyard/wire/better-auth";
import { serve } from "@halyard/wire/node";
import { createRouter } from "@halyard/wire/zod";
import { betterAuth } from "better-auth";

export const auth: ReturnType<typeof betterAuth> = betterAuth({});
export const authenticate = betterAuthSession(auth, { data: ({ user }) => ({ name: String(user["name"]) }) });
export const router = createRouter<SessionData & { name: string }>();
export const start = () => serve(router, { authenticate });
