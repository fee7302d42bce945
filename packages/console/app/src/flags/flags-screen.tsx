/** The list of flags: search and filters in the address, rows that load as they come into view. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Flag as FlagIcon, Plus } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { flagsQuery } from "../api/queries.ts";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Page, Stack } from "../ui/layout.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Attention } from "./attention.tsx";
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
  const { environments } = useSession();
  // Then the button is in the middle of the page.
  const isEmpty = list.isSuccess && flags.length === 0 && !isFiltered;
  const createButton = may("create") && (
    <Button tone="primary" onClick={() => setCreating(true)}>
      <Plus aria-hidden size={16} /> {texts.flags.create}
    </Button>
  );
  return (
    <Page title={texts.flags.title} actions={!isEmpty && createButton} wide>
      <Stack gap={16}>
        <Filters />
        {!isFiltered && <Attention flags={flags} hasMore={list.hasNextPage} />}
        {list.isPending ? (
          <Loading rows={8} />
        ) : list.error !== null && flags.length === 0 ? (
          <Failure error={list.error} retry={() => void list.refetch()} />
        ) : flags.length === 0 ? (
          <Nothing isFiltered={isFiltered}>{createButton}</Nothing>
        ) : (
          <FlagTable
            flags={flags}
            environment={environments.default}
            hasMore={list.hasNextPage}
            isLoadingMore={list.isFetchingNextPage}
            loadMore={() => void list.fetchNextPage()}
          />
        )}
      </Stack>
      <NewFlag open={search.create === true && may("create")} onClose={() => setCreating(false)} />
    </Page>
  );
}

function withCreate({ create: _, ...rest }: FlagsSearch, create: boolean): FlagsSearch {
  return create ? { ...rest, create } : rest;
}

function Nothing({ isFiltered, children }: { isFiltered: boolean; children: ReactNode }): ReactNode {
  const navigate = route.useNavigate();
  if (isFiltered) {
    return (
      <Empty title={texts.flags.noMatch} icon={<FlagIcon aria-hidden size={20} />}>
        <Button onClick={() => void navigate({ search: {} })}>{texts.flags.clearFilters}</Button>
      </Empty>
    );
  }
  return (
    <Empty title={texts.flags.none} icon={<FlagIcon aria-hidden size={20} />}>
      <p className="soft">{texts.flags.noneHint}</p>
      {children}
    </Empty>
  );
}
