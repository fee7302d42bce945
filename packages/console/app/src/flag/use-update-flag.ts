/** Changes a flag: shown at once, taken back when the server refuses, with Undo. */
import { type QueryClient, type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { ADMIN } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { FeatureFlagPatch, Flag, Warned } from "../api/types.ts";
import { texts } from "../texts.ts";
import { messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { type FlagPages, inversePatch, patched } from "./patch.ts";

export interface FlagChange {
  readonly flag: Flag;
  readonly fields: FeatureFlagPatch;
  /** Applies a plan instead, so that the server refuses it when anything has changed since. */
  readonly planId?: string | undefined;
  /** What is told when it is done. */
  readonly done: string;
  /** The inverse of an earlier change, which offers no further Undo. */
  readonly isUndo?: boolean;
}

/** The flag as it was shown before. */
type Before = Flag | undefined;

type UpdateFlag = UseMutationResult<Warned<Flag>, Error, FlagChange, Before>;

export function useUpdateFlag(onConflict?: (change: FlagChange) => void): UpdateFlag {
  const client = useQueryClient();
  const update: UpdateFlag = useMutation({
    mutationFn: send,
    onMutate: async ({ flag, fields }: FlagChange) => {
      await Promise.all(["flags", "flag"].map((name) => client.cancelQueries({ queryKey: [name] })));
      let before: Before;
      replaceFlag(client, flag.id, (current) => {
        before ??= current;
        return patched(current, fields);
      });
      return before;
    },
    onError: (error, change, before) => {
      // Only this flag: others may have been changed since.
      if (before !== undefined) replaceFlag(client, before.id, (current) => withFieldsOf(current, before));
      const isConflict = isStatus(error, 409);
      // The part of the screen that could show the conflict of an Undo may be gone.
      if (isConflict && onConflict !== undefined && change.isUndo !== true) onConflict(change);
      else showToast({ tone: "problem", text: isConflict ? texts.conflict.undo : messageOf(error) });
    },
    onSuccess: (saved, change) => {
      replaceFlag(client, saved.id, (current) => ({ ...current, ...saved }));
      for (const { message } of saved.warnings ?? []) showToast({ tone: "problem", text: message });
      showToast({
        tone: "done",
        text: change.done,
        ...(change.isUndo !== true && {
          action: {
            label: texts.common.undo,
            run: () =>
              update.mutate({
                flag: saved,
                fields: inversePatch(change.flag, change.fields),
                done: texts.flag.undone(saved.name),
                isUndo: true,
              }),
          },
        }),
      });
    },
    onSettled: () =>
      Promise.all(
        ["flags", "flag", "entries", "explain", "person"].map((name) =>
          client.invalidateQueries({ queryKey: [name] }),
        ),
      ),
  });
  return update;
}

async function send({ flag, fields, planId }: FlagChange): Promise<Warned<Flag>> {
  if (planId === undefined) {
    return request("PATCH", `${ADMIN}/flags/${flag.id}`, {
      body: fields,
      version: flag.version,
    });
  }
  const { flags } = await request("POST", `${ADMIN}/plans/${planId}/apply`, { body: {} });
  const [saved] = flags;
  return saved ?? flag;
}

/** A list has statistics beside the flag, which its own screen has not. */
function withFieldsOf({ stats }: Flag, { stats: _, ...fields }: Flag): Flag {
  return { ...fields, ...(stats !== undefined && { stats }) };
}

/** Replaces the flag wherever it is shown: in the lists and on its own screen. */
function replaceFlag(client: QueryClient, id: string, replace: (flag: Flag) => Flag): void {
  client.setQueriesData<FlagPages>({ queryKey: ["flags"] }, (lists) =>
    lists === undefined
      ? lists
      : {
          ...lists,
          pages: lists.pages.map((page) => ({
            ...page,
            flags: page.flags.map((flag) => (flag.id === id ? replace(flag) : flag)),
          })),
        },
  );
  client.setQueriesData<Flag>({ queryKey: ["flag"] }, (flag) => (flag?.id === id ? replace(flag) : flag));
}
