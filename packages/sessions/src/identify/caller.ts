/** The caller of a request: the application's own code, an API key, a signed-in user, or an anonymous visitor. */
import type { ServerKey } from "./keys.ts";
import type { SessionUser } from "./session.ts";

/** The caller of a request, by the kind of its credentials. */
export type Caller =
  | { readonly kind: "server" }
  | { readonly kind: "key"; readonly key: ServerKey }
  | { readonly kind: "user"; readonly user: SessionUser }
  | { readonly kind: "anonymous" };

/** A caller with credentials, whose permissions decide. */
export type Principal = Exclude<Caller, { kind: "server" | "anonymous" }>;

/** A caller outside the application's own code. */
export type Client = Exclude<Caller, { kind: "server" }>;
