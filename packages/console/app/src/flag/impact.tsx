/** Whom a change moves, for dialogs: as sentences and examples, or why that is not known. */
import { CircleHelp } from "lucide-react";
import type { ReactNode } from "react";
import type { FeatureFlagPlan, FlagImpact } from "../api/types.ts";
import { texts } from "../texts.ts";
import { PersonChip } from "../ui/avatar.tsx";
import { Arrow } from "../ui/diff.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { messageOf } from "../ui/states.tsx";
import { Value } from "../ui/value.tsx";
import { titleOf } from "./environments.ts";
import type { Count } from "./use-count.ts";

const SHOWN_MOVES = 5;
const SHOWN_EXAMPLES = 5;
const SHOWN_FLAGS = 8;

interface ImpactProps {
  readonly count: Count;
  /** What can be done where people cannot be counted. */
  readonly otherwise?: string;
}

export function Impact({ count: { plan, error }, otherwise }: ImpactProps): ReactNode {
  if (error !== null) {
    return (
      <p className="notice notice-warning" role="status">
        <CircleHelp aria-hidden size={16} /> {texts.draft.failed(messageOf(error))} {otherwise}
      </p>
    );
  }
  if (plan === undefined) {
    return (
      <div role="status">
        <div className="skeleton" aria-hidden="true" />
        <p className="visually-hidden">{texts.draft.counting}</p>
      </div>
    );
  }
  const moving = plan.changes.filter(({ moved, removed }) => moved > 0 || removed);
  return (
    <div role="status">
      <Stack gap={12}>
        {plan.id !== undefined && <p className="notice">{texts.draft.recounted}</p>}
        {plan.changes.some(({ ignored }) => ignored) && (
          <p className="notice notice-warning">{texts.impact.ignored}</p>
        )}
        {moving.length === 0 && <p className="soft">{texts.impact.noChange(plan.users.total)}</p>}
        {moving.slice(0, SHOWN_FLAGS).map((impact) => (
          <Stack gap={4} key={`${impact.flagId} ${impact.environment}`}>
            {plan.changes.length > 1 && (
              <p className="name">
                {impact.flagKey}{" "}
                {impact.environment && <span className="muted">{titleOf(impact.environment)}</span>}
              </p>
            )}
            <Moves impact={impact} />
          </Stack>
        ))}
        {moving.length > SHOWN_FLAGS && <p className="muted">{texts.impact.otherFlags(moving.length)}</p>}
        <Doubts plan={plan} impacts={plan.changes} />
        <Examples impacts={moving} />
      </Stack>
    </div>
  );
}

function Moves({ impact: { moves, removed } }: { readonly impact: FlagImpact }): ReactNode {
  return (
    <>
      {removed && <p className="notice notice-warning">{texts.impact.removed}</p>}
      {moves.slice(0, SHOWN_MOVES).map(({ from, to, count }) => (
        <Row key={JSON.stringify([from, to])} wrap gap={4}>
          <strong>{texts.impact.people(count)}</strong> {texts.impact.goFrom(count)} <Value value={from} />{" "}
          <Arrow /> <Value value={to} />
        </Row>
      ))}
      {moves.length > SHOWN_MOVES && <p className="muted">{texts.impact.more(moves.length - SHOWN_MOVES)}</p>}
    </>
  );
}

interface DoubtsProps {
  readonly plan: FeatureFlagPlan;
  readonly impacts: readonly FlagImpact[];
}

/** What the count does not know. */
function Doubts({ plan: { users, onlineSource }, impacts }: DoubtsProps): ReactNode {
  const most = (field: "unknown" | "online"): number =>
    Math.max(0, ...impacts.map((impact) => impact[field]));
  const unknown = most("unknown");
  return (
    <>
      {onlineSource === "live" && impacts.some(({ moved }) => moved > 0) && (
        <p className="caption muted">{texts.impact.online(most("online"))}</p>
      )}
      {unknown > 0 && <p className="caption muted">{texts.impact.unknown(unknown)}</p>}
      {users.sampled && <p className="caption muted">{texts.impact.sampled(users.evaluated, users.total)}</p>}
    </>
  );
}

function Examples({ impacts }: { readonly impacts: readonly FlagImpact[] }): ReactNode {
  const named = new Map(
    impacts.flatMap(({ examples }) => examples).flatMap((one) => (one.name ? [[one.userId, one]] : [])),
  );
  if (named.size === 0) return null;
  return (
    <details>
      <summary>{texts.impact.examples}</summary>
      <Stack>
        {[...named.values()].slice(0, SHOWN_EXAMPLES).map(({ userId, name = "", email }) => (
          <PersonChip key={userId} name={name} note={email} />
        ))}
      </Stack>
    </details>
  );
}
