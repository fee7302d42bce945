/** The state of the process that answers the console (revision, age of the flags in memory, bus, fast path), and of the others. */
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { healthQuery } from "../api/queries.ts";
import type { FeatureFlagsHealth } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Failure, Loading } from "../ui/states.tsx";
import { Processes } from "./processes.tsx";

export function HealthScreen(): ReactNode {
  const { data, error, refetch } = useQuery(healthQuery);
  // Processes serve the flags of all organizations.
  const { actions } = useSession();
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.health.title}</h1>
          <p className="muted">{texts.health.what}</p>
        </div>
      </header>
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <Failure error={error} retry={() => void refetch()} />
        )
      ) : (
        <HealthView health={data} />
      )}
      {actions.includes("read") && <Processes />}
    </>
  );
}

function HealthView({ health }: { health: FeatureFlagsHealth }): ReactNode {
  const isOk = health.status === "ok";
  const rows: readonly (readonly [string, ReactNode, ReactNode?])[] = [
    [texts.health.revision, health.revision ?? "–", texts.health.revisionHint],
    [
      texts.health.age,
      health.snapshotAgeMs === undefined ? "–" : texts.health.ageOf(health.snapshotAgeMs),
      texts.health.ageHint,
    ],
    [
      texts.health.transactions,
      texts.health.states[health.transactions ?? ""] ?? "–",
      texts.health.transactionsHint,
    ],
    [texts.health.bus, texts.health.states[health.bus ?? ""] ?? "–", texts.health.busHint],
    [
      texts.health.fastPath,
      texts.health.states[health.fastPath ?? ""] ?? "–",
      health.fastPathReason ?? texts.health.fastPathHint,
    ],
    [texts.health.changes, health.changes ?? "–", texts.health.changesHint],
    [texts.health.version, health.version, texts.health.versionHint],
  ];
  const ignored = health.ignoredFlags ?? [];
  return (
    <>
      <div className={isOk ? "card health health-ok" : "card health health-degraded"} role="status">
        {isOk ? <CircleCheck aria-hidden size={24} /> : <TriangleAlert aria-hidden size={24} />}
        <div>
          <strong>{isOk ? texts.health.ok : texts.health.degraded}</strong>
          {health.problem !== undefined && <p>{health.problem}</p>}
        </div>
      </div>
      <dl className="card health-rows">
        {rows.map(([label, value, hint]) => (
          <div key={label} className="health-row">
            <dt>{label}</dt>
            <dd>
              <strong>{value}</strong>
              <span className="muted">{hint}</span>
            </dd>
          </div>
        ))}
      </dl>
      {ignored.length > 0 && (
        <section className="card">
          <h2>{texts.health.ignored}</h2>
          <p className="muted">{texts.health.ignoredHint}</p>
          <ul>
            {ignored.map(({ organizationId, key }) => (
              <li key={`${organizationId}/${key}`}>
                <code>{key}</code> · {organizationId}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
