/** The audit log as a table: filters, verification of the chain, export. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Download, ScrollText, ShieldAlert, ShieldCheck, X } from "lucide-react";
import type { ReactNode } from "react";
import { entriesQuery, verifyQuery } from "../api/queries.ts";
import type { Entry } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading, messageOf } from "../ui/states.tsx";
import { TableScroll } from "../ui/table-scroll.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { ActorName } from "./actor.tsx";
import { entryText } from "./entry-text.ts";
import { exportEntries } from "./export-entries.ts";

const route = getRouteApi("/audit");
const ACTIONS = ["create", "update", "delete"] as const;

export function AuditScreen(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useInfiniteQuery(
    entriesQuery({
      ...(search.flag !== undefined && { flagId: `key:${search.flag}` }),
      ...(search.actor !== undefined && { userId: search.actor }),
      action: search.action,
      start: startOfDay(search.start),
      end: startOfDay(search.end),
    }),
  );
  const save = useMutation({
    mutationFn: exportEntries,
    onSuccess: (count) => showToast({ tone: "done", text: texts.audit.exported(count) }),
    onError: (error) => showToast({ tone: "problem", text: messageOf(error) }),
  });
  const entries = list.data?.pages.flat() ?? [];
  const set = (name: "flag" | "actor" | "action" | "start" | "end", value: string): void =>
    void navigate({
      search: ({ [name]: _, ...rest }) => (value === "" ? rest : { ...rest, [name]: value }),
      replace: true,
    });
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.audit.title}</h1>
          <p className="muted">{texts.audit.what}</p>
        </div>
        <button type="button" className="button" disabled={save.isPending} onClick={() => save.mutate()}>
          <Download aria-hidden size={16} /> {save.isPending ? texts.audit.exporting : texts.audit.export}
        </button>
      </header>
      <Verification />
      <search className="filters">
        <input
          aria-label={texts.audit.flag}
          placeholder={texts.audit.flag}
          defaultValue={search.flag ?? ""}
          onKeyDown={(event) => event.key === "Enter" && set("flag", event.currentTarget.value.trim())}
          onBlur={({ target }) => set("flag", target.value.trim())}
        />
        <select
          aria-label={texts.audit.action}
          value={search.action ?? ""}
          onChange={({ target }) => set("action", target.value)}
        >
          <option value="">{texts.audit.anyAction}</option>
          {ACTIONS.map((action) => (
            <option key={action} value={action}>
              {texts.audit.actions[action]}
            </option>
          ))}
        </select>
        <label className="date">
          {texts.audit.from}
          <input
            type="date"
            value={search.start ?? ""}
            onChange={({ target }) => set("start", target.value)}
          />
        </label>
        <label className="date">
          {texts.audit.to}
          <input type="date" value={search.end ?? ""} onChange={({ target }) => set("end", target.value)} />
        </label>
        {search.actor !== undefined && (
          <button type="button" className="chip" aria-pressed onClick={() => set("actor", "")}>
            {texts.audit.by(entries[0]?.names[search.actor] ?? search.actor)}
            <X aria-hidden size={14} />
          </button>
        )}
      </search>
      {list.isPending ? (
        <Loading />
      ) : list.error !== null && entries.length === 0 ? (
        <Failure error={list.error} retry={() => void list.refetch()} />
      ) : entries.length === 0 ? (
        <Empty title={texts.audit.none} icon={<ScrollText aria-hidden size={28} />} />
      ) : (
        <AuditTable entries={entries} />
      )}
      {list.hasNextPage && (
        <button
          type="button"
          className="button"
          disabled={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {texts.common.more}
        </button>
      )}
    </>
  );
}

/** As the person's clock says, because times are shown in it. An incomplete date chooses nothing. */
function startOfDay(date: string | undefined): string | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(date ?? "") ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  return new Date(Number(year), Number(month) - 1, Number(day)).toISOString();
}

function AuditTable({ entries }: { entries: readonly Entry[] }): ReactNode {
  return (
    <TableScroll label={texts.audit.title}>
      <table className="table">
        <thead>
          <tr>
            {texts.audit.columns.map((column, place) => (
              <th key={column} scope="col" className={place === 0 ? "number" : ""}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => {
            const { did, what } = entryText(entry);
            return (
              <tr key={entry.id}>
                <td className="number">{entry.revision}</td>
                <td>
                  <Time at={entry.at} />
                </td>
                <td>
                  {entry.actor.type === "user" ? (
                    <Link to="/audit" search={(before) => ({ ...before, actor: entry.actor.id })}>
                      <ActorName entry={entry} />
                    </Link>
                  ) : (
                    <ActorName entry={entry} />
                  )}
                </td>
                <td>
                  {did} <strong>{what}</strong>
                </td>
                <td>{entry.ip ?? "–"}</td>
                <td>
                  <code title={entry.hash}>{entry.hash.slice(0, 10)}</code>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableScroll>
  );
}

function Verification(): ReactNode {
  const { data, error, isFetching, refetch } = useQuery(verifyQuery());
  return (
    <div className="card verification" role="status">
      {data === undefined ? (
        <>
          <ShieldCheck aria-hidden size={20} />
          <span>{error === null ? texts.audit.verifyWhat : messageOf(error)}</span>
        </>
      ) : data.ok ? (
        <>
          <ShieldCheck aria-hidden size={20} className="good" />
          <span>{texts.audit.verified(data.entries)}</span>
        </>
      ) : (
        <>
          <ShieldAlert aria-hidden size={20} className="bad" />
          <span>{texts.audit.broken(data.revision, data.problem)}</span>
        </>
      )}
      <button type="button" className="button" disabled={isFetching} onClick={() => void refetch()}>
        {isFetching ? texts.audit.verifying : texts.audit.verify}
      </button>
    </div>
  );
}
