/** All changes, newest first. With hashes it is the audit log: the chain can be verified and exported. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Download, History, ShieldAlert, ShieldCheck, X } from "lucide-react";
import type { ReactNode } from "react";
import { type EntryFilters, entriesQuery, verifyQuery } from "../api/queries.ts";
import type { Entry, Flag } from "../api/types.ts";
import { FlagPicker } from "../flags/flag-picker.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Page, Panel, Row, Stack } from "../ui/layout.tsx";
import { More } from "../ui/more.tsx";
import { Segmented } from "../ui/segmented.tsx";
import { Select } from "../ui/select.tsx";
import { Empty, Failure, Loading, messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";
import { exportEntries } from "./export-entries.ts";
import { Timeline } from "./timeline.tsx";

const [historyRoute, auditRoute] = [getRouteApi("/history"), getRouteApi("/audit")];
const ACTIONS = ["", "create", "update", "delete"] as const;

export function HistoryScreen(): ReactNode {
  return <Changes search={historyRoute.useSearch()} hasHashes={false} />;
}

export function AuditScreen(): ReactNode {
  return <Changes search={auditRoute.useSearch()} hasHashes />;
}

interface HistorySearch {
  readonly flag?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly start?: string;
  readonly end?: string;
}

function Changes({ search, hasHashes }: { search: HistorySearch; hasHashes: boolean }): ReactNode {
  const navigate = useNavigate();
  const filters: EntryFilters = {
    ...(search.flag !== undefined && { flagId: `key:${search.flag}` }),
    ...(search.actor !== undefined && { userId: search.actor }),
    action: search.action,
    start: startOfDay(search.start),
    end: startOfDay(search.end),
  };
  const list = useInfiniteQuery(entriesQuery(filters));
  const set = (name: keyof HistorySearch, value: string): void => {
    const { [name]: _, ...rest } = search;
    const next = value === "" ? rest : { ...rest, [name]: value };
    void navigate({ to: hasHashes ? "/audit" : "/history", search: next, replace: true });
  };
  return (
    <Page
      title={hasHashes ? texts.audit.title : texts.history.title}
      what={hasHashes ? texts.audit.what : texts.history.what}
      actions={
        <Segmented
          label={texts.history.view}
          value={hasHashes ? "hashes" : "changes"}
          options={[
            ["changes", texts.history.changes],
            ["hashes", texts.history.hashes],
          ]}
          onChange={(view) => void navigate({ to: view === "hashes" ? "/audit" : "/history", search })}
        />
      }
    >
      <Stack gap={16}>
        {hasHashes && <Verification />}
        <search className="row wrap filters">
          <div className="search">
            <FlagPicker
              flagKey={search.flag ?? ""}
              hint={texts.history.allFlags}
              onChange={(flag) => set("flag", flag)}
            />
          </div>
          <Select
            quiet
            label={texts.audit.action}
            value={ACTIONS.find((action) => action === search.action) ?? ""}
            options={ACTIONS.map((action) => [action, texts.audit.actions[action]] as const)}
            onChange={(action) => set("action", action)}
          />
          {(["start", "end"] as const).map((name) => (
            <label key={name} className="row soft date-field">
              {texts.audit[name]}
              <input
                type="date"
                className="date"
                value={search[name] ?? ""}
                onChange={({ target }) => set(name, target.value)}
              />
            </label>
          ))}
          {search.actor !== undefined && (
            <Button small onClick={() => set("actor", "")}>
              {texts.audit.by(list.data?.pages[0]?.[0]?.names[search.actor] ?? search.actor)}
              <X aria-hidden size={14} />
            </Button>
          )}
        </search>
        <Entries list={list} showsFlag showsHashes={hasHashes} />
      </Stack>
    </Page>
  );
}

/** The changes of one flag. */
export function FlagHistory({ flag }: { flag: Flag }): ReactNode {
  const list = useInfiniteQuery(entriesQuery({ flagId: flag.id }));
  return <Entries list={list} showsFlag={false} />;
}

interface EntriesProps {
  readonly list: UseInfiniteQueryResult<InfiniteData<Entry[]>>;
  readonly showsFlag: boolean;
  readonly showsHashes?: boolean;
}

function Entries({ list, showsFlag, showsHashes = false }: EntriesProps): ReactNode {
  const entries = list.data?.pages.flat() ?? [];
  if (list.isPending) return <Loading />;
  if (list.error !== null && entries.length === 0)
    return <Failure error={list.error} retry={() => void list.refetch()} />;
  if (entries.length === 0)
    return (
      <Empty title={texts.history.none} icon={<History aria-hidden size={20} />}>
        <p className="soft">{texts.history.noneHint}</p>
      </Empty>
    );
  return (
    <Stack gap={16}>
      <Timeline entries={entries} showsFlag={showsFlag} showsHashes={showsHashes} />
      <More list={list} />
    </Stack>
  );
}

/** As the person's clock says, because times are shown in it. An incomplete date chooses nothing. */
function startOfDay(date: string | undefined): string | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(date ?? "") ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  return new Date(Number(year), Number(month) - 1, Number(day)).toISOString();
}

function Verification(): ReactNode {
  const { data, error, isFetching, refetch } = useQuery(verifyQuery());
  const save = useMutation({
    mutationFn: exportEntries,
    onSuccess: (count) => showToast({ tone: "done", text: texts.audit.exported(count) }),
    onError: (failure) => showToast({ tone: "problem", text: messageOf(failure) }),
  });
  const isBroken = data?.ok === false;
  const Icon = isBroken ? ShieldAlert : ShieldCheck;
  return (
    <Panel padded>
      <Row wrap gap={12}>
        <Icon aria-hidden size={18} className={isBroken ? "bad" : data ? "good" : "muted"} />
        <span className="grow" role="status">
          {data === undefined
            ? error === null
              ? texts.audit.verifyWhat
              : messageOf(error)
            : data.ok
              ? texts.audit.verified(data.entries)
              : texts.audit.broken(data.revision, data.problem)}
        </span>
        <Button disabled={isFetching} onClick={() => void refetch()}>
          {isFetching ? texts.audit.verifying : texts.audit.verify}
        </Button>
        <Button disabled={save.isPending} onClick={() => save.mutate()}>
          <Download aria-hidden size={16} /> {save.isPending ? texts.audit.exporting : texts.audit.export}
        </Button>
      </Row>
    </Panel>
  );
}
