/** Changes of a flag's rules: switched and moved at once, taken back when the server refuses. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ADMIN, rulesQuery } from "../api/queries.ts";
import { isStatus, request } from "../api/request.ts";
import type { Flag, JsonValue, Rule, RuleConditions } from "../api/types.ts";
import { texts } from "../texts.ts";
import { messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";

export interface RuleFields {
  readonly priority?: number;
  readonly name?: string | null;
  readonly conditions?: RuleConditions;
  readonly value?: JsonValue;
  readonly variant?: string | null;
  readonly percentage?: number | null;
  readonly enabled?: boolean;
}

export function useRuleChanges(flag: Flag) {
  const client = useQueryClient();
  const { queryKey } = rulesQuery(flag.key);
  const path = `${ADMIN}/flags/${flag.id}/rules` as const;
  const show = (change: (rules: Rule[]) => Rule[]): (() => void) => {
    const before = client.getQueryData(queryKey);
    client.setQueryData(queryKey, (rules: Rule[] | undefined) => rules && change(rules));
    return () => client.setQueryData(queryKey, before);
  };
  const tell = (error: Error): void =>
    showToast({ tone: "problem", text: isStatus(error, 409) ? texts.rules.conflict : messageOf(error) });
  const settle = (): Promise<unknown> =>
    Promise.all(
      ["rules", "flag", "entries", "explain", "person"].map((name) =>
        client.invalidateQueries({ queryKey: [name] }),
      ),
    );

  const update = useMutation({
    mutationFn: ({ rule, fields }: { rule: Rule; fields: RuleFields }) =>
      request("PATCH", `${path}/${rule.id}`, { body: fields, version: rule.version }),
    onMutate: ({ rule, fields }) =>
      show((rules) => rules.map((one) => (one.id === rule.id ? ({ ...one, ...fields } as Rule) : one))),
    onError: (error, _, takeBack) => {
      takeBack?.();
      tell(error);
    },
    onSettled: settle,
  });

  const remove = useMutation({
    mutationFn: (rule: Rule) => request("DELETE", `${path}/${rule.id}`, { version: rule.version }),
    onMutate: (rule) => show((rules) => rules.filter(({ id }) => id !== rule.id)),
    onSuccess: (_, rule) =>
      showToast({ tone: "done", text: texts.rules.deleted(rule.name ?? texts.rules.rule) }),
    onError: (error, _, takeBack) => {
      takeBack?.();
      tell(error);
    },
    onSettled: settle,
  });

  const reorder = useMutation({
    mutationFn: async ({ after }: { after: readonly Rule[] }) => {
      for (const [place, rule] of after.entries()) {
        if (rule.priority === place + 1) continue;
        await request("PATCH", `${path}/${rule.id}`, {
          body: { priority: place + 1 },
          version: rule.version,
        });
      }
    },
    onMutate: ({ after }) => show(() => [...after]),
    onError: (error, _, takeBack) => {
      takeBack?.();
      tell(error);
    },
    onSettled: settle,
  });

  const move = (rules: readonly Rule[], from: number, to: number): void => {
    const after = [...rules];
    const [moved] = after.splice(from, 1);
    if (moved === undefined || to < 0 || to >= rules.length) return;
    after.splice(to, 0, moved);
    reorder.mutate({ after });
  };

  return { update, remove, move };
}
