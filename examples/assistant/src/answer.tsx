/** One answer: its words so far, whichever window asked, with buttons to stop and to continue. */
import { useCall } from "@halyard/wire/react";
import { Ask, type EntryOf } from "../messages.ts";

interface AnswerProps {
  readonly entry: EntryOf;
  /** Asks for the words after this many. */
  readonly onContinue: (words: number) => void;
}

export function Answer({ entry, onContinue }: AnswerProps) {
  const { items, status, error, cancel } = useCall(Ask, { id: entry.id });
  const isStopped = status === "error";
  return (
    <li data-status={status}>
      <h2>{entry.question}</h2>
      {entry.words > 0 && <p className="note">Continues after {entry.words} words</p>}
      <p className="text">{items.join(" ")}</p>
      <footer>
        <span className="note">
          {items.length} words
          {status === "success" && ", complete"}
          {isStopped && (error?.code === "CANCELLED" ? ", stopped" : `, ended: ${error?.code}`)}
        </span>
        {status === "pending" && (
          <button type="button" onClick={() => void cancel().catch(() => undefined)}>
            Stop
          </button>
        )}
        {isStopped && (
          <button type="button" onClick={() => onContinue(entry.words + items.length)}>
            Continue
          </button>
        )}
      </footer>
    </li>
  );
}
