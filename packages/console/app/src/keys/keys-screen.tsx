/** API keys: which ones exist, what they may do, and new ones whose secret is shown once. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CONSOLE, keysQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { ConsoleKey } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { List, Page, Row } from "../ui/layout.tsx";
import { Empty, Failure, FormError, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { NewKey } from "./new-key.tsx";

export function KeysScreen(): ReactNode {
  const { apiKeys } = useSession();
  const { data, error, isPending, refetch } = useQuery({ ...keysQuery(), enabled: apiKeys });
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<ConsoleKey>();
  const isEmpty = data?.keys.length === 0;
  const createButton = apiKeys && (
    <Button tone="primary" onClick={() => setCreating(true)}>
      <Plus aria-hidden size={16} /> {texts.keys.create}
    </Button>
  );
  return (
    <Page title={texts.keys.title} what={texts.keys.what} actions={!isEmpty && createButton}>
      {!apiKeys ? (
        <Empty title={texts.keys.absent} icon={<KeyRound aria-hidden size={20} />}>
          <p className="soft">{texts.keys.absentHint}</p>
        </Empty>
      ) : isPending ? (
        <Loading />
      ) : data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : isEmpty ? (
        <Empty title={texts.keys.none} icon={<KeyRound aria-hidden size={20} />}>
          <p className="soft">{texts.keys.noneHint}</p>
          {createButton}
        </Empty>
      ) : (
        <List columns="keys">
          {data.keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} onDelete={() => setDeleted(key)} />
          ))}
        </List>
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
    </Page>
  );
}

function KeyRow({ apiKey, onDelete }: { apiKey: ConsoleKey; onDelete: () => void }): ReactNode {
  const { name, start, actions, owner, isPersonal, enabled, createdAt, expiresAt, lastUsedAt } = apiKey;
  const label = name ?? start ?? texts.keys.unnamed;
  return (
    <li>
      <div>
        <Row wrap>
          <span className="name">{label}</span>
          {start !== undefined && <code className="muted">{start}…</code>}
          {!enabled && <span className="tag tag-warn">{texts.keys.disabled}</span>}
        </Row>
        <p className="muted caption">
          {texts.keys.owner(owner.name ?? owner.id)}
          {!isPersonal && `, ${texts.keys.ofServer}`}
        </p>
      </div>
      <Row wrap gap={4}>
        {actions.map((action) => (
          <span key={action} className="tag">
            {texts.actions[action] ?? action}
          </span>
        ))}
      </Row>
      <span className="muted caption">
        {texts.keys.created} <Time at={createdAt} />
        <br />
        {expiresAt === undefined ? texts.keys.noExpiry : texts.keys.expires}{" "}
        {expiresAt && <Time at={expiresAt} />}
        <br />
        {lastUsedAt === undefined ? texts.keys.unused : texts.keys.used}{" "}
        {lastUsedAt && <Time at={lastUsedAt} />}
      </span>
      <IconButton label={texts.keys.delete(label)} onClick={onDelete}>
        <Trash2 aria-hidden size={16} />
      </IconButton>
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
    onSettled: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
  return (
    <Dialog
      open={apiKey !== undefined}
      onClose={onClose}
      title={texts.keys.deleteTitle(apiKey?.name ?? apiKey?.start ?? "")}
      description={texts.keys.deleteWhat}
    >
      <FormError error={remove.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button tone="danger" busy={remove.isPending} onClick={() => apiKey && remove.mutate(apiKey.id)}>
          {texts.keys.deleteConfirm}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}
