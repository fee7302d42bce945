/** The use of one flag: evaluations over time, and exposures, users and converters per arm. No verdicts. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { statsQuery } from "../api/queries.ts";
import type { Flag, FlagStats } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Row, Stack } from "../ui/layout.tsx";
import { Failure, Loading } from "../ui/states.tsx";
import { TableScroll } from "../ui/table-scroll.tsx";
import { ActivityCharts, DaysChoice, Figure, Figures } from "./activity-screen.tsx";

export function FlagActivity({ flag }: { flag: Flag }): ReactNode {
  const [days, setDays] = useState(7);
  const { data, error, refetch } = useQuery(statsQuery(flag.key, days));
  return (
    <Stack gap={32}>
      <Row between wrap>
        <p className="soft">{texts.activity.flagWhat}</p>
        <DaysChoice days={days} onChange={setDays} />
      </Row>
      {data === undefined ? (
        error === null ? (
          <Loading rows={3} />
        ) : (
          <Failure error={error} retry={() => void refetch()} />
        )
      ) : (
        <>
          <Arms stats={data} />
          <Figures>
            <Figure label={texts.activity.evaluations} value={data.evaluations} />
            <Figure label={texts.activity.users} value={data.uniqueUsers} />
          </Figures>
          <ActivityCharts days={days} flagId={flag.id} />
        </>
      )}
    </Stack>
  );
}

function Arms({ stats: { byVariant } }: { stats: FlagStats }): ReactNode {
  const arms = Object.entries(byVariant);
  const events = [...new Set(arms.flatMap(([, { events: named }]) => Object.keys(named)))].sort();
  return (
    <section>
      <Stack>
        <div>
          <h2>{texts.activity.arms}</h2>
          <p className="soft">{arms.length === 0 ? texts.activity.noArms : texts.activity.armsWhat}</p>
        </div>
        {arms.length > 0 && (
          <TableScroll label={texts.activity.arms}>
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">{texts.activity.arm}</th>
                  <th scope="col" className="number">
                    {texts.activity.exposures}
                  </th>
                  <th scope="col" className="number">
                    {texts.activity.users}
                  </th>
                  {events.map((event) => (
                    <th key={event} scope="col" className="number">
                      {texts.activity.converters(event)}
                    </th>
                  ))}
                  <th scope="col" className="number">
                    {texts.activity.excluded}
                  </th>
                </tr>
              </thead>
              <tbody>
                {arms.map(([arm, figures]) => (
                  <tr key={arm}>
                    <th scope="row">{arm === "" ? texts.activity.noExposure : <code>{arm}</code>}</th>
                    <td className="number">{texts.number(figures.exposures)}</td>
                    <td className="number">{texts.number(figures.uniqueUsers)}</td>
                    {events.map((event) => {
                      const named = figures.events[event];
                      return (
                        <td key={event} className="number">
                          {named === undefined ? (
                            "–"
                          ) : (
                            <>
                              <strong>{rateOf(named.uniqueConverters, figures.uniqueUsers)}</strong>{" "}
                              <span className="muted">
                                {texts.number(named.uniqueConverters)} · {texts.number(named.count)}
                              </span>
                            </>
                          )}
                        </td>
                      );
                    })}
                    <td className="number">{texts.number(figures.excluded?.uniqueUsers ?? 0)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
        )}
      </Stack>
    </section>
  );
}

/** Of users who were shown the arm, in percent with one digit. */
function rateOf(converters: number, users: number): string {
  return users === 0 ? "–" : texts.percent(Math.round((converters / users) * 1_000) / 10);
}
