/** The draft of a flag, for all of its tabs. It lives as long as the page, beside the answers of the server. */
import { queryOptions, skipToken, useIsMutating, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer } from "react";
import type { JsonValue } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import type { Cell, Stored } from "./draft/cells.ts";
import { Draft } from "./draft/draft.ts";
import { type Done, doneQuery, savingKey } from "./use-save.ts";

const DRAFTS = "draft";

const draftQuery = (flagId: string) =>
  queryOptions<Draft | null>({
    queryKey: [DRAFTS, flagId],
    queryFn: skipToken,
    initialData: null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });

/** For a list, which marks the flags with a draft. */
export function useHasDraft(flagId: string): boolean {
  const { data: draft } = useQuery(draftQuery(flagId));
  return draft?.isEmpty === false;
}

/** The draft on a screen. */
export interface FlagDraft {
  readonly draft: Draft;
  /** As it would be. */
  readonly next: Stored;
  /** All that the console knows of. */
  readonly environments: readonly string[];
  /** Those in which the draft can move people. */
  readonly touched: readonly string[];
  /** The one that is shown. Undefined: all. */
  readonly environment: string | undefined;
  readonly isReadOnly: boolean;
  readonly change: (run: (draft: Draft) => Draft) => void;
  readonly set: (cell: Cell, value: JsonValue | undefined) => void;
  /** Replaces the draft by an empty one. What `done` says stays until the next edit. */
  readonly discard: (done?: Done) => void;
}

export function useFlagDraft(
  stored: Stored,
  environment: string | undefined,
  environments: readonly string[],
): FlagDraft {
  const client = useQueryClient();
  const may = useMay();
  const { id } = stored.flag;
  const { queryKey } = draftQuery(id);
  const { data: kept } = useQuery(draftQuery(id));
  const isSaving = useIsMutating({ mutationKey: savingKey(id) }) > 0;
  const [, render] = useReducer((count: number) => count + 1, 0);
  const onto = (draft: Draft | null | undefined): Draft => draft?.onto(stored) ?? new Draft(stored);
  const draft = onto(kept);
  const isOver = kept?.isEmpty === false && draft.isEmpty;
  useEffect(() => {
    // Another person has saved the same.
    if (isOver) client.setQueryData(queryKey, null);
  }, [isOver, client, queryKey]);
  const change = (run: (draft: Draft) => Draft): void => {
    client.setQueryData(queryKey, (now) => run(onto(now)));
    client.setQueryData(doneQuery(id).queryKey, null);
    // The cache tells its readers later. By then React has put the old text back into the field that is typed into.
    render();
  };
  return {
    draft,
    next: draft.next,
    touched: draft.touches(environments),
    environment,
    environments,
    isReadOnly: !may("update") || isSaving,
    change,
    set: (cell, value) => change((now) => now.set(cell, value)),
    discard: (done) => {
      client.setQueryData(queryKey, null);
      client.setQueryData(doneQuery(id).queryKey, done ?? null);
    },
  };
}

/** The browser asks before it closes the window with a draft in it. */
export function useDraftGuard(): void {
  const client = useQueryClient();
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      const drafts = client.getQueriesData<Draft>({ queryKey: [DRAFTS] });
      if (drafts.some(([, draft]) => draft?.isEmpty === false)) event.preventDefault();
    };
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [client]);
}
