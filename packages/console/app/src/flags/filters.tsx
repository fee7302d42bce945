/** Search and filters of the list. They are in the address, so that a link shows the same list. */
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Row } from "../ui/layout.tsx";
import { SearchInput } from "../ui/search-input.tsx";
import { Select } from "../ui/select.tsx";
import { DEFAULT_SORT, type FlagsSearch } from "./search.ts";

const route = getRouteApi("/");
const TYPES = ["boolean", "string", "number", "json"] as const;
const SORTS = ["-updatedAt", "name", "key", "-createdAt", "-enabled", "type"] as const;

export function Filters(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: { [Name in keyof FlagsSearch]?: FlagsSearch[Name] | undefined }): void =>
    void navigate({ search: (before) => defined({ ...before, ...change }), replace: true });
  return (
    <search className="row wrap filters">
      <SearchInput
        label={texts.flags.search}
        hint={texts.flags.searchHint}
        q={search.q ?? ""}
        onChange={(q) => set({ q: q === "" ? undefined : q })}
      />
      <Row className="filter-choices">
        <Select
          quiet
          label={texts.flags.state}
          value={search.state ?? ""}
          options={[
            ["", texts.flags.anyState],
            ["on", texts.flags.on],
            ["off", texts.flags.off],
          ]}
          onChange={(state) => set({ state: state === "on" || state === "off" ? state : undefined })}
        />
        <Select
          quiet
          label={texts.flags.type}
          value={search.type ?? ""}
          options={[["", texts.flags.anyType], ...TYPES.map((type) => [type, texts.types[type]] as const)]}
          onChange={(type) => set({ type: type === "" ? undefined : type })}
        />
        <Select
          quiet
          label={texts.flags.sort}
          value={search.sort ?? DEFAULT_SORT}
          options={SORTS.map((sort) => [sort, texts.flags.sorts[sort]] as const)}
          onChange={(sort) => set({ sort: sort === DEFAULT_SORT ? undefined : sort })}
        />
      </Row>
    </search>
  );
}

function defined(search: { [Name in keyof FlagsSearch]?: FlagsSearch[Name] | undefined }): FlagsSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
}
