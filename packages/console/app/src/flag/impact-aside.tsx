/** Beside the draft: whom it moves, by rule, with examples. Without a draft: who gets what now. */
import type { ReactNode } from "react";
import type { FeatureFlagPlan, FlagImpact } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Arrow } from "../ui/diff.tsx";
import { classes, Row, Stack } from "../ui/layout.tsx";
import { Value } from "../ui/value.tsx";
import { titleOf } from "./environments.ts";
import { Counted, Doubts, Ignored, Line, People } from "./impact.tsx";
import { ruleName, subjectOf } from "./names.ts";
import { type Count, type DraftCount, impactIn } from "./use-count.ts";
import type { FlagDraft } from "./use-draft.ts";

interface ImpactAsideProps {
  readonly draft: FlagDraft;
  readonly counted: DraftCount;
}

export function ImpactAside({ draft, counted: { count, whenOn } }: ImpactAsideProps): ReactNode {
  const { changes, problems } = draft.draft;
  const [problem] = problems;
  const figures = (plan: FeatureFlagPlan): ReactNode => <Figures plan={plan} draft={draft} />;
  const now = (plan: FeatureFlagPlan): ReactNode => <Now plan={plan} draft={draft} />;
  return (
    <Stack gap={24}>
      {problem !== undefined ? (
        <Stack gap={12}>
          <h2>{texts.draft.ifYouSave}</h2>
          <p className="soft">
            {texts.draft.notCounted} {texts.draft.completeFirst(subjectOf(problem, draft.next))}
          </p>
        </Stack>
      ) : (
        <>
          {changes.length > 0 && <Section title={texts.draft.ifYouSave} count={count} figures={figures} />}
          {whenOn !== undefined ? (
            <Section title={texts.draft.ifYouTurnOn} count={whenOn} figures={figures} />
          ) : (
            changes.length === 0 && <Section title={texts.draft.getsNow} count={count} figures={now} />
          )}
        </>
      )}
    </Stack>
  );
}

interface SectionProps {
  readonly title: string;
  readonly count: Count;
  readonly figures: (plan: FeatureFlagPlan) => ReactNode;
}

/** Keeps the old figures, in grey, until the new ones are there. */
function Section({ title, count, figures }: SectionProps): ReactNode {
  const { isCounting } = count;
  return (
    <section
      className={classes("counted", isCounting && "counting")}
      aria-live="polite"
      aria-busy={isCounting}
    >
      <Stack gap={12}>
        <h2>{title}</h2>
        <Counted count={count}>{figures}</Counted>
      </Stack>
    </section>
  );
}

interface FiguresProps {
  readonly plan: FeatureFlagPlan;
  readonly draft: FlagDraft;
}

function Figures({ plan, draft }: FiguresProps): ReactNode {
  const impact = impactIn(plan, draft.next.flag.id, draft.environment);
  if (impact === undefined) return null;
  const others = plan.changes.filter((one) => one !== impact && one.flagId === impact.flagId);
  return (
    <>
      <p>
        <span className="figure">{texts.number(impact.moved)}</span>{" "}
        <span className="soft">{texts.draft.ofPeople(plan.users.total)}</span>
      </p>
      {impact.ignored && <Ignored />}
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
      <Doubts plan={plan} impacts={[impact]}>
        {impact.rules
          .filter(({ moved }) => moved > 0)
          .map((one) => (
            <Line key={one.index} name={nameOfRule(one, draft)} value={texts.number(one.moved)} />
          ))}
        {others.map(({ environment = "", moved }) => (
          <Line key={environment} name={texts.draft.in(titleOf(environment))} value={texts.number(moved)} />
        ))}
      </Doubts>
      <People impacts={[impact]} />
    </>
  );
}

function Now({ plan, draft }: FiguresProps): ReactNode {
  const impact = impactIn(plan, draft.next.flag.id, draft.environment);
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
      <Doubts plan={plan} impacts={[impact]}>
        {impact.rules.map((one) => (
          <Line key={one.index} name={nameOfRule(one, draft)} value={texts.number(one.after)} />
        ))}
      </Doubts>
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

function nameOfRule({ ruleId }: FlagImpact["rules"][number], { next }: FlagDraft): string {
  return ruleId === undefined ? texts.targeting.everyoneElse : ruleName(next, ruleId);
}
