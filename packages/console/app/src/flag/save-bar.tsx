/** Appears with the first unsaved change: discard, or look at whom it concerns and save. */
import { type ReactNode, useState } from "react";
import type { Flag } from "../api/types.ts";
import { differencesOf } from "../history/difference.ts";
import { Differences } from "../history/differences.tsx";
import { texts } from "../texts.ts";
import { ChangeDialog } from "./change-dialog.tsx";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { reachesProduction } from "./environments.ts";
import type { Draft } from "./use-draft.ts";
import { type FlagChange, useUpdateFlag } from "./use-update-flag.ts";

export function SaveBar({ flag, draft }: { flag: Flag; draft: Draft }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const [conflict, setConflict] = useState<FlagChange>();
  const update = useUpdateFlag(setConflict);
  const save = (change: FlagChange): void =>
    update.mutate(change, { onSuccess: () => draft.discard(change.fields) });
  const differences = differencesOf(flag, draft.next);
  const done = texts.flag.saved(flag.name);
  const review = (): void => {
    // A draft holds whole fields, such as all environments, and would undo the other person's change of them.
    if (draft.outdated === undefined || draft.fields === undefined) setAsking(true);
    else setConflict({ flag: draft.outdated, fields: draft.fields, done });
  };
  return (
    <>
      {draft.fields !== undefined && (
        <section className="save-bar" aria-label={texts.flag.unsaved}>
          <p>{texts.flag.unsavedCount(differences.length)}</p>
          <button type="button" className="button" onClick={() => draft.discard()}>
            {texts.flag.discard}
          </button>
          <button type="button" className="button button-primary" onClick={review}>
            {texts.flag.review}
          </button>
        </section>
      )}
      <ChangeDialog
        flag={flag}
        fields={isAsking ? draft.fields : undefined}
        title={texts.flag.saveTitle(flag.name)}
        confirm={texts.flag.save}
        done={done}
        isProduction={flag.enabled && reachesProduction(flag)}
        onClose={() => setAsking(false)}
        onConfirm={save}
      >
        <Differences list={differences} />
      </ChangeDialog>
      <ConflictDialog
        change={conflict}
        onClose={() => setConflict(undefined)}
        onKeep={() => draft.discard(conflict?.fields)}
        onRetry={save}
      />
    </>
  );
}
