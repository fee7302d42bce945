/** Every read of the console as query options: one place for keys, paths and how long an answer stays fresh. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { currentOrganization } from "./organization.ts";
import { request } from "./request.ts";
import { createTogether } from "./together.ts";
import type { Entry, JsonObject } from "./types.ts";

export const ADMIN = "/feature-flags/admin";
export const CONSOLE = "/feature-flags/console";

export interface FlagFilters {
  readonly q?: string | undefined;
  readonly type?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly sort?: string | undefined;
}

/** Adds the chosen organization, where there is one. */
export function scoped<Fields extends object>(fields: Fields): Fields & { organizationId?: string } {
  const organizationId = currentOrganization();
  return organizationId === undefined ? fields : { ...fields, organizationId };
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => request("POST", `${CONSOLE}/session`, { body: {}, signal }),
  staleTime: 60_000,
  retry: false,
});

export const flagsQuery = (filters: FlagFilters) =>
  infiniteQueryOptions({
    queryKey: ["flags", currentOrganization(), filters],
    queryFn: ({ pageParam, signal }) =>
      request("GET", `${ADMIN}/flags`, {
        query: scoped({ ...filters, include: "stats", limit: 100, cursor: pageParam }),
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ page }) => page.nextCursor,
    placeholderData: keepPreviousData,
  });

export const missingFlagsQuery = () =>
  queryOptions({
    queryKey: ["missing-flags", currentOrganization()],
    queryFn: ({ signal }) => request("POST", `${CONSOLE}/missing-flags`, { body: scoped({}), signal }),
    staleTime: REPORT_KEPT_MS,
    retry: false,
  });

export const flagQuery = (key: string) =>
  queryOptions({
    queryKey: ["flag", currentOrganization(), key],
    queryFn: ({ signal }) => request("GET", `${ADMIN}/flags/${part(key)}`, { query: scoped({}), signal }),
  });

export const rulesQuery = (key: string) =>
  queryOptions({
    queryKey: ["rules", currentOrganization(), key],
    queryFn: async ({ signal }) =>
      (
        await request("GET", `${ADMIN}/flags/${part(key)}/rules`, {
          query: scoped({}),
          signal,
        })
      ).rules,
  });

export const overridesQuery = (query: { flagId?: string; userId?: string }) =>
  queryOptions({
    queryKey: ["overrides", currentOrganization(), query],
    queryFn: async ({ signal }) =>
      (
        await request("GET", `${ADMIN}/overrides`, {
          query: scoped({ ...query, limit: 200, sort: "-createdAt" }),
          signal,
        })
      ).overrides,
  });

export const segmentsQuery = () =>
  queryOptions({
    queryKey: ["segments", currentOrganization()],
    queryFn: async ({ signal }) =>
      (
        await request("GET", `${ADMIN}/segments`, {
          query: scoped({ sort: "key", limit: 200 }),
          signal,
        })
      ).segments,
  });

export interface EntryFilters {
  readonly flagId?: string | undefined;
  readonly userId?: string | undefined;
  readonly action?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** How long statistics, the newest entries and plans are shown again without a request. */
export const REPORT_KEPT_MS = 30_000;
const ENTRIES_PER_PAGE = 50;
/** The largest page of the log. */
const NEWEST = 200;

/** Each entry gets the names of its people. */
async function readEntries(query: object, signal: AbortSignal): Promise<Entry[]> {
  const { entries, names } = await request("POST", `${CONSOLE}/log`, {
    query: scoped(query),
    body: {},
    signal,
  });
  return entries.map((entry) => ({ ...entry, names }));
}

export const newestEntriesQuery = () =>
  queryOptions({
    queryKey: ["entries", currentOrganization(), "newest"],
    queryFn: ({ signal }) => readEntries({ limit: NEWEST }, signal),
    staleTime: REPORT_KEPT_MS,
  });

export const entriesQuery = (filters: EntryFilters) =>
  infiniteQueryOptions({
    queryKey: ["entries", currentOrganization(), filters],
    queryFn: ({ pageParam, signal }) =>
      readEntries({ ...filters, limit: ENTRIES_PER_PAGE, offset: pageParam }, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) =>
      last.length < ENTRIES_PER_PAGE ? undefined : pages.length * ENTRIES_PER_PAGE,
  });

export const explainQuery = (key: string, context: JsonObject, environment: string | undefined) =>
  queryOptions({
    queryKey: ["explain", currentOrganization(), key, context, environment],
    queryFn: ({ signal }) =>
      request("POST", `${ADMIN}/flags/${part(key)}/explain`, {
        query: scoped({}),
        body: { context, ...(environment !== undefined && { environment }) },
        signal,
      }),
    retry: false,
  });

export const statsQuery = (key: string, days: number) =>
  queryOptions({
    queryKey: ["stats", currentOrganization(), key, days],
    queryFn: ({ signal }) =>
      request("GET", `${ADMIN}/flags/${part(key)}/stats`, {
        query: scoped(windowOf(days)),
        signal,
      }),
    staleTime: REPORT_KEPT_MS,
  });

/** The largest number of flags of one request. */
const MOST_FLAGS = 200;
const EVALUATIONS_KEPT_MS = 300_000;

const readEvaluations = createTogether(MOST_FLAGS, (flagIds, organizationId: string | undefined) =>
  request("POST", `${CONSOLE}/evaluations`, {
    body: { flagIds, ...(organizationId !== undefined && { organizationId }) },
  }),
);

/** Evaluations of a flag in each of the last 24 hours. All flags in view share a request. */
export const evaluationsQuery = (flagId: string) => {
  const organizationId = currentOrganization();
  return queryOptions({
    queryKey: ["evaluations", organizationId, flagId],
    queryFn: async () => (await readEvaluations(flagId, organizationId)).byFlag[flagId] ?? [],
    staleTime: EVALUATIONS_KEPT_MS,
    retry: false,
  });
};

export const usageQuery = (days: number) =>
  queryOptions({
    queryKey: ["usage", currentOrganization(), days],
    queryFn: ({ signal }) =>
      request("GET", `${ADMIN}/metrics/usage`, { query: scoped(windowOf(days)), signal }),
    staleTime: REPORT_KEPT_MS,
  });

/** The start is a full hour, so that the same window has the same key for a while. */
function windowOf(days: number): { start: string } {
  const hourMs = 3_600_000;
  return { start: new Date(Math.floor(Date.now() / hourMs) * hourMs - days * 24 * hourMs).toISOString() };
}

export const peopleQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ["people", currentOrganization(), q],
    queryFn: ({ pageParam, signal }) =>
      request("POST", `${CONSOLE}/people`, {
        body: scoped({
          ...(q !== "" && { q }),
          limit: 50,
          ...(pageParam !== undefined && { cursor: pageParam }),
        }),
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });

export const personQuery = (userId: string, environment?: string) =>
  queryOptions({
    queryKey: ["person", currentOrganization(), userId, environment],
    queryFn: ({ signal }) =>
      request("POST", `${CONSOLE}/person`, {
        body: scoped({ userId, ...(environment !== undefined && { environment }) }),
        signal,
      }),
    retry: false,
  });

export const activityQuery = (days: number, flagId?: string) =>
  queryOptions({
    queryKey: ["activity", currentOrganization(), days, flagId],
    queryFn: ({ signal }) =>
      request("POST", `${CONSOLE}/activity`, {
        body: scoped({ ...windowOf(days), ...(flagId !== undefined && { flagId }) }),
        signal,
      }),
    staleTime: REPORT_KEPT_MS,
  });

/** How new the flags are; with a token for the socket, where the application has one. */
export const revisionQuery = (watch: boolean) =>
  queryOptions({
    queryKey: ["revision", currentOrganization(), watch],
    queryFn: ({ signal }) =>
      request("POST", `${CONSOLE}/revision`, {
        body: scoped({ ...(watch && { watch }) }),
        signal,
      }),
  });

export const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: ({ signal }) => request("GET", "/feature-flags/health", { signal }),
  refetchInterval: 5_000,
});

export const processesQuery = queryOptions({
  queryKey: ["processes"],
  queryFn: ({ signal }) => request("POST", `${CONSOLE}/processes`, { body: {}, signal }),
  refetchInterval: 5_000,
});

export const verifyQuery = () =>
  queryOptions({
    queryKey: ["verify", currentOrganization()],
    queryFn: ({ signal }) => request("POST", `${CONSOLE}/verify-audit`, { body: scoped({}), signal }),
    enabled: false,
    retry: false,
  });

export const keysQuery = () =>
  queryOptions({
    queryKey: ["keys"],
    queryFn: ({ signal }) => request("POST", `${CONSOLE}/keys`, { body: {}, signal }),
  });

/** Flags and segments are named by key in addresses, so that links stay readable. */
function part(key: string): string {
  return /^[\w-]+$/.test(key) ? `key:${key}` : "key:";
}
