/** Creates an auth instance with the fast path on the database of a host, and counts the requests it passes on. */
import { closeFeatureFlags, type FeatureFlagsOptions, featureFlags, withFeatureFlags } from "@halyard/flags";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { onTestFinished } from "vitest";
import type { Host } from "./host.ts";

export interface WrappedOptions {
  readonly auth?: Partial<BetterAuthOptions>;
  readonly flags?: FeatureFlagsOptions;
  readonly plugins?: BetterAuthOptions["plugins"];
  /** Ids of the host's plugins that the instance is without. */
  readonly without?: readonly string[];
  readonly log?: (message: string) => void;
}

export interface WrappedHost {
  readonly auth: { handler(request: Request, server?: unknown): Promise<Response> } & WrappedAuth;
  /** Posts JSON to a path under `/feature-flags`. */
  ask(path: string, body: unknown, headers?: Record<string, string>): Promise<Asked>;
  health(): Promise<{ fastPath?: string; fastPathReason?: string }>;
  close(): Promise<void>;
}

interface Asked {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly headers: Headers;
  /** Whether the fast path answered. */
  readonly isFast: boolean;
}

function createAuth(
  host: Host,
  { auth = {}, flags, plugins = [], without = [], log }: WrappedOptions,
  count: () => void,
) {
  const left = new Set(["feature-flags", ...without]);
  const hostPlugins = host.auth.options.plugins.filter(({ id }) => !left.has(id));
  const inner = betterAuth({
    ...host.auth.options,
    ...(log && { logger: { level: "warn" as const, log: (_level, message) => log(String(message)) } }),
    ...auth,
    plugins: [...hostPlugins, ...plugins, featureFlags(flags)],
  });
  const counted = {
    ...inner,
    handler(request: Request) {
      count();
      return inner.handler(request);
    },
  };
  return withFeatureFlags(counted);
}

type WrappedAuth = Pick<ReturnType<typeof createAuth>, "options" | "$context" | "api">;

export async function wrapHost(host: Host, options: WrappedOptions = {}): Promise<WrappedHost> {
  let passedOn = 0;
  const auth = createAuth(host, options, () => {
    passedOn += 1;
  });
  await auth.$context;
  const close = () => closeFeatureFlags(auth);
  onTestFinished(close);
  return {
    auth,
    close,
    async ask(path, body, headers = {}) {
      const text = JSON.stringify(body);
      const before = passedOn;
      const response = await auth.handler(
        new Request(`${host.origin}/api/auth/feature-flags/${path}`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "content-length": String(new TextEncoder().encode(text).length),
            origin: host.origin,
            ...headers,
          },
          body: text,
        }),
      );
      const json = (await response.json().catch(() => ({}))) as Record<string, unknown>;
      return { status: response.status, json, headers: response.headers, isFast: passedOn === before };
    },
    health: () => auth.api.getFeatureFlagsHealth(),
  };
}
