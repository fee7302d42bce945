/**
 * Shows changes of other people: a new revision reloads what is shown. The socket of live flags tells it at once, where
 * the application has one; without it, a small request every few seconds.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { revisionQuery } from "../api/queries.ts";
import { useSession } from "./session.tsx";
import type { WatchConnection } from "./watch-connection.ts";

/** What depends on the flags. Statistics have their own pace. */
const CHANGING = ["flags", "flag", "rules", "overrides", "segments", "entries", "explain", "person", "plan"];
const POLL_MS = 5_000;
/** With the socket, requests only renew the token, which is valid for 2 minutes. */
const RENEW_MS = 60_000;

export function useLiveChanges(): void {
  const client = useQueryClient();
  const { live } = useSession();
  const [isLive, setLive] = useState(false);
  const query = revisionQuery(live !== undefined);
  const { data, error } = useQuery({
    ...query,
    refetchInterval: isLive ? RENEW_MS : POLL_MS,
  });
  const seen = useRef<{ scope: string; revision: number }>(undefined);
  const scope = JSON.stringify(query.queryKey);
  const revision = data?.revision;
  useEffect(() => {
    if (revision === undefined) return;
    const isNew = seen.current?.scope === scope && seen.current.revision !== revision;
    seen.current = { scope, revision };
    if (isNew) for (const name of CHANGING) void client.invalidateQueries({ queryKey: [name] });
  }, [client, revision, scope]);

  const connection = useRef<WatchConnection>(undefined);
  const token = data?.watchToken;
  const newest = useRef({ token, queryKey: query.queryKey });
  newest.current = { token, queryKey: query.queryKey };
  useEffect(() => {
    if (live === undefined) return;
    let isClosed = false;
    const open = async (): Promise<void> => {
      const { openWatchConnection } = await import("./watch-connection.ts");
      if (isClosed) return;
      connection.current = openWatchConnection(live, {
        onState: setLive,
        onRevision: (next) =>
          client.setQueryData(newest.current.queryKey, (before) => before && { ...before, revision: next }),
      });
      if (newest.current.token !== undefined) connection.current.watch(newest.current.token);
    };
    // Without the file, the console polls.
    open().catch(() => undefined);
    return () => {
      isClosed = true;
      connection.current?.close();
      connection.current = undefined;
      setLive(false);
    };
  }, [client, live]);
  useEffect(() => {
    if (token !== undefined) connection.current?.watch(token);
  }, [token]);
  useEffect(() => {
    // Without an answer there is no new token, so the socket falls silent.
    if (error !== null) setLive(false);
  }, [error]);
}
