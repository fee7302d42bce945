/** Who changed each flag last, from the newest entries of the log. Empty for people who may not read the log. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { currentOrganization } from "../api/organization.ts";
import { ADMIN, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Entry } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";

/** The largest page of the log. */
const NEWEST = 200;

const newestEntriesQuery = () =>
  queryOptions({
    queryKey: ["entries", currentOrganization(), "newest"],
    queryFn: async ({ signal }) =>
      (
        await request<{ entries: Entry[] }>("GET", `${ADMIN}/audit`, {
          query: scoped({ limit: NEWEST }),
          signal,
        })
      ).entries,
    staleTime: 30_000,
  });

/** The newest entry of a flag by its id. */
export function useLastEntries(): ReadonlyMap<string, Entry> {
  const may = useMay();
  const { data: entries = [] } = useQuery({ ...newestEntriesQuery(), enabled: may("audit") });
  // Later entries of the map win, so the oldest come first.
  return new Map(entries.toReversed().map((entry) => [entry.flagId, entry]));
}
