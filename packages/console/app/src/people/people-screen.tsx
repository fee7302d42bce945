/** Finds people, to see which flags they get and why. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Users } from "lucide-react";
import type { ReactNode } from "react";
import { peopleQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { List, Page, Row, Stack } from "../ui/layout.tsx";
import { More } from "../ui/more.tsx";
import { SearchInput } from "../ui/search-input.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";

const route = getRouteApi("/people");

export function PeopleScreen(): ReactNode {
  const { q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useInfiniteQuery(peopleQuery(q));
  const people = list.data?.pages.flatMap((page) => page.people) ?? [];
  return (
    <Page title={texts.people.title} what={texts.people.what}>
      <Stack gap={16}>
        <search className="row filters">
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
          <Empty title={texts.people.none} icon={<Users aria-hidden size={20} />} />
        ) : (
          <List columns="people">
            {people.map(({ id, name, email, role, organizationRole }) => (
              <li key={id} className="row-with-link">
                <Row gap={12}>
                  <Avatar name={name} />
                  <Link to="/people/$id" params={{ id }} className="row-link cut">
                    {name}
                  </Link>
                </Row>
                <span className="muted cut">{email}</span>
                <span className="number">
                  {(organizationRole ?? role) && <span className="tag">{organizationRole ?? role}</span>}
                </span>
              </li>
            ))}
          </List>
        )}
        <More list={list} />
      </Stack>
    </Page>
  );
}
