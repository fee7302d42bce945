/** Tells an admin that they act as another person, and that the log says so. */
import { UserRoundSearch } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { useSession } from "./session.tsx";

export function ImpersonationNotice(): ReactNode {
  const { user } = useSession();
  if (user.impersonatedBy === undefined) return null;
  return (
    <p className="notice notice-warning page-notice">
      <UserRoundSearch aria-hidden size={18} /> {texts.shell.impersonating(user.name)}
    </p>
  );
}
