/** API keys: which ones exist, what they may do, and new ones whose secret is shown once. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CONSOLE, keysQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { ConsoleKey } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Empty, Failure, Loading, messageOf } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { NewKey } from "./new-key.tsx";

export function KeysScreen(): ReactNode {
  const { apiKeys } = useSession();
  const { data, error, isPending, refetch } = useQuery({ ...keysQuery(), enabled: apiKeys });
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<ConsoleKey>();
  return (
    <>
      <header className="screen-header">
        <div>
          <h1>{texts.keys.title}</h1>
          <p className="muted">{texts.keys.what}</p>
        </div>
        {apiKeys && (
          <button type="button" className="button button-primary" onClick={() => setCreating(true)}>
            <Plus aria-hidden size={16} /> {texts.keys.create}
          </button>
        )}
      </header>
      {!apiKeys ? (
        <Empty title={texts.keys.absent} icon={<KeyRound aria-hidden size={28} />}>
          <p className="muted">{texts.keys.absentHint}</p>
        </Empty>
      ) : isPending ? (
        <Loading />
      ) : data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data.keys.length === 0 ? (
        <Empty title={texts.keys.none} icon={<KeyRound aria-hidden size={28} />} />
      ) : (
        <ul className="list">
          {data.keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} onDelete={() => setDeleted(key)} />
          ))}
        </ul>
      )}
      {data?.only !== undefined && <p className="notice">{texts.keys.only[data.only]}</p>}
      <Dialog
        open={isCreating}
        onClose={() => setCreating(false)}
        title={texts.keys.create}
        description={texts.keys.createWhat}
      >
        <NewKey onClose={() => setCreating(false)} />
      </Dialog>
      <DeleteKey apiKey={deleted} onClose={() => setDeleted(undefined)} />
    </>
  );
}

function KeyRow({ apiKey, onDelete }: { apiKey: ConsoleKey; onDelete: () => void }): ReactNode {
  const { name, start, actions, owner, isPersonal, enabled, createdAt, expiresAt, lastUsedAt } = apiKey;
  const label = name ?? start ?? texts.keys.unnamed;
  return (
    <li className="list-row">
      <span className="list-main">
        <strong>{label}</strong>
        {start !== undefined && <code className="muted">{start}…</code>}
      </span>
      <span className="key-actions">
        {actions.map((action) => (
          <span key={action} className="badge">
            {texts.actions[action] ?? action}
          </span>
        ))}
        {!enabled && <span className="badge badge-warning">{texts.keys.disabled}</span>}
      </span>
      <span className="list-main muted">
        <span>{texts.keys.owner(owner.name ?? owner.id)}</span>
        {!isPersonal && <span>{texts.keys.ofServer}</span>}
        <span>
          {texts.keys.created} <Time at={createdAt} />
        </span>
        <span>
          {expiresAt === undefined ? texts.keys.noExpiry : texts.keys.expires}{" "}
          {expiresAt && <Time at={expiresAt} />}
        </span>
        {lastUsedAt !== undefined && (
          <span>
            {texts.keys.used} <Time at={lastUsedAt} />
          </span>
        )}
      </span>
      <button type="button" className="icon-button" aria-label={texts.keys.delete(label)} onClick={onDelete}>
        <Trash2 aria-hidden size={16} />
      </button>
    </li>
  );
}

function DeleteKey({ apiKey, onClose }: { apiKey: ConsoleKey | undefined; onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: (id: string) => request("POST", `${CONSOLE}/delete-key`, { body: { id } }),
    onSuccess: () => {
      showToast({ tone: "done", text: texts.keys.deleted });
      onClose();
    },
    onError: (error) => showToast({ tone: "problem", text: messageOf(error) }),
    onSettled: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
  return (
    <Dialog
      open={apiKey !== undefined}
      onClose={onClose}
      title={texts.keys.deleteTitle(apiKey?.name ?? apiKey?.start ?? "")}
      description={texts.keys.deleteWhat}
    >
      <footer className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          {texts.common.cancel}
        </button>
        <button
          type="button"
          className="button button-danger"
          disabled={remove.isPending}
          onClick={() => apiKey && remove.mutate(apiKey.id)}
        >
          {texts.keys.deleteConfirm}
        </button>
      </footer>
    </Dialog>
  );
}
