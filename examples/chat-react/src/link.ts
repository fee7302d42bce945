/** The connection in the words of the page. */
import { useConnectionState } from "@halyard/wire/react";
import { useSyncExternalStore } from "react";
import type { Session } from "./session.ts";

export interface Link {
  readonly status: "connecting" | "live" | "reconnecting" | "offline" | "closed";
  /** Sockets tried since the link was last live. */
  readonly attempt: number;
  /** Why it is closed, for people; undefined when they closed it themselves. */
  readonly reason: string | undefined;
}

export function useLink(session: Session): Link {
  const state = useConnectionState();
  const { attempt, ended } = useSyncExternalStore(session.onNews, session.news);
  const isOnline = useSyncExternalStore(onNetworkChange, () => navigator.onLine);
  const reason = ended && (REASONS[ended.code] ?? ended.message);
  const link = (status: Link["status"]): Link => ({ status, attempt, reason });
  if (state === "open") return link("live");
  if (state === "closing" || (state === "closed" && ended)) return link("closed");
  if (!isOnline) return link("offline");
  // `closed` without a reason is the moment before the provider connects.
  return link(state === "reconnecting" ? "reconnecting" : "connecting");
}

const REASONS: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: "The server does not know this name.",
  PERMISSION_DENIED: "The server does not let this page in.",
};

function onNetworkChange(callback: () => void): () => void {
  addEventListener("online", callback);
  addEventListener("offline", callback);
  return () => {
    removeEventListener("online", callback);
    removeEventListener("offline", callback);
  };
}
