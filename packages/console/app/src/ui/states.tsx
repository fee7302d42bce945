/** What a screen shows when it has no data: loading, nothing there, not permitted, failed. */
import { CircleAlert, CloudOff, Lock } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, isStatus } from "../api/request.ts";
import { texts } from "../texts.ts";

export function Loading({ rows = 6 }: { rows?: number }): ReactNode {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{texts.common.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same
        <div key={row} className="skeleton" aria-hidden />
      ))}
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
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  if (isStatus(error, 403)) {
    return (
      <Empty title={texts.errors.forbidden} icon={<Lock aria-hidden size={28} />}>
        <p className="muted">{error.message}</p>
      </Empty>
    );
  }
  const isOffline = error instanceof ApiError && error.status === 0;
  return (
    <div role="alert">
      <Empty
        title={isOffline ? texts.errors.offline : texts.errors.failed}
        icon={isOffline ? <CloudOff aria-hidden size={28} /> : <CircleAlert aria-hidden size={28} />}
      >
        {!isOffline && <p className="muted">{messageOf(error)}</p>}
        {retry && (
          <button type="button" className="button" onClick={retry}>
            {texts.common.retry}
          </button>
        )}
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
    <p className="form-error" role="alert">
      <CircleAlert aria-hidden size={16} /> {messageOf(error)}
    </p>
  );
}
