/** The addresses of the screens. Screens other than the list load when they are opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from "@tanstack/react-router";
import { basePath } from "./config.ts";
import { FlagsScreen } from "./flags/flags-screen.tsx";
import { readFlagsSearch } from "./flags/search.ts";
import { NotFound, ScreenFailure } from "./shell/not-found.tsx";
import { Shell } from "./shell/shell.tsx";
import { LoadingPage } from "./ui/states.tsx";

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  // Where flags belong to organizations, every address names the organization.
  validateSearch: (search: Record<string, unknown>): { org?: string } => only({ org: text(search["org"]) }),
  search: { middlewares: [retainSearchParams(["org"])] },
});

const flags = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: readFlagsSearch,
  component: FlagsScreen,
});

const flag = createRoute({
  getParentRoute: () => root,
  path: "/flag/$key",
  validateSearch: (search: Record<string, unknown>): { tab?: string; environment?: string } =>
    only({ tab: text(search["tab"]), environment: text(search["environment"]) }),
  component: lazyRouteComponent(() => import("./flag/flag-screen.tsx"), "FlagScreen"),
});

const explain = createRoute({
  getParentRoute: () => root,
  path: "/explain",
  validateSearch: (
    search: Record<string, unknown>,
  ): { flag?: string; user?: string; context?: string; environment?: string } =>
    only({
      flag: text(search["flag"]),
      user: text(search["user"]),
      context: text(search["context"]),
      environment: text(search["environment"]),
    }),
  component: lazyRouteComponent(() => import("./explain/explain-screen.tsx"), "ExplainScreen"),
});

const people = createRoute({
  getParentRoute: () => root,
  path: "/people",
  validateSearch: (search: Record<string, unknown>): { q?: string } => only({ q: text(search["q"]) }),
  component: lazyRouteComponent(() => import("./people/people-screen.tsx"), "PeopleScreen"),
});

const person = createRoute({
  getParentRoute: () => root,
  path: "/people/$id",
  component: lazyRouteComponent(() => import("./people/person-screen.tsx"), "PersonScreen"),
});

const readHistorySearch = (
  search: Record<string, unknown>,
): { flag?: string; actor?: string; action?: string; start?: string; end?: string } =>
  only({
    flag: text(search["flag"]),
    actor: text(search["actor"]),
    action: text(search["action"]),
    start: text(search["start"]),
    end: text(search["end"]),
  });

const history = createRoute({
  getParentRoute: () => root,
  path: "/history",
  validateSearch: readHistorySearch,
  component: lazyRouteComponent(() => import("./history/history-screen.tsx"), "HistoryScreen"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: readHistorySearch,
  component: lazyRouteComponent(() => import("./history/history-screen.tsx"), "AuditScreen"),
});

const segments = createRoute({
  getParentRoute: () => root,
  path: "/segments",
  component: lazyRouteComponent(() => import("./segments/segments-screen.tsx"), "SegmentsScreen"),
});

const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  validateSearch: (search: Record<string, unknown>): { days?: number } =>
    only({ days: typeof search["days"] === "number" ? search["days"] : undefined }),
  component: lazyRouteComponent(() => import("./activity/activity-screen.tsx"), "ActivityScreen"),
});

const keys = createRoute({
  getParentRoute: () => root,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/keys-screen.tsx"), "KeysScreen"),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  component: lazyRouteComponent(() => import("./health/health-screen.tsx"), "HealthScreen"),
});

const routeTree = root.addChildren([
  flags,
  flag,
  explain,
  people,
  person,
  history,
  audit,
  segments,
  activity,
  keys,
  health,
]);

export function createConsoleRouter() {
  return createRouter({
    routeTree,
    basepath: basePath === "" ? "/" : basePath,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: ScreenFailure,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

/** Leaves out absent fields, so that they do not appear in the address. */
function only<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: NonNullable<Fields[Name]>;
  };
}
