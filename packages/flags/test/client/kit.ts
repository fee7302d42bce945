/** Better Auth clients with the session of a user, on a network that the test can cut. */
import { featureFlagsAdminClient } from "@halyard/flags/admin-client";
import {
  type FeatureFlagsClientOptions,
  type FlagDeclarations,
  featureFlagsClient,
} from "@halyard/flags/client";
import { createAuthClient } from "better-auth/client";

export interface Visitor {
  /** The headers of the browser. Signing in or out changes them. */
  headers?: Record<string, string> | undefined;
}

export interface Network {
  /** The paths of the requests, without `/api/auth`. */
  readonly paths: string[];
  /** The bodies of the requests, at the same index. */
  readonly bodies: unknown[];
  /** Responds instead of the server if it returns a response. */
  intercept: ((path: string, init: RequestInit) => Promise<Response> | Response | undefined) | undefined;
  /** Whether every request fails, as without a network. */
  isDown: boolean;
  count(path: string): number;
}

export function createNetwork(): Network {
  const paths: string[] = [];
  return {
    paths,
    bodies: [],
    intercept: undefined,
    isDown: false,
    count: (path) => paths.filter((asked) => asked === path).length,
  };
}

export const BOOTSTRAP = "/feature-flags/bootstrap";

/** A client with the visitor's session. */
export function createClient<const Flags extends FlagDeclarations = FlagDeclarations>(
  origin: string,
  options: FeatureFlagsClientOptions<Flags> & { visitor?: Visitor; network?: Network } = {},
) {
  const { visitor = {}, network = createNetwork(), ...flagsOptions } = options;
  const client = createAuthClient({
    baseURL: origin,
    plugins: [
      featureFlagsClient<Flags>(flagsOptions as FeatureFlagsClientOptions<Flags>),
      featureFlagsAdminClient(),
    ],
    fetchOptions: {
      customFetchImpl: async (input, init = {}) => {
        const request = new Request(input, init);
        const path = new URL(request.url).pathname.replace("/api/auth", "");
        network.paths.push(path);
        network.bodies.push(typeof init.body === "string" ? JSON.parse(init.body) : undefined);
        const answer = network.isDown ? undefined : network.intercept?.(path, init);
        if (answer !== undefined) return answer;
        if (network.isDown) throw new TypeError("fetch failed");
        const headers = new Headers(request.headers);
        headers.set("origin", origin);
        for (const [name, value] of Object.entries(visitor.headers ?? {})) headers.set(name, value);
        const response = await fetch(request, { headers });
        const cookies = response.headers.getSetCookie();
        // Stores cookies as a browser does.
        if (cookies.length > 0)
          visitor.headers = { cookie: cookies.map((line) => line.split(";", 1)[0]).join("; ") };
        return response;
      },
    },
  });
  return { client, flags: client.featureFlags, network, visitor };
}

/** The response to a bootstrap. */
export function bootstrapAnswer(
  values: Record<string, unknown>,
  { userId, evaluatedAt = new Date().toISOString() }: { userId?: string; evaluatedAt?: string } = {},
): Response {
  const flags = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { value, reason: "default" }]),
  );
  return Response.json({ flags, evaluatedAt, context: userId === undefined ? {} : { userId } });
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
