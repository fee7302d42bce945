/** The draft of a flag, for all of its tabs. It lives as long as the page, beside the answers of the server. */
import { queryOptions, skipToken, useIsMutating, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer } from "react";
import type { JsonValue } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";
import { type Cell, keyOfCell, type Stored } from "./draft/cells.ts";
import { type Change, changesOf, environmentsOfChange } from "./draft/changes.ts";
import {
  addRule,
  applied,
  type Conflict,
  conflictsOf,
  type Draft,
  deleteRule,
  EMPTY_DRAFT,
  edit,
  isEmpty,
  keepMine,
  moveRule,
  type RuleContent,
  restoreRule,
  takeTheirs,
} from "./draft/draft.ts";
import { type Problem, problemsOf } from "./draft/problems.ts";
import { type Done, doneQuery, savingKey } from "./use-save.ts";

const DRAFTS = "draft";

const draftQuery = (flagId: string) =>
  queryOptions<Draft>({
    queryKey: [DRAFTS, flagId],
    queryFn: skipToken,
    initialData: EMPTY_DRAFT,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });

/** For a list, which marks the flags with a draft. */
export function useHasDraft(flagId: string): boolean {
  const { data: draft = EMPTY_DRAFT } = useQuery(draftQuery(flagId));
  return !isEmpty(draft);
}

export interface FlagDraft {
  readonly stored: Stored;
  readonly draft: Draft;
  /** As it would be. */
  readonly next: Stored;
  readonly changes: readonly Change[];
  readonly conflicts: readonly Conflict[];
  readonly problems: readonly Problem[];
  /** All that the console knows of. */
  readonly environments: readonly string[];
  /** Those in which the draft can move people. */
  readonly touched: readonly string[];
  /** The one that is shown. Undefined: all. */
  readonly environment: string | undefined;
  readonly isReadOnly: boolean;
  readonly set: (cell: Cell, value: JsonValue | undefined) => void;
  readonly isEdited: (cell: Cell) => boolean;
  readonly addRule: (content: RuleContent) => void;
  readonly deleteRule: (id: string) => void;
  readonly restoreRule: (id: string) => void;
  readonly moveRule: (id: string, place: number) => void;
  readonly choose: (conflict: Conflict, isMine: boolean) => void;
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
  const query = draftQuery(id);
  const { data: draft = EMPTY_DRAFT } = useQuery(query);
  const isSaving = useIsMutating({ mutationKey: savingKey(id) }) > 0;
  const [, render] = useReducer((count: number) => count + 1, 0);
  const change = (next: (draft: Draft) => Draft): void => {
    client.setQueryData(query.queryKey, (now) => next(now ?? EMPTY_DRAFT));
    client.setQueryData(doneQuery(id).queryKey, null);
    // The cache tells its readers later. By then React has put the old text back into the field that is typed into.
    render();
  };
  const next = applied(draft, stored);
  const changes = changesOf(draft, stored);
  const conflicts = conflictsOf(draft, stored);
  const touched = new Set(changes.flatMap((one) => environmentsOfChange(one, stored, environments)));
  const isNothing = changes.length === 0 && conflicts.length === 0 && !isEmpty(draft);
  useEffect(() => {
    // Another person has saved the same.
    if (isNothing) client.setQueryData(query.queryKey, EMPTY_DRAFT);
  }, [isNothing, client, query.queryKey]);
  return {
    stored,
    draft,
    next,
    changes,
    conflicts,
    problems: problemsOf(draft, next),
    touched: environments.filter((name) => touched.has(name)),
    environment,
    environments,
    isReadOnly: !may("update") || isSaving,
    set: (cell, value) => change((now) => edit(now, stored, cell, value)),
    isEdited: (cell) => draft.edits.has(keyOfCell(cell)),
    addRule: (content) => change((now) => addRule(now, stored, content)),
    deleteRule: (rule) => change((now) => deleteRule(now, stored, rule)),
    restoreRule: (rule) => change((now) => restoreRule(now, rule)),
    moveRule: (rule, place) => change((now) => moveRule(now, stored, rule, place)),
    choose: (conflict, isMine) =>
      change((now) => (isMine ? keepMine(now, stored, conflict) : takeTheirs(now, conflict))),
    discard: (done) => {
      client.setQueryData(query.queryKey, EMPTY_DRAFT);
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
      if (drafts.some(([, draft]) => draft !== undefined && !isEmpty(draft))) event.preventDefault();
    };
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [client]);
}
