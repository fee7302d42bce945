/** Whom a change moves, or why that is not known: what the bar, the aside and every dialog say of a count. */
import { type ReactNode, useState } from "react";
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
const SHOWN_FLAGS = 8;
const SHOWN_PEOPLE = 3;

interface CountedProps {
  readonly count: Count;
  /** What can be done where people cannot be counted. */
  readonly otherwise?: string | undefined;
  readonly children: (plan: FeatureFlagPlan) => ReactNode;
}

export function Counted({ count: { plan, error, retry }, otherwise, children }: CountedProps): ReactNode {
  if (error === null) return plan === undefined ? texts.draft.counting : children(plan);
  return (
    <span className="warn">
      {texts.draft.failed(messageOf(error))} {otherwise}{" "}
      <button type="button" className="link-button" onClick={retry}>
        {texts.common.retry}
      </button>
    </span>
  );
}

/** In a dialog: for all flags that the change reaches. */
export function Impact(props: Omit<CountedProps, "children">): ReactNode {
  return (
    <div role="status">
      <Stack gap={12}>
        <Counted {...props}>{(plan) => <Flags plan={plan} />}</Counted>
      </Stack>
    </div>
  );
}

function Flags({ plan }: { readonly plan: FeatureFlagPlan }): ReactNode {
  const moving = plan.changes.filter(({ moved, removed }) => moved > 0 || removed);
  return (
    <>
      {plan.id !== undefined && <p className="notice">{texts.draft.recounted}</p>}
      {plan.changes.some(({ ignored }) => ignored) && <Ignored />}
      {moving.length === 0 && <p className="soft">{texts.impact.noChange(plan.users.total)}</p>}
      {moving.slice(0, SHOWN_FLAGS).map(({ flagId, flagKey, environment, removed, moves }) => (
        <Stack gap={4} key={`${flagId} ${environment}`}>
          {plan.changes.length > 1 && (
            <p className="name">
              {flagKey} {environment && <span className="muted">{titleOf(environment)}</span>}
            </p>
          )}
          {removed && <p className="notice notice-warning">{texts.impact.removed}</p>}
          {moves.slice(0, SHOWN_MOVES).map((move) => (
            <Row key={JSON.stringify([move.from, move.to])} wrap gap={4}>
              <Move {...move} />
            </Row>
          ))}
          {moves.length > SHOWN_MOVES && (
            <p className="muted">{texts.impact.more(moves.length - SHOWN_MOVES)}</p>
          )}
        </Stack>
      ))}
      {moving.length > SHOWN_FLAGS && <p className="muted">{texts.impact.otherFlags(moving.length)}</p>}
      <Doubts plan={plan} impacts={plan.changes} />
      <People impacts={moving} areMailed />
    </>
  );
}

/** "39 people go from false to true". */
export function Move({
  from,
  to,
  count,
  length,
}: FlagImpact["moves"][number] & { readonly length?: number }): ReactNode {
  const shown = length === undefined ? {} : { length };
  return (
    <>
      <strong>{texts.impact.people(count)}</strong> {texts.impact.goFrom(count)}{" "}
      <Value value={from} {...shown} /> <Arrow /> <Value value={to} {...shown} />
    </>
  );
}

export function Ignored(): ReactNode {
  return <p className="notice notice-warning">{texts.impact.ignored}</p>;
}

interface DoubtsProps {
  readonly plan: FeatureFlagPlan;
  readonly impacts: readonly FlagImpact[];
  /** What to say first; then follow the reasons why the count may be wrong. */
  readonly children?: ReactNode;
}

/** Who is online, and what the count does not know. */
export function Doubts({ plan: { users, onlineSource }, impacts, children }: DoubtsProps): ReactNode {
  const most = (field: "unknown" | "online" | "moved"): number =>
    Math.max(0, ...impacts.map((impact) => impact[field]));
  return (
    <>
      <dl className="stack gap-4">
        {children}
        {onlineSource === "live" && most("moved") > 0 && (
          <Line name={texts.draft.online} value={texts.number(most("online"))} />
        )}
        {most("unknown") > 0 && (
          <Line name={texts.draft.unknown} value={texts.draft.unknownFor(most("unknown"))} />
        )}
      </dl>
      {users.sampled && <p className="caption muted">{texts.impact.sampled(users.evaluated, users.total)}</p>}
    </>
  );
}

export function Line({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  return (
    <Row between className="caption">
      <dt className="muted cut">{name}</dt>
      <dd className="number">{value}</dd>
    </Row>
  );
}

interface PeopleProps {
  readonly impacts: readonly FlagImpact[];
  readonly areMailed?: boolean;
}

/** Some of those who move, where the caller may know their names. */
export function People({ impacts, areMailed = false }: PeopleProps): ReactNode {
  const [areAllShown, setAllShown] = useState(false);
  const examples = impacts.flatMap((impact) => impact.examples.map((one) => [one.userId, one] as const));
  const named = [...new Map(examples).values()].filter(({ name }) => name);
  const moved = Math.max(0, ...impacts.map((impact) => impact.moved));
  const shown = areAllShown ? named : named.slice(0, SHOWN_PEOPLE);
  return (
    <Stack gap={8}>
      {shown.map(({ userId, name = "", email }) => (
        <PersonChip key={userId} name={name} {...(areMailed && { note: email })} />
      ))}
      {shown.length < named.length && (
        <button type="button" className="link-button" onClick={() => setAllShown(true)}>
          {named.length < moved ? texts.draft.first(named.length) : texts.draft.all(named.length)}
        </button>
      )}
    </Stack>
  );
}
