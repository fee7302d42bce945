/** The lines of a room, and below them the drafts. */
import type { Line } from "@halyard/example-chat-node/messages";
import type { CSSProperties } from "react";
import type { Link } from "./link.ts";
import { type Draft, keyOf, type Timeline } from "./timeline.ts";

interface MessageLogProps {
  readonly room: string;
  readonly me: string;
  readonly timeline: Timeline;
  readonly link: Link;
  readonly onAgain: (line: Line) => void;
  readonly onDiscard: (line: Line) => void;
}

export function MessageLog({ room, me, timeline, link, onAgain, onDiscard }: MessageLogProps) {
  const all: readonly (Line | Draft)[] = [...timeline.lines, ...timeline.drafts];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it.
    <div className="log" role="log" aria-label={`Messages in ${room}`} tabIndex={0}>
      {all.length === 0 && <p className="empty">No messages yet.</p>}
      <ol>
        {all.map((line, index) => {
          const isMine = line.from === me;
          const isFirst = all[index - 1]?.from !== line.from;
          const status = statusOf(line);
          const next = all[index + 1];
          // Sighted users see one name above a run of lines and one mark below it. Screen readers announce each.
          const isLastPending = next === undefined || statusOf(next) !== "pending";
          return (
            <li
              key={keyOf(line)}
              className={`${isMine ? "mine" : "theirs"}${isFirst ? " first" : ""}`}
              data-status={status}
            >
              <span className={isMine || !isFirst ? "quiet" : "from"}>{line.from}</span>
              {!isMine && isFirst && <Avatar name={line.from} />}
              <span className="text">{line.text}</span>
              {status === "pending" && (
                <span className={isLastPending ? "mark" : "quiet"}>
                  {link.status === "live" ? "Sending" : "Waiting to be sent"}
                </span>
              )}
              {status === "failed" && "failure" in line && (
                <span className="mark">
                  Not sent. {line.failure}
                  <button type="button" onClick={() => onAgain(line)}>
                    Send again
                  </button>
                  <button type="button" onClick={() => onDiscard(line)}>
                    Discard
                  </button>
                </span>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** A colour for each name, the same in every window. */
function Avatar({ name }: { readonly name: string }) {
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);
  return (
    <span className="avatar" aria-hidden="true" style={{ "--hue": hue } as CSSProperties}>
      {name.slice(0, 1)}
    </span>
  );
}

function statusOf(line: Line | Draft): "delivered" | "pending" | "failed" {
  if (!("failure" in line)) return "delivered";
  return line.failure === undefined ? "pending" : "failed";
}
