/** The processes that serve the flags, as they answer on the notification bus. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { processesQuery } from "../api/queries.ts";
import type { FlagsProcess, ProcessesResponse } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Failure, Loading } from "../ui/states.tsx";
import { TableScroll } from "../ui/table-scroll.tsx";
import { Time } from "../ui/time.tsx";

export function Processes(): ReactNode {
  const { data, error, refetch } = useQuery(processesQuery);
  return (
    <section className="stack">
      <h2>{texts.processes.title}</h2>
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <Failure error={error} retry={() => void refetch()} />
        )
      ) : (
        <ProcessTable {...data} />
      )}
    </section>
  );
}

function ProcessTable({ processes, bus }: ProcessesResponse): ReactNode {
  const newest = Math.max(...processes.map(({ revision }) => revision));
  return (
    <>
      <p className="soft">{texts.processes.hints[bus]}</p>
      <TableScroll label={texts.processes.title}>
        <table className="table no-wrap">
          <thead>
            <tr>
              {texts.processes.columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {processes.map((process, place) => (
              <tr key={process.id}>
                <td>
                  <code title={process.id}>{process.id.slice(0, 8)}</code>
                  {place === 0 && ` ${texts.processes.self}`}
                </td>
                <td>{stateOf(process, newest)}</td>
                <td>{process.revision}</td>
                <td>{texts.health.ageOf(process.snapshotAgeMs)}</td>
                <td>{texts.health.states[process.fastPath]}</td>
                <td>
                  <Time at={process.startedAt} />
                </td>
                <td>{process.version}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    </>
  );
}

/** Processes answer at slightly different times, so one that is behind may have caught up by now. */
function stateOf({ stale, revision }: FlagsProcess, newest: number): string {
  if (stale) return texts.processes.stale;
  return revision < newest ? texts.processes.behind(newest - revision) : texts.processes.current;
}
