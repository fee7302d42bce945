/** Beside the draft: whom it moves, by rule, with examples. Without a draft: who gets what now. */
import { type ReactNode, useState } from "react";
import type { FeatureFlagPlan, FlagImpact, Rule } from "../api/types.ts";
import { texts } from "../texts.ts";
import { PersonChip } from "../ui/avatar.tsx";
import { Arrow } from "../ui/diff.tsx";
import { classes, Row, Stack } from "../ui/layout.tsx";
import { messageOf } from "../ui/states.tsx";
import { Value } from "../ui/value.tsx";
import { titleOf } from "./environments.ts";
import { problemText } from "./problem-text.ts";
import type { Count } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";
import { impactIn } from "./use-draft-count.ts";

interface ImpactAsideProps {
  readonly draft: FlagDraft;
  /** Of the draft; without changes, of the flag as it is. */
  readonly count: Count;
  /** While the flag is off: what turning it on does, with the draft. */
  readonly whenOn: Count | undefined;
}

export function ImpactAside({ draft, count, whenOn }: ImpactAsideProps): ReactNode {
  const [problem] = draft.problems;
  const hasChanges = draft.changes.length > 0;
  return (
    <Stack gap={24}>
      {hasChanges && (
        <Section title={texts.draft.ifYouSave} count={count}>
          {problem !== undefined ? (
            <p className="soft">
              {texts.draft.notCounted} {texts.draft.completeFirst(problemText(problem, draft.next).subject)}
            </p>
          ) : (
            count.plan && <Figures plan={count.plan} draft={draft} />
          )}
        </Section>
      )}
      {whenOn !== undefined && problem === undefined ? (
        <Section title={texts.draft.ifYouTurnOn} count={whenOn}>
          {whenOn.plan && <Figures plan={whenOn.plan} draft={draft} />}
        </Section>
      ) : (
        !hasChanges && (
          <Section title={texts.draft.getsNow} count={count}>
            {count.plan && <Now plan={count.plan} draft={draft} />}
          </Section>
        )
      )}
    </Stack>
  );
}

interface SectionProps {
  readonly title: string;
  readonly count: Count;
  readonly children: ReactNode;
}

/** Keeps the old figures, in grey, until the new ones are there. */
function Section({ title, count: { isCounting, error, retry }, children }: SectionProps): ReactNode {
  return (
    <section
      className={classes("counted", isCounting && "counting")}
      aria-live="polite"
      aria-busy={isCounting}
    >
      <Stack gap={12}>
        <h2>{title}</h2>
        {error !== null ? (
          <p className="soft">
            {texts.draft.failed(messageOf(error))}{" "}
            <button type="button" className="link-button" onClick={retry}>
              {texts.common.retry}
            </button>
          </p>
        ) : (
          children
        )}
      </Stack>
    </section>
  );
}

interface FiguresProps {
  readonly plan: FeatureFlagPlan;
  readonly draft: FlagDraft;
}

function Figures({ plan, draft }: FiguresProps): ReactNode {
  const impact = impactIn(plan, draft.stored.flag.id, draft.environment);
  if (impact === undefined) return null;
  const others = plan.changes.filter((one) => one !== impact && one.flagId === impact.flagId);
  return (
    <>
      <p>
        <span className="figure">{texts.number(impact.moved)}</span>{" "}
        <span className="soft">{texts.draft.ofPeople(plan.users.total)}</span>
      </p>
      {impact.ignored && <p className="notice notice-warning">{texts.impact.ignored}</p>}
      <Stack gap={8}>
        {impact.moves.slice(0, 3).map(({ from, to, count }) => (
          <Row between key={JSON.stringify([from, to])}>
            <Row gap={4}>
              <Value value={from} length={14} /> <Arrow /> <Value value={to} length={14} />
            </Row>
            <span className="caption muted number">{texts.number(count)}</span>
          </Row>
        ))}
      </Stack>
      <ValueBar impact={impact} />
      <dl className="stack gap-4">
        {impact.rules
          .filter(({ moved }) => moved > 0)
          .map((one) => (
            <Line key={one.index} name={nameOfRule(one, draft)} value={texts.number(one.moved)} />
          ))}
        {others.map(({ environment = "", moved }) => (
          <Line key={environment} name={texts.draft.in(titleOf(environment))} value={texts.number(moved)} />
        ))}
        {plan.onlineSource === "live" && impact.moved > 0 && (
          <Line name={texts.draft.online} value={texts.number(impact.online)} />
        )}
        {impact.unknown > 0 && (
          <Line name={texts.draft.unknown} value={texts.draft.unknownFor(impact.unknown)} />
        )}
      </dl>
      {plan.users.sampled && (
        <p className="caption muted">{texts.impact.sampled(plan.users.evaluated, plan.users.total)}</p>
      )}
      <Movers impact={impact} />
    </>
  );
}

function Now({ plan, draft }: FiguresProps): ReactNode {
  const impact = impactIn(plan, draft.stored.flag.id, draft.environment);
  if (impact === undefined) return null;
  return (
    <>
      {valuesIn(impact).map(({ value, after }, place) => (
        <p key={JSON.stringify(value)}>
          <span className={place === 0 ? "figure" : "name"}>{texts.number(after)}</span>{" "}
          <span className="soft">
            {texts.draft.ofThem(plan.users.total)} <Value value={value} length={16} />
          </span>
        </p>
      ))}
      <ValueBar impact={impact} />
      <p className="caption muted">{texts.draft.decidedBy}</p>
      <dl className="stack gap-4">
        {impact.rules.map((one) => (
          <Line key={one.index} name={nameOfRule(one, draft)} value={texts.number(one.after)} />
        ))}
        {impact.unknown > 0 && (
          <Line name={texts.draft.unknown} value={texts.draft.unknownFor(impact.unknown)} />
        )}
      </dl>
    </>
  );
}

const SHOWN_VALUES = 3;

const isOnOff = ({ values }: FlagImpact): boolean => values.every(({ value }) => typeof value === "boolean");

/** Of an on-off flag, only those who get it. */
function valuesIn(impact: FlagImpact): FlagImpact["values"] {
  const { values } = impact;
  if (!isOnOff(impact)) return values.slice(0, SHOWN_VALUES);
  return [values.find(({ value }) => value === true) ?? { value: true, ...NOBODY }];
}

/**
 * The share of people with the value that most people move to, or have. Of an on-off flag: who gets it.
 * The difference is hatched.
 */
function ValueBar({ impact }: { readonly impact: FlagImpact }): ReactNode {
  const { values, moves, unknown } = impact;
  const to = moves[0] === undefined ? undefined : JSON.stringify(moves[0].to);
  const [first] = valuesIn(impact);
  const target = isOnOff(impact) ? first : values.find(({ value }) => JSON.stringify(value) === to);
  const { before, after } = target ?? first ?? NOBODY;
  const all = values.reduce((sum, one) => sum + one.after, unknown);
  const [kept, differs] = [Math.min(before, after), Math.abs(after - before)];
  if (all === 0) return null;
  return (
    <Stack gap={4}>
      <div className="share share-large" aria-hidden="true">
        <span className="colour-0" style={{ flexGrow: kept }} />
        {differs > 0 && <span className="colour-0 colour-new" style={{ flexGrow: differs }} />}
        <span className="rest" style={{ flexGrow: all - kept - differs }} />
      </div>
      {differs > 0 && (
        <Row between className="caption muted">
          <span>{texts.draft.now(before)}</span>
          <span>{texts.draft.after(after)}</span>
        </Row>
      )}
    </Stack>
  );
}

const NOBODY = { before: 0, after: 0 };

function Line({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  return (
    <Row between className="caption">
      <dt className="muted cut">{name}</dt>
      <dd className="number">{value}</dd>
    </Row>
  );
}

const SHOWN_PEOPLE = 3;

function Movers({ impact: { examples, moved } }: { readonly impact: FlagImpact }): ReactNode {
  const [areAllShown, setAllShown] = useState(false);
  const named = examples.filter(({ name }) => name);
  const shown = areAllShown ? named : named.slice(0, SHOWN_PEOPLE);
  return (
    <Stack gap={8}>
      {shown.map(({ userId, name = "" }) => (
        <PersonChip key={userId} name={name} />
      ))}
      {shown.length < named.length && (
        <button type="button" className="link-button" onClick={() => setAllShown(true)}>
          {named.length < moved ? texts.draft.first(named.length) : texts.draft.all(moved)}
        </button>
      )}
    </Stack>
  );
}

function nameOfRule({ ruleId, index }: FlagImpact["rules"][number], { next }: FlagDraft): string {
  const rules: readonly (Rule | undefined)[] = next.rules;
  if (ruleId === undefined && index >= rules.length) return texts.targeting.everyoneElse;
  const rule = rules.find((one) => one?.id === ruleId) ?? rules[index];
  return rule?.name ?? texts.rules.numbered(index + 1);
}
