/** Chooses the organization whose flags are shown, where flags belong to organizations. */
import { type ReactNode, useSyncExternalStore } from "react";
import { chooseOrganization, currentOrganization, subscribeOrganization } from "../api/organization.ts";
import { texts } from "../texts.ts";
import { useSession } from "./session.tsx";

export function OrganizationSwitcher(): ReactNode {
  const { multiTenant, organizations, actions } = useSession();
  const chosen = useSyncExternalStore(subscribeOrganization, currentOrganization);
  if (!multiTenant) return null;
  return (
    <label className="organization">
      <span className="visually-hidden">{texts.shell.organization}</span>
      <select value={chosen ?? ""} onChange={({ target }) => chooseOrganization(target.value)}>
        {actions.length > 0 && <option value="">{texts.shell.allOrganizations}</option>}
        {organizations.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
