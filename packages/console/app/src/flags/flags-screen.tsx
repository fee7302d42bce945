/** The list of flags: search and filters in the address, rows that load as they come into view. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Flag as FlagIcon, Plus } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { flagsQuery } from "../api/queries.ts";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Filters } from "./filters.tsx";
import { FlagTable } from "./flag-table.tsx";
import { NewFlag } from "./new-flag.tsx";
import { type FlagsSearch, filtersOf } from "./search.ts";

const route = getRouteApi("/");

export function FlagsScreen(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const list = useInfiniteQuery(flagsQuery(filtersOf(search)));
  const pages = list.data?.pages;
  const flags = useMemo(() => pages?.flatMap((page) => page.flags) ?? [], [pages]);
  const isFiltered = search.q !== undefined || search.type !== undefined || search.state !== undefined;
  const setCreating = (create: boolean): void =>
    void navigate({ search: () => withCreate(search, create), replace: !create });
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.flags.title}</h1>
          <p className="muted">{texts.flags.what}</p>
        </div>
        {may("create") && (
          <button type="button" className="button button-primary" onClick={() => setCreating(true)}>
            <Plus aria-hidden size={16} /> {texts.flags.create}
          </button>
        )}
      </header>
      <Filters />
      {list.isPending ? (
        <Loading rows={8} />
      ) : list.error !== null && flags.length === 0 ? (
        <Failure error={list.error} retry={() => void list.refetch()} />
      ) : flags.length === 0 ? (
        <Nothing isFiltered={isFiltered} create={may("create") ? () => setCreating(true) : undefined} />
      ) : (
        <FlagTable
          flags={flags}
          hasMore={list.hasNextPage}
          isLoadingMore={list.isFetchingNextPage}
          loadMore={() => void list.fetchNextPage()}
        />
      )}
      <NewFlag open={search.create === true && may("create")} onClose={() => setCreating(false)} />
    </>
  );
}

function withCreate({ create: _, ...rest }: FlagsSearch, create: boolean): FlagsSearch {
  return create ? { ...rest, create } : rest;
}

function Nothing({
  isFiltered,
  create,
}: {
  isFiltered: boolean;
  create: (() => void) | undefined;
}): ReactNode {
  const navigate = route.useNavigate();
  if (isFiltered) {
    return (
      <Empty title={texts.flags.noMatch} icon={<FlagIcon aria-hidden size={28} />}>
        <button type="button" className="button" onClick={() => void navigate({ search: {} })}>
          {texts.flags.clearFilters}
        </button>
      </Empty>
    );
  }
  return (
    <Empty title={texts.flags.none} icon={<FlagIcon aria-hidden size={28} />}>
      <p className="muted">{texts.flags.noneHint}</p>
      {create && (
        <button type="button" className="button button-primary" onClick={create}>
          <Plus aria-hidden size={16} /> {texts.flags.create}
        </button>
      )}
    </Empty>
  );
}
