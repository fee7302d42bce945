/** The connection state as the page shows it. */
import { useConnectionState } from "@halyard/wire/react";
import { useSyncExternalStore } from "react";
import type { Session } from "./session.ts";

export interface Link {
  readonly status: "connecting" | "live" | "reconnecting" | "offline" | "closed";
  /** Attempts since the connection was last open. */
  readonly attempt: number;
  /** Why it is closed, for display. Undefined when the user closed it. */
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
  // `closed` without a reason is the state before the provider connects.
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
