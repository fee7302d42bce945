/** The signed-in users. */
import { createHmac } from "node:crypto";
import { random } from "../../engines/workload.ts";
import { SECRET } from "./auth.ts";

export interface Person {
  readonly id: string;
  readonly cookie: string;
  readonly attributes: { readonly plan: string; readonly country: string; readonly loginCount: number };
}

/** As long as those of Better Auth. */
export const USER_ID_LENGTH = 32;

export function emailOf(userId: string): string {
  return `${userId}@flags.example`;
}

/** The token of a session is the user's id, so that a server without checks can read it. */
export function peopleOf(count: number): Person[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `u${String(index).padStart(USER_ID_LENGTH - 1, "0")}`;
    const signature = createHmac("sha256", SECRET).update(id).digest("base64");
    return {
      id,
      cookie: `better-auth.session_token=${id}.${encodeURIComponent(signature)}`,
      attributes: {
        plan: pick(["free", "pro", "enterprise"]),
        country: pick(["US", "CA", "GB", "DE"]),
        loginCount: Math.floor(random() * 200),
      },
    };
  });
}

function pick(items: readonly string[]): string {
  return items[Math.floor(random() * items.length)] ?? "";
}
