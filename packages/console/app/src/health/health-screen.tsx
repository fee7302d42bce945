/** The state of the process that answers the console (revision, age of the flags in memory, bus, fast path), and of the others. */
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { healthQuery } from "../api/queries.ts";
import type { FeatureFlagsHealth } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Page, Row } from "../ui/layout.tsx";
import { Failure, Loading } from "../ui/states.tsx";
import { Processes } from "./processes.tsx";

export function HealthScreen(): ReactNode {
  const { data, error, refetch } = useQuery(healthQuery);
  // Processes serve the flags of all organizations.
  const { actions } = useSession();
  return (
    <Page title={texts.health.title} what={texts.health.what}>
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
    </Page>
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
      <div role="status">
        <Row gap={12} align="start">
          {isOk ? (
            <CircleCheck aria-hidden size={20} className="good" />
          ) : (
            <TriangleAlert aria-hidden size={20} className="warn" />
          )}
          <div>
            <h2>{isOk ? texts.health.ok : texts.health.degraded}</h2>
            {health.problem !== undefined && <p className="soft">{health.problem}</p>}
          </div>
        </Row>
      </div>
      <dl className="list columns-facts">
        {rows.map(([label, value, hint]) => (
          <div key={label}>
            <dt className="soft">{label}</dt>
            <dd className="name">{value}</dd>
            <dd className="muted">{hint}</dd>
          </div>
        ))}
      </dl>
      {ignored.length > 0 && (
        <section>
          <h2>{texts.health.ignored}</h2>
          <p className="soft">{texts.health.ignoredHint}</p>
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
