/** Shows changes of other people: a small request every few seconds reads the revision, and a new one reloads what is shown. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { healthQuery } from "../api/queries.ts";

/** What depends on the flags. Statistics have their own pace. */
const CHANGING = ["flags", "flag", "rules", "overrides", "segments", "entries", "explain", "person"];

export function useLiveChanges(): void {
  const client = useQueryClient();
  const { data } = useQuery(healthQuery);
  const seen = useRef<number>(undefined);
  const revision = data?.revision;
  useEffect(() => {
    if (revision === undefined) return;
    const isNew = seen.current !== undefined && seen.current !== revision;
    seen.current = revision;
    if (isNew) for (const name of CHANGING) void client.invalidateQueries({ queryKey: [name] });
  }, [client, revision]);
}
