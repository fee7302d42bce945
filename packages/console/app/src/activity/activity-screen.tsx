/** How much all flags are used: evaluations by reason over time, the busiest flags, and those that are not used. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Activity } from "lucide-react";
import type { ReactNode } from "react";
import { activityQuery, usageQuery } from "../api/queries.ts";
import type { ActivityResponse } from "../api/types.ts";
import { texts } from "../texts.ts";
import { List, Page, Stack } from "../ui/layout.tsx";
import { Segmented } from "../ui/segmented.tsx";
import { Share } from "../ui/share.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Chart } from "./chart.tsx";
import { columnsOf } from "./columns.ts";

const route = getRouteApi("/activity");
const DAYS = [1, 7, 30];
const REASONS = ["rule_match", "percentage_rollout", "default", "override", "disabled", "not_found"] as const;
const COLOURS: Readonly<Record<(typeof REASONS)[number], string>> = {
  rule_match: "rule",
  percentage_rollout: "0",
  default: "2",
  override: "3",
  disabled: "off",
  not_found: "4",
};

export function ActivityScreen(): ReactNode {
  const { days = 7 } = route.useSearch();
  const navigate = route.useNavigate();
  const usage = useQuery(usageQuery(days));
  return (
    <Page
      title={texts.activity.title}
      what={texts.activity.what}
      actions={
        <DaysChoice
          days={days}
          onChange={(next) => void navigate({ search: next === 7 ? {} : { days: next }, replace: true })}
        />
      }
    >
      {usage.isPending ? (
        <Loading rows={2} />
      ) : usage.data === undefined ? (
        <Failure error={usage.error} retry={() => void usage.refetch()} />
      ) : (
        <Stack gap={32}>
          <Figures>
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
          </Figures>
          <ActivityCharts days={days} />
          <section>
            <Stack>
              <h2>{texts.activity.top}</h2>
              {usage.data.top.length === 0 ? (
                <p className="soft">{texts.activity.none}</p>
              ) : (
                <Top list={usage.data.top} />
              )}
            </Stack>
          </section>
        </Stack>
      )}
    </Page>
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
    <Segmented
      label={texts.activity.window}
      value={String(days)}
      options={DAYS.map((one) => [String(one), texts.activity.days(one)] as const)}
      onChange={(next) => onChange(Number(next))}
    />
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
      <section>
        {used.length === 0 ? (
          <Empty title={texts.activity.none} icon={<Activity aria-hidden size={20} />} />
        ) : (
          <Chart
            title={texts.activity.byReason}
            series={used.map((name) => ({
              name,
              label: texts.reasons[name] ?? name,
              colour: `colour-${COLOURS[name]}`,
            }))}
            columns={columns}
          />
        )}
      </section>
      <VariantChart data={data} />
    </>
  );
}

function VariantChart({ data }: { data: ActivityResponse }): ReactNode {
  const arms = [...new Set(data.hours.flatMap(({ byVariant = {} }) => Object.keys(byVariant)))].sort();
  if (arms.length === 0) return null;
  return (
    <section>
      <Chart
        title={texts.activity.byVariant}
        series={arms.map((name, place) => ({ name, label: name, colour: `colour-${place % 6}` }))}
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

export function Figures({ children }: { children: ReactNode }): ReactNode {
  return <dl className="row wrap gap-32 align-start">{children}</dl>;
}

export function Figure({ label, value, of: total, hint }: FigureProps): ReactNode {
  return (
    <div>
      <dt className="muted caption" title={hint}>
        {label}
      </dt>
      <dd className="figure">
        {texts.number(value)}
        {total !== undefined && <span className="muted of"> / {texts.number(total)}</span>}
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
    <List columns="top">
      {list.map(({ flagId, flagKey, evaluations }) => (
        <li key={flagId} className="row-with-link">
          <Link
            to="/flag/$key"
            params={{ key: flagKey }}
            search={{ tab: "activity" }}
            className="row-link cut"
          >
            {flagKey}
          </Link>
          <Share large colour="0" parts={[(evaluations / most) * 100]} />
          <span className="number">{texts.number(evaluations)}</span>
        </li>
      ))}
    </List>
  );
}
