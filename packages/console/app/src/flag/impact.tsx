/** What a change does to the application's own users, as sentences and examples. */
import { useQuery } from "@tanstack/react-query";
import { CircleHelp, Users } from "lucide-react";
import type { ReactNode } from "react";
import { ADMIN, REPORT_KEPT_MS } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { FeatureFlagPatch, FeatureFlagPlan, Flag, FlagImpact } from "../api/types.ts";
import { texts } from "../texts.ts";
import { messageOf } from "../ui/states.tsx";
import { Value } from "../ui/value.tsx";

const SHOWN_MOVES = 5;
const SHOWN_EXAMPLES = 5;

/** Plans the change for as long as it is shown. A plan that failed does not forbid the change. */
export function usePlan(flag: Flag, fields: FeatureFlagPatch | undefined) {
  return useQuery({
    queryKey: ["plan", flag.id, flag.version, fields],
    queryFn: ({ signal }) =>
      request("POST", `${ADMIN}/plans`, {
        body: { changes: [{ flagId: flag.id, fields }] },
        signal,
      }),
    enabled: fields !== undefined,
    staleTime: REPORT_KEPT_MS,
    gcTime: 60_000,
    retry: false,
  });
}

export function Impact({ plan, error }: { plan: FeatureFlagPlan | undefined; error: unknown }): ReactNode {
  if (error !== null && error !== undefined) {
    return (
      <p className="notice notice-warning">
        <CircleHelp aria-hidden size={18} /> {texts.impact.failed(messageOf(error))}
      </p>
    );
  }
  const [impact] = plan?.changes ?? [];
  if (plan === undefined || impact === undefined) {
    return (
      <div className="impact" role="status">
        <div className="skeleton" aria-hidden="true" />
        <p className="muted">{texts.impact.loading}</p>
      </div>
    );
  }
  return (
    <div className="impact" role="status">
      {impact.ignored && <p className="notice notice-warning">{texts.impact.ignored}</p>}
      {impact.moved === 0 ? (
        <p className="impact-none">
          <Users aria-hidden size={18} /> {texts.impact.noChange(plan.users.total)}
        </p>
      ) : (
        <Moves plan={plan} impact={impact} />
      )}
      {impact.unknown > 0 && <p className="muted">{texts.impact.unknown(impact.unknown)}</p>}
      {plan.users.sampled && (
        <p className="muted">{texts.impact.sampled(plan.users.evaluated, plan.users.total)}</p>
      )}
    </div>
  );
}

function Moves({ plan, impact }: { plan: FeatureFlagPlan; impact: FlagImpact }): ReactNode {
  const examples = impact.examples.filter(({ name, email }) => name !== undefined || email !== undefined);
  return (
    <>
      <ul className="moves">
        {impact.moves.slice(0, SHOWN_MOVES).map(({ from, to, count }) => (
          <li key={JSON.stringify([from, to])} className="move">
            <strong>{texts.impact.people(count)}</strong> {texts.impact.goFrom(count)}{" "}
            <Value value={from} length={28} /> {texts.impact.to} <Value value={to} length={28} />
          </li>
        ))}
      </ul>
      {impact.moves.length > SHOWN_MOVES && (
        <p className="muted">{texts.impact.more(impact.moves.length - SHOWN_MOVES)}</p>
      )}
      {plan.onlineSource === "live" && <p>{texts.impact.online(impact.online)}</p>}
      {examples.length > 0 && (
        <details>
          <summary>{texts.impact.examples}</summary>
          <ul className="examples">
            {examples.slice(0, SHOWN_EXAMPLES).map(({ userId, name, email }) => (
              <li key={userId}>
                {name} <span className="muted">{email}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
