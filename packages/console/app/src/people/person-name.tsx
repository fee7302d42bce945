/** The name of a user by id; the id itself where the name is not known or may not be read. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { currentOrganization } from "../api/organization.ts";
import { CONSOLE, scoped } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Person } from "../api/types.ts";
import { useMay } from "../shell/session.tsx";

const KEPT_MS = 600_000;

export const personByIdQuery = (id: string) =>
  queryOptions({
    queryKey: ["person-name", currentOrganization(), id],
    queryFn: async ({ signal }): Promise<Person | null> => {
      const { people } = await request("POST", `${CONSOLE}/people`, {
        body: scoped({ q: id, limit: 1 }),
        signal,
      });
      return people.find((person) => person.id === id) ?? null;
    },
    staleTime: KEPT_MS,
    gcTime: KEPT_MS,
    retry: false,
  });

export function PersonName({ id }: { id: string }): ReactNode {
  const may = useMay();
  const { data } = useQuery({ ...personByIdQuery(id), enabled: may("evaluate-as") && id !== "" });
  return data?.name || data?.email || id;
}
