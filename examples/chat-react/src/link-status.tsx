/** The connection state as a label, and as a sentence while it is not open. */
import type { Link } from "./link.ts";

const NAMES = {
  live: "Live",
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  offline: "Offline",
  closed: "Closed",
} as const;

export function LinkPill({ link }: { readonly link: Link }) {
  return (
    <p className="pill" role="status" data-status={link.status}>
      <span className="dot" aria-hidden="true" />
      <span>
        {NAMES[link.status]}
        {/* Announced once, not with every attempt. */}
        {link.status === "reconnecting" && link.attempt > 0 && (
          <span aria-hidden="true">, attempt {link.attempt}</span>
        )}
      </span>
    </p>
  );
}

interface LinkBannerProps {
  readonly link: Link;
  /** The number of messages that wait to be sent. */
  readonly waiting: number;
  readonly onConnect: () => void;
  readonly onLeave: () => void;
}

/** Empty while the connection is open. */
export function LinkBanner({ link, waiting, onConnect, onLeave }: LinkBannerProps) {
  const { status, reason } = link;
  if (status === "live" || status === "connecting") return null;
  if (status !== "closed") {
    return (
      <p className="banner" data-status={status}>
        {status === "offline" ? "This device is offline." : "The connection was lost. Reconnecting."}{" "}
        {waitingText(waiting)}
      </p>
    );
  }
  return (
    <div className="banner" data-status={status}>
      <p>{reason ?? "The connection is closed."}</p>
      <button type="button" onClick={onConnect}>
        Connect again
      </button>
      <button type="button" onClick={onLeave}>
        Change name
      </button>
    </div>
  );
}

function waitingText(waiting: number): string {
  if (waiting === 0) return "New messages are sent after the reconnection.";
  return waiting === 1 ? "1 message waits to be sent." : `${waiting} messages wait to be sent.`;
}
