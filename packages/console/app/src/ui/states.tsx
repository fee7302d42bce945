/** What a screen shows when it has no data: loading, nothing there, not permitted, failed. */
import { CircleAlert, CloudOff, Lock } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, isStatus } from "../api/request.ts";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";

export function Loading({ rows = 6 }: { rows?: number }): ReactNode {
  return (
    <div role="status" className="stack">
      <span className="visually-hidden">{texts.common.loading}</span>
      {[...Array(rows).keys()].map((row) => (
        <div key={row} className="skeleton" aria-hidden />
      ))}
    </div>
  );
}

/** Until the screen's own code has loaded. */
export function LoadingPage(): ReactNode {
  return (
    <div className="page">
      <Loading />
    </div>
  );
}

export function Empty({
  title,
  children,
  icon,
}: {
  title: string;
  children?: ReactNode;
  icon?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      {icon && <div className="empty-icon">{icon}</div>}
      <h2 className="empty-title">{title}</h2>
      {children}
    </div>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  if (isStatus(error, 403)) {
    return (
      <Empty title={texts.errors.forbidden} icon={<Lock aria-hidden size={20} />}>
        <p className="soft">{error.message}</p>
      </Empty>
    );
  }
  const isOffline = error instanceof ApiError && error.status === 0;
  return (
    <div role="alert">
      <Empty
        title={isOffline ? texts.errors.offline : texts.errors.failed}
        icon={isOffline ? <CloudOff aria-hidden size={20} /> : <CircleAlert aria-hidden size={20} />}
      >
        {!isOffline && <p className="soft">{messageOf(error)}</p>}
        {retry && <Button onClick={retry}>{texts.common.retry}</Button>}
      </Empty>
    </div>
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error beside the form that caused it. */
export function FormError({ error }: { error: unknown }): ReactNode {
  if (error === null || error === undefined) return null;
  return (
    <p className="field-error" role="alert">
      <CircleAlert aria-hidden size={16} /> {messageOf(error)}
    </p>
  );
}
