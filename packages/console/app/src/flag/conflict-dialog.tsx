/** Another person changed the flag since it was read: shows both changes, and lets this person decide. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { flagQuery } from "../api/queries.ts";
import { differencesOf } from "../history/difference.ts";
import { Differences } from "../history/differences.tsx";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Failure, Loading } from "../ui/states.tsx";
import { patched } from "./patch.ts";
import type { FlagChange } from "./use-update-flag.ts";

interface ConflictDialogProps {
  readonly change: FlagChange | undefined;
  readonly onClose: () => void;
  /** This person gives up the change. Default: only closes. */
  readonly onKeep?: () => void;
  readonly onRetry: (change: FlagChange) => void;
}

export function ConflictDialog(props: ConflictDialogProps): ReactNode {
  const { change, onClose } = props;
  return (
    <Dialog
      open={change !== undefined}
      onClose={onClose}
      title={texts.conflict.title}
      description={texts.conflict.what}
      size="wide"
    >
      {change && <Choice {...props} change={change} />}
    </Dialog>
  );
}

function Choice(props: ConflictDialogProps & { change: FlagChange }): ReactNode {
  const { change, onClose, onKeep, onRetry } = props;
  const read = useQuery({ ...flagQuery(change.flag.key), staleTime: 0 });
  const { data: current, error, refetch, isFetchedAfterMount } = read;
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (current === undefined || !isFetchedAfterMount) return <Loading rows={3} />;
  const theirs = differencesOf(change.flag, current);
  const mine = differencesOf(current, patched(current, change.fields));
  return (
    <>
      <h3>{texts.conflict.theirs}</h3>
      <Differences list={theirs} />
      <h3>{texts.conflict.yours}</h3>
      <Differences list={mine} />
      <footer className="dialog-footer">
        <button
          type="button"
          className="button"
          onClick={() => {
            onKeep?.();
            onClose();
          }}
        >
          {texts.conflict.keepTheirs}
        </button>
        <button
          type="button"
          className="button button-primary"
          disabled={mine.length === 0}
          onClick={() => {
            onRetry({ flag: current, fields: change.fields, done: change.done });
            onClose();
          }}
        >
          {texts.conflict.applyMine}
        </button>
      </footer>
    </>
  );
}
