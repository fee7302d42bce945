/** Entries of the log by day, with their differences and Revert. */

import { Link } from "@tanstack/react-router";
import { RotateCcw, UserRoundSearch } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Entry } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { clockOf, dayOf } from "../ui/time.tsx";
import { ActorMark, ActorName } from "./actor.tsx";
import { Differences } from "./differences.tsx";
import { entryText } from "./entry-text.ts";
import { RevertDialog } from "./revert-dialog.tsx";

/** More of them unfold. */
const SHOWN_DIFFERENCES = 3;

export function Timeline({
  entries,
  showsFlag,
}: {
  entries: readonly Entry[];
  showsFlag: boolean;
}): ReactNode {
  const [reverted, setReverted] = useState<Entry>();
  const days = new Map<string, Entry[]>();
  for (const entry of entries) {
    const day = dayOf(entry.at);
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day} className="day">
          <h2 className="day-name">{day}</h2>
          <ol className="timeline">
            {ofDay.map((entry) => (
              <EntryView
                key={entry.id}
                entry={entry}
                showsFlag={showsFlag}
                onRevert={() => setReverted(entry)}
              />
            ))}
          </ol>
        </section>
      ))}
      <RevertDialog entry={reverted} onClose={() => setReverted(undefined)} />
    </>
  );
}

interface EntryViewProps {
  readonly entry: Entry;
  readonly showsFlag: boolean;
  readonly onRevert: () => void;
}

function EntryView({ entry, showsFlag, onRevert }: EntryViewProps): ReactNode {
  const may = useMay();
  const { did, what, differences } = entryText(entry);
  const isShort = entry.action.endsWith("updated") && differences.length <= SHOWN_DIFFERENCES;
  return (
    <li className="entry">
      <ActorMark entry={entry} />
      <div className="entry-body">
        <p className="entry-line">
          <strong>
            <ActorName entry={entry} />
          </strong>{" "}
          {did}{" "}
          {entry.flagKey === "" || !showsFlag ? (
            <span>{what}</span>
          ) : (
            <Link to="/flag/$key" params={{ key: entry.flagKey }}>
              {what}
            </Link>
          )}
        </p>
        <p className="entry-origin muted">
          <time dateTime={entry.at}>{clockOf(entry.at)}</time>
          {entry.ip !== undefined && ` · ${entry.ip}`} · {texts.history.revision(entry.revision)}
        </p>
        {entry.impersonatedBy !== undefined && (
          <p className="badge badge-warning">
            <UserRoundSearch aria-hidden size={13} /> {texts.history.impersonated}{" "}
            {entry.names[entry.impersonatedBy] ?? entry.impersonatedBy}
          </p>
        )}
        {isShort ? (
          <Differences list={differences} />
        ) : (
          <details className="entry-details">
            <summary>{texts.history.differences(differences.length)}</summary>
            <Differences list={differences} />
          </details>
        )}
      </div>
      {may("update") && (
        <button
          type="button"
          className="button button-quiet"
          onClick={onRevert}
          aria-label={texts.history.revertOf(did, what)}
        >
          <RotateCcw aria-hidden size={15} /> {texts.history.revert}
        </button>
      )}
    </li>
  );
}
