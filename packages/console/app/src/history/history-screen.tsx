/** All changes, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { History } from "lucide-react";
import type { ReactNode } from "react";
import { type EntryFilters, entriesQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Timeline } from "./timeline.tsx";

export function HistoryScreen(): ReactNode {
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.history.title}</h1>
          <p className="muted">{texts.history.what}</p>
        </div>
      </header>
      <EntryTimeline filters={{}} showsFlag />
    </>
  );
}

export function EntryTimeline({
  filters,
  showsFlag,
}: {
  filters: EntryFilters;
  showsFlag: boolean;
}): ReactNode {
  const list = useInfiniteQuery(entriesQuery(filters));
  const entries = list.data?.pages.flat() ?? [];
  if (list.isPending) return <Loading />;
  if (list.error !== null && entries.length === 0)
    return <Failure error={list.error} retry={() => void list.refetch()} />;
  if (entries.length === 0)
    return <Empty title={texts.history.none} icon={<History aria-hidden size={28} />} />;
  return (
    <>
      <Timeline entries={entries} showsFlag={showsFlag} />
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
