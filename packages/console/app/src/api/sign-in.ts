/** Signing in and out through the application's own Better Auth. */
import { request } from "./request.ts";

export async function signIn(fields: { email: string; password: string }): Promise<void> {
  await request("POST", "/auth/sign-in/email", { body: fields });
}

export async function signOut(): Promise<void> {
  await request("POST", "/auth/sign-out", { body: {} });
}
