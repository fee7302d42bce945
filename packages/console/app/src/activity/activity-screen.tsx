/** How much all flags are used: evaluations by reason over time, the busiest flags, and those that are not used. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { activityQuery, usageQuery } from "../api/queries.ts";
import type { ActivityResponse, EvaluationReason } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Chart } from "./chart.tsx";
import { columnsOf } from "./columns.ts";

const route = getRouteApi("/activity");
const DAYS = [1, 7, 30];
export const REASONS: readonly EvaluationReason[] = [
  "rule_match",
  "percentage_rollout",
  "default",
  "override",
  "disabled",
  "not_found",
];

export function ActivityScreen(): ReactNode {
  const { days = 7 } = route.useSearch();
  const navigate = route.useNavigate();
  const usage = useQuery(usageQuery(days));
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.activity.title}</h1>
          <p className="muted">{texts.activity.what}</p>
        </div>
        <DaysChoice
          days={days}
          onChange={(next) => void navigate({ search: next === 7 ? {} : { days: next }, replace: true })}
        />
      </header>
      {usage.isPending ? (
        <Loading rows={2} />
      ) : usage.data === undefined ? (
        <Failure error={usage.error} retry={() => void usage.refetch()} />
      ) : (
        <>
          <dl className="figures">
            <Figure label={texts.activity.evaluations} value={usage.data.evaluations} />
            <Figure label={texts.activity.events} value={usage.data.events} />
            <Figure
              label={texts.activity.flagsOn}
              value={usage.data.flags.enabled}
              of={usage.data.flags.total}
            />
            <Figure
              label={texts.activity.stale}
              value={usage.data.flags.stale}
              hint={texts.activity.staleHint}
            />
          </dl>
          <ActivityCharts days={days} />
          <section className="card">
            <h2>{texts.activity.top}</h2>
            {usage.data.top.length === 0 ? (
              <Empty title={texts.activity.none} />
            ) : (
              <Top list={usage.data.top} />
            )}
          </section>
        </>
      )}
    </>
  );
}

export function DaysChoice({
  days,
  onChange,
}: {
  days: number;
  onChange: (days: number) => void;
}): ReactNode {
  return (
    <fieldset className="segmented">
      <legend className="visually-hidden">{texts.activity.window}</legend>
      {DAYS.map((one) => (
        <button
          key={one}
          type="button"
          className="segment"
          aria-pressed={one === days}
          onClick={() => onChange(one)}
        >
          {texts.activity.days(one)}
        </button>
      ))}
    </fieldset>
  );
}

/** Evaluations by reason; of one flag also the users by variant. */
export function ActivityCharts({ days, flagId }: { days: number; flagId?: string }): ReactNode {
  const { data, error, refetch } = useQuery(activityQuery(days, flagId));
  if (data === undefined) {
    return error === null ? <Loading rows={3} /> : <Failure error={error} retry={() => void refetch()} />;
  }
  const columns = columnsOf(data);
  const used = REASONS.filter((reason) => columns.some(({ values }) => (values[reason] ?? 0) > 0));
  return (
    <>
      <section className="card">
        {used.length === 0 ? (
          <Empty title={texts.activity.none} />
        ) : (
          <Chart
            title={texts.activity.byReason}
            series={used.map((name) => ({
              name,
              label: texts.reasons[name] ?? name,
              colour: `series-${name}`,
            }))}
            columns={columns}
          />
        )}
      </section>
      <VariantChart data={data} />
    </>
  );
}

const ARM_COLOURS = 6;

function VariantChart({ data }: { data: ActivityResponse }): ReactNode {
  const arms = [...new Set(data.hours.flatMap(({ byVariant = {} }) => Object.keys(byVariant)))].sort();
  if (arms.length === 0) return null;
  return (
    <section className="card">
      <Chart
        title={texts.activity.byVariant}
        series={arms.map((name, place) => ({ name, label: name, colour: `arm-${place % ARM_COLOURS}` }))}
        columns={columnsOf(data, ({ byVariant }) => byVariant)}
      />
    </section>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: number;
  readonly of?: number;
  readonly hint?: string;
}

export function Figure({ label, value, of: total, hint }: FigureProps): ReactNode {
  return (
    <div className="figure">
      <dt title={hint}>{label}</dt>
      <dd>
        {texts.number(value)}
        {total !== undefined && <span className="muted"> / {texts.number(total)}</span>}
      </dd>
    </div>
  );
}

function Top({
  list,
}: {
  list: readonly { flagId: string; flagKey: string; evaluations: number }[];
}): ReactNode {
  const most = Math.max(1, ...list.map(({ evaluations }) => evaluations));
  return (
    <ol className="bars">
      {list.map(({ flagId, flagKey, evaluations }) => (
        <li key={flagId} className="bar">
          <Link to="/flag/$key" params={{ key: flagKey }} search={{ tab: "activity" }}>
            {flagKey}
          </Link>
          <svg className="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect width="100" height="4" className="share-ground" />
            <rect width={(evaluations / most) * 100} height="4" className="share-part" />
          </svg>
          <span className="number">{texts.number(evaluations)}</span>
        </li>
      ))}
    </ol>
  );
}
