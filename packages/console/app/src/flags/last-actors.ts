/** Who changed each flag last, from the newest entries of the log. Empty for people who may not read the log. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { newestEntriesQuery } from "../api/queries.ts";
import type { Entry } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";

/** The newest entry of a flag by its id. */
export function useLastEntries(): ReadonlyMap<string, Entry> {
  const may = useMay();
  const { data: entries } = useQuery({ ...newestEntriesQuery(), enabled: may("audit") });
  // Later entries of the map win, so the oldest come first.
  return useMemo(() => new Map(entries?.toReversed().map((entry) => [entry.flagId, entry])), [entries]);
}
