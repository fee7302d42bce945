/** Pages that do not pass a check yet. The lists only become shorter: a page that passes must leave its list. */

export const NOT_STRUCTURED: ReadonlySet<string> = new Set([
  "docs/guide/auth.md",
  "docs/guide/backpressure.md",
  "docs/guide/bun.md",
  "docs/guide/changing-messages.md",
  "docs/guide/client.md",
  "docs/guide/cloudflare.md",
  "docs/guide/errors.md",
  "docs/guide/flags-audit.md",
  "docs/guide/flags-client.md",
  "docs/guide/flags-events.md",
  "docs/guide/flags-fast-path.md",
  "docs/guide/flags-http.md",
  "docs/guide/flags-kill-switch.md",
  "docs/guide/flags-openfeature.md",
  "docs/guide/flags-overrides.md",
  "docs/guide/flags-permissions.md",
  "docs/guide/flags-postgres.md",
  "docs/guide/flags-quick-start.md",
  "docs/guide/flags-rate-limits.md",
  "docs/guide/flags-react.md",
  "docs/guide/flags-rollouts.md",
  "docs/guide/flags-ssr.md",
  "docs/guide/flags-targeting.md",
  "docs/guide/flags-tenants.md",
  "docs/guide/flags-testing.md",
  "docs/guide/flags-workers.md",
  "docs/guide/limits.md",
  "docs/guide/middleware.md",
  "docs/guide/node.md",
  "docs/guide/pubsub.md",
  "docs/guide/react.md",
  "docs/guide/router.md",
  "docs/guide/rpc.md",
  "docs/guide/scaling.md",
  "docs/guide/schemas.md",
  "docs/guide/testing.md",
]);

export const NOT_READABLE: ReadonlySet<string> = new Set([
  "docs/guide/auth.md",
  "docs/guide/backpressure.md",
  "docs/guide/bun.md",
  "docs/guide/changing-messages.md",
  "docs/guide/client.md",
  "docs/guide/cloudflare.md",
  "docs/guide/errors.md",
  "docs/guide/flags-audit.md",
  "docs/guide/flags-client.md",
  "docs/guide/flags-events.md",
  "docs/guide/flags-fast-path.md",
  "docs/guide/flags-http.md",
  "docs/guide/flags-mounting.md",
  "docs/guide/flags-openfeature.md",
  "docs/guide/flags-operations.md",
  "docs/guide/flags-overrides.md",
  "docs/guide/flags-permissions.md",
  "docs/guide/flags-postgres.md",
  "docs/guide/flags-quick-start.md",
  "docs/guide/flags-rate-limits.md",
  "docs/guide/flags-react.md",
  "docs/guide/flags-rollouts.md",
  "docs/guide/flags-ssr.md",
  "docs/guide/flags-targeting.md",
  "docs/guide/flags-tenants.md",
  "docs/guide/flags-trusted.md",
  "docs/guide/flags-workers.md",
  "docs/guide/limits.md",
  "docs/guide/middleware.md",
  "docs/guide/node.md",
  "docs/guide/pubsub.md",
  "docs/guide/react.md",
  "docs/guide/router.md",
  "docs/guide/rpc.md",
  "docs/guide/scaling.md",
  "docs/guide/schemas.md",
  "docs/guide/wire-operations.md",
  "docs/protocol.md",
]);

/** The problems of the pages that are not listed, and the listed pages that need not be. */
export function findInPages(
  pages: readonly string[],
  listed: ReadonlySet<string>,
  find: (page: string) => readonly string[],
): string[] {
  const stale = [...listed].filter((page) => !pages.includes(page));
  return [
    ...stale.map((page) => `${page} does not exist. Remove it from tools/not-rewritten.ts.`),
    ...pages.flatMap((page) => {
      const problems = find(page);
      if (!listed.has(page)) return problems;
      return problems.length > 0 ? [] : [`${page} passes now. Remove it from tools/not-rewritten.ts.`];
    }),
  ];
}
