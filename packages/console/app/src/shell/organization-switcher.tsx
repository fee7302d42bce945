/** Chooses the organization whose flags are shown, where flags belong to organizations. The choice is in the address. */
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { currentOrganization, toAddress } from "../api/organization.ts";
import { texts } from "../texts.ts";
import { Select } from "../ui/select.tsx";
import { useSession } from "./session.tsx";

export function OrganizationSwitcher(): ReactNode {
  const { multiTenant, organizations, actions } = useSession();
  const navigate = useNavigate();
  const chosen = currentOrganization() ?? "";
  if (!multiTenant) return null;
  // An admin may follow a link to an organization without being a member.
  const isOther = chosen !== "" && !organizations.some(({ id }) => id === chosen);
  const choose = (id: string): void =>
    void navigate({ to: ".", search: (before) => ({ ...before, org: toAddress(id) }) });
  const options: [string, string][] = [
    ...(actions.length > 0 || chosen === "" ? [["", texts.shell.allOrganizations] as [string, string]] : []),
    ...(isOther ? [[chosen, chosen] as [string, string]] : []),
    ...organizations.map(({ id, name }): [string, string] => [id, name]),
  ];
  return <Select label={texts.shell.organization} value={chosen} options={options} onChange={choose} />;
}

/** Puts the organization into the address, so that a link shows the same flags to another person. */
export function useOrganizationInAddress(inAddress: string | undefined): void {
  const navigate = useNavigate();
  const chosen = currentOrganization();
  useEffect(() => {
    if (chosen === undefined || inAddress !== undefined) return;
    void navigate({
      to: ".",
      search: (before) => ({ ...before, org: toAddress(chosen) }),
      hash: true,
      replace: true,
    });
  }, [navigate, chosen, inAddress]);
}
