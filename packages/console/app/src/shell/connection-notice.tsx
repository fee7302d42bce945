/** Tells that the server does not answer, while the screens show what they have. */
import { useQuery } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import type { ReactNode } from "react";
import { revisionQuery } from "../api/queries.ts";
import { ApiError } from "../api/request.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { useSession } from "./session.tsx";

export function ConnectionNotice(): ReactNode {
  const { error, failureReason, refetch } = useQuery(revisionQuery(useSession().live !== undefined));
  const reason = error ?? failureReason;
  const isLost = reason instanceof ApiError && reason.status === 0;
  return (
    <div role="status" className="page-notice">
      {isLost && (
        <div className="notice notice-warning">
          <CloudOff aria-hidden size={18} />
          <span>{texts.shell.connectionLost}</span>
          <Button tone="quiet" small onClick={() => void refetch()}>
            {texts.common.retry}
          </Button>
        </div>
      )}
    </div>
  );
}
