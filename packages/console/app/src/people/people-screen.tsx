/** Finds people, to see which flags they get and why. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { SearchIcon, Users } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { peopleQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { TYPING_PAUSE_MS } from "../ui/typing.ts";

const route = getRouteApi("/people");

export function PeopleScreen(): ReactNode {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    const timer = setTimeout(() => {
      const next = typed.trim();
      void navigate({ search: next === "" ? {} : { q: next }, replace: true });
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, navigate]);
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
        <div className="search">
          <SearchIcon aria-hidden size={16} />
          <input
            type="search"
            aria-label={texts.people.search}
            placeholder={texts.people.searchHint}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <kbd>/</kbd>
        </div>
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
