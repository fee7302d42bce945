/** Which pages the site has, at which address, and in which part of its navigation. */

/** A page of the navigation: its file name in `docs/guide` without the ending, and its short name. */
type Entry = readonly [page: string, name: string];

interface Group {
  readonly name: string;
  readonly pages: readonly Entry[];
}

export type Product = "wire" | "flags";

/** An item of a sidebar, with the mutable lists that VitePress wants. */
export interface SidebarItem {
  text: string;
  link?: string;
  target?: string;
  collapsed?: boolean;
  items?: SidebarItem[];
}

const WIRE: readonly Group[] = [
  { name: "Getting started", pages: [["wire-getting-started", "Getting started"]] },
  { name: "Concepts", pages: [["wire-concepts", "Concepts of wire"]] },
  {
    name: "Recipes",
    pages: [
      ["recipe-chat", "Chat with rooms"],
      ["recipe-chat-sign-in", "Chat page with sign-in"],
      ["recipe-live-dashboard", "Live dashboard"],
      ["recipe-notify-user-devices", "Notify all devices"],
      ["recipe-long-job-progress", "Progress of a long job"],
      ["recipe-upload", "Upload a file"],
    ],
  },
  {
    name: "Guides: messages",
    pages: [
      ["schemas", "Schemas"],
      ["router", "Router"],
      ["rpc", "Requests"],
      ["streams", "Streams"],
      ["durable-calls", "Durable calls"],
      ["server-requests", "Requests to a client"],
      ["errors", "Errors"],
      ["middleware", "Middleware"],
      ["changing-messages", "Changing messages"],
      ["asyncapi", "AsyncAPI"],
      ["testing", "Testing"],
      ["inspector", "Inspector"],
    ],
  },
  {
    name: "Guides: topics and channels",
    pages: [
      ["pubsub", "Publish/subscribe"],
      ["channels", "Channels"],
      ["history", "History and resume"],
      ["presence", "Presence"],
    ],
  },
  {
    name: "Guides: clients",
    pages: [
      ["client", "Client"],
      ["client-requests", "Sending requests"],
      ["reconnection", "Reconnection"],
      ["react", "React"],
    ],
  },
  {
    name: "Guides: servers",
    pages: [
      ["node", "Node"],
      ["node-http-server", "Existing HTTP server"],
      ["bun", "Bun"],
      ["cloudflare", "Cloudflare"],
      ["cloudflare-hibernation", "Cloudflare: hibernation"],
      ["cloudflare-sharding", "Cloudflare: sharding"],
      ["auth", "Authentication"],
      ["auth-providers", "Clerk, Auth.js and others"],
      ["sessions", "Sessions of Better Auth"],
      ["connection-checks", "Connection checks"],
      ["heartbeat", "Heartbeat"],
      ["backpressure", "Backpressure"],
    ],
  },
  {
    name: "Deploying",
    pages: [
      ["wire-deploying", "Deploying"],
      ["wire-security", "Security checklist"],
      ["graceful-shutdown", "Graceful shutdown"],
      ["wire-operations", "Production"],
      ["wire-sizing", "Sizing"],
      ["scaling", "Scaling"],
      ["scale", "Scale: a million connections"],
      ["broker-guarantees", "Delivery guarantees"],
    ],
  },
  {
    name: "Comparison",
    pages: [
      ["wire-compared", "wire compared"],
      ["coming-from-socket-io", "Coming from Socket.IO"],
      ["coming-from-trpc", "Coming from tRPC"],
      ["coming-from-ws-kit", "Coming from ws-kit"],
    ],
  },
  {
    name: "Reference",
    pages: [
      ["limits", "Limits"],
      ["wire-troubleshooting", "Troubleshooting"],
    ],
  },
];

const FLAGS: readonly Group[] = [
  {
    name: "Getting started",
    pages: [
      ["flags-quick-start", "Quick start"],
      ["flags-mounting", "Mounting in your framework"],
      ["flags-nextjs", "Next.js"],
      ["flags-drizzle", "Drizzle"],
      ["flags-prisma", "Prisma"],
    ],
  },
  { name: "Concepts", pages: [["flags-concepts", "Concepts of flags"]] },
  {
    name: "Recipes",
    pages: [
      ["flags-recipe-kill-switch", "Kill switch"],
      ["flags-recipe-gradual-rollout", "Gradual rollout"],
      ["flags-recipe-beta-group", "Beta group"],
      ["flags-recipe-plan-entitlement", "Entitlement by plan"],
      ["flags-recipe-ab-test", "A/B test"],
      ["flags-recipe-staging-and-production", "Staging and production"],
    ],
  },
  {
    name: "Guides: who gets what",
    pages: [
      ["flags-targeting", "Targeting"],
      ["flags-trusted", "Trusted attributes"],
      ["flags-rollouts", "Rollouts and variants"],
      ["flags-kill-switch", "Switch and off value"],
      ["flags-overrides", "Overrides"],
      ["flags-environments", "Environments"],
      ["flags-tenants", "Organizations"],
      ["flags-explain", "Explain"],
    ],
  },
  {
    name: "Guides: reading flags",
    pages: [
      ["flags-client", "Client"],
      ["flags-react", "React"],
      ["flags-ssr", "Server rendering"],
      ["flags-live", "Live changes"],
      ["flags-openfeature", "OpenFeature and OFREP"],
      ["flags-remote", "Remote evaluation"],
      ["flags-workers", "Cloudflare Workers"],
      ["flags-testing", "Testing"],
      ["flags-toolbar", "Developer toolbar"],
    ],
  },
  {
    name: "Guides: measuring",
    pages: [
      ["flags-events", "Events"],
      ["flags-exposures", "Exposures"],
      ["flags-statistics", "Statistics"],
      ["flags-sinks", "Event sinks"],
    ],
  },
  {
    name: "Guides: administration",
    pages: [
      ["console", "Console"],
      ["console-screens", "Console: screens"],
      ["flags-plan", "Impact before a change"],
      ["flags-permissions", "Permissions"],
      ["flags-audit", "Audit log"],
      ["flags-admin-client", "Admin client"],
      ["flags-rate-limits", "Rate limits"],
    ],
  },
  {
    name: "Deploying",
    pages: [
      ["flags-deploying", "Deploying"],
      ["flags-security", "Security checklist"],
      ["flags-operations", "Production"],
      ["flags-metrics", "Metrics and alerts"],
      ["flags-sizing", "Sizing"],
      ["flags-backup", "Backup and erasure"],
      ["flags-postgres", "PostgreSQL"],
      ["flags-fast-path", "Fast path"],
    ],
  },
  {
    name: "Comparison",
    pages: [
      ["flags-compared", "Flags compared"],
      ["flags-coming-from-launchdarkly", "Coming from LaunchDarkly"],
      ["flags-coming-from-unleash", "Coming from Unleash"],
      ["flags-coming-from-growthbook", "Coming from GrowthBook"],
    ],
  },
  {
    name: "Reference",
    pages: [
      ["flags-http", "HTTP: evaluation"],
      ["flags-http-admin", "HTTP: administration"],
      ["flags-troubleshooting", "Troubleshooting"],
    ],
  },
];

const GROUPS: Readonly<Record<Product, readonly Group[]>> = { wire: WIRE, flags: FLAGS };

/** Where each product's part of the site begins. */
export const START: Readonly<Record<Product, string>> = {
  wire: "/wire/getting-started",
  flags: "/flags/quick-start",
};

const HTTP = { text: "HTTP API", link: "/reference/http/index.html", target: "_self" };
const REFERENCE: Readonly<Record<Product, SidebarItem[]>> = {
  wire: [
    { text: "API of wire", link: "/reference/api/wire" },
    { text: "Protocol", link: "/reference/protocol" },
  ],
  flags: [{ text: "API of flags", link: "/reference/api/flags" }, HTTP],
};
const EVIDENCE: SidebarItem[] = [
  { text: "Performance", link: "/evidence/performance" },
  { text: "Load and fault results", link: "/evidence/" },
];

/** Pages that are named or moved, beside those of the rules below. */
const PLACES: Readonly<Record<string, string>> = {
  "README.md": "index",
  "site/landing.md": "index",
  "docs/README.md": "pages",
  "docs/protocol.md": "reference/protocol",
  "docs/conformance/README.md": "reference/conformance",
  "docs/evidence/README.md": "evidence/index",
  "ARCHITECTURE.md": "project/architecture",
  "CONTRIBUTING.md": "project/contributing",
  "SECURITY.md": "project/security",
};

const RULES: readonly (readonly [pattern: RegExp, place: string])[] = [
  [/^docs\/guide\/wire-([\w-]+)\.md$/, "wire/$1"],
  [/^docs\/guide\/flags-([\w-]+)\.md$/, "flags/$1"],
  [/^docs\/guide\/(console[\w-]*)\.md$/, "flags/$1"],
  [/^docs\/guide\/([\w-]+)\.md$/, "wire/$1"],
  [/^docs\/evidence\/([\w-]+)\.md$/, "evidence/$1"],
  [/^docs\/([\w-]+)\.md$/, "evidence/$1"],
  [/^examples\/([\w-]+)\/README\.md$/, "examples/$1"],
];

/** Where a page of the repository is on the site: a path without slash and ending. Undefined: only in the repository. */
export function placeOf(file: string): string | undefined {
  const place = PLACES[file];
  if (place !== undefined) return place;
  for (const [pattern, replacement] of RULES) {
    if (pattern.test(file)) return file.replace(pattern, replacement).toLowerCase();
  }
  return undefined;
}

/** The address of a page on the site, without the site's base. */
export function addressOf(file: string): string | undefined {
  const place = placeOf(file);
  return place === undefined ? undefined : `/${place.replace(/(?:^|(?<=\/))index$/, "")}`;
}

/** The navigation of one product: its groups, and pages of the guide that no group names, so that none is hidden. */
export function sidebarOf(product: Product, files: readonly string[]): SidebarItem[] {
  const groups = GROUPS[product];
  const named = new Set(groups.flatMap(({ pages }) => pages.map(([page]) => page)));
  const others = files
    .filter((file) => file.startsWith("docs/guide/") && placeOf(file)?.startsWith(`${product}/`))
    .map((file) => file.slice("docs/guide/".length, -".md".length))
    .filter((page) => !named.has(page));
  const items = groups.map(({ name, pages }) => ({
    text: name,
    collapsed: false,
    items: [
      ...pages.map(([page, text]) => ({ text, link: addressOf(`docs/guide/${page}.md`) ?? "/" })),
      ...(name === "Reference" ? REFERENCE[product] : []),
    ],
  }));
  const more = others.map((page) => ({
    text: page.replace(/^(?:wire|flags)-/, "").replaceAll("-", " "),
    link: addressOf(`docs/guide/${page}.md`) ?? "/",
  }));
  return [
    ...items,
    ...(more.length === 0 ? [] : [{ text: "More guides", collapsed: false, items: more }]),
    { text: "Evidence", collapsed: false, items: EVIDENCE },
  ];
}

/** The pages that a sidebar names, in the order of reading. */
export function listNamedPages(product: Product): string[] {
  return GROUPS[product].flatMap(({ pages }) => pages.map(([page]) => `docs/guide/${page}.md`));
}
