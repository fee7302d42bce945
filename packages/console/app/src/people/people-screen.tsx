/** Finds people, to see which flags they get and why. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Users } from "lucide-react";
import type { ReactNode } from "react";
import { peopleQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { SearchInput } from "../ui/search-input.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";

const route = getRouteApi("/people");

export function PeopleScreen(): ReactNode {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useInfiniteQuery(peopleQuery(q));
  const people = list.data?.pages.flatMap((page) => page.people) ?? [];
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.people.title}</h1>
          <p className="muted">{texts.people.what}</p>
        </div>
      </header>
      <search className="filters">
        <SearchInput
          label={texts.people.search}
          hint={texts.people.searchHint}
          q={q}
          onChange={(next) => void navigate({ search: next === "" ? {} : { q: next }, replace: true })}
        />
      </search>
      {list.isPending ? (
        <Loading />
      ) : list.error !== null && people.length === 0 ? (
        <Failure error={list.error} retry={() => void list.refetch()} />
      ) : people.length === 0 ? (
        <Empty title={texts.people.none} icon={<Users aria-hidden size={28} />} />
      ) : (
        <ul className="list">
          {people.map(({ id, name, email, role, organizationRole }) => (
            <li key={id}>
              <Link to="/people/$id" params={{ id }} className="list-row list-link">
                <Avatar name={name} />
                <span className="list-main">
                  <span>{name}</span>
                  <span className="muted">{email}</span>
                </span>
                {(organizationRole ?? role) !== undefined && (
                  <span className="badge">{organizationRole ?? role}</span>
                )}
              </Link>
            </li>
          ))}
        </ul>
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
