/** Entries of the log by day, each as one sentence with its difference, and a button that reverts it. */
import { Link } from "@tanstack/react-router";
import { RotateCcw, UserRoundSearch } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Entry } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { IconButton } from "../ui/button.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { clockOf, dayOf } from "../ui/time.tsx";
import { TimelineEntry } from "../ui/timeline-entry.tsx";
import { ActorMark, actorName } from "./actor.tsx";
import { DifferenceLine, Differences } from "./differences.tsx";
import { entryText } from "./entry-text.ts";
import { RevertDialog } from "./revert-dialog.tsx";

/** More of them unfold. */
const SHOWN_DIFFERENCES = 3;

interface TimelineProps {
  readonly entries: readonly Entry[];
  readonly showsFlag: boolean;
  /** Shows revision, address and hash of each entry. */
  readonly showsHashes?: boolean;
}

export function Timeline({ entries, showsFlag, showsHashes = false }: TimelineProps): ReactNode {
  const [reverted, setReverted] = useState<Entry>();
  const days = new Map<string, Entry[]>();
  for (const entry of entries) {
    const day = dayOf(entry.at);
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day}>
          <h2 className="day muted caption">{day}</h2>
          <ol>
            {ofDay.map((entry) => (
              <EntryView
                key={entry.id}
                entry={entry}
                showsFlag={showsFlag}
                showsHashes={showsHashes}
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
  readonly showsHashes: boolean;
  readonly onRevert: () => void;
}

function EntryView({ entry, showsFlag, showsHashes, onRevert }: EntryViewProps): ReactNode {
  const may = useMay();
  const { did, what, differences, rule } = entryText(entry);
  const [only] = differences;
  const isUpdate = entry.action.endsWith("updated");
  const isOne = differences.length === 1;
  // "turned on" says it already.
  const isSaid = isOne && only?.path === "enabled" && entry.action === "flag.updated";
  const inline = isUpdate && isOne && !isSaid ? only : undefined;
  const below = isUpdate && !isOne ? differences : [];
  return (
    <TimelineEntry
      mark={<ActorMark entry={entry} />}
      sentence={
        <>
          <strong>{actorName(entry)}</strong> {did}{" "}
          {entry.flagKey === "" || !showsFlag ? (
            <span>{what}</span>
          ) : (
            <Link to="/flag/$key" params={{ key: entry.flagKey }}>
              {what}
            </Link>
          )}{" "}
          {inline && <DifferenceLine {...inline} bare={entry.action === "flag.updated"} />}
        </>
      }
      time={<time dateTime={entry.at}>{clockOf(entry.at)}</time>}
      action={
        may("update") && (
          <IconButton label={texts.history.revertOf(did, what)} onClick={onRevert}>
            <RotateCcw aria-hidden size={15} />
          </IconButton>
        )
      }
    >
      {entry.impersonatedBy !== undefined && (
        <span className="tag tag-warn">
          <UserRoundSearch aria-hidden size={13} /> {texts.history.impersonated}{" "}
          {entry.names[entry.impersonatedBy] ?? entry.impersonatedBy}
        </span>
      )}
      {rule !== undefined && <p className="soft wrap-anywhere">{rule}</p>}
      {below.length > SHOWN_DIFFERENCES ? (
        <details>
          <summary>{texts.history.differences(below.length)}</summary>
          <Differences list={below} />
        </details>
      ) : (
        below.length > 0 && <Differences list={below} />
      )}
      {showsHashes && <Hashes entry={entry} />}
    </TimelineEntry>
  );
}

function Hashes({ entry: { revision, ip, hash, before, after } }: { entry: Entry }): ReactNode {
  return (
    <Stack gap={4} className="muted caption">
      <Row wrap gap={12}>
        <span>{texts.history.revision(revision)}</span>
        {ip !== undefined && <span>{ip}</span>}
        <code title={hash}>{hash.slice(0, 16)}</code>
      </Row>
      <details>
        <summary>{texts.history.json}</summary>
        <pre className="json">{JSON.stringify({ before, after }, null, 2)}</pre>
      </details>
    </Stack>
  );
}
