/** API keys: which ones exist, what they may do, and new ones whose secret is shown once. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CONSOLE, keysQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { ConsoleKey } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { DeleteDialog } from "../ui/delete-dialog.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { List, Page, Row } from "../ui/layout.tsx";
import { Empty, Failure, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { NewKey } from "./new-key.tsx";

export function KeysScreen(): ReactNode {
  const { apiKeys } = useSession();
  const { data, error, isPending, refetch } = useQuery({ ...keysQuery(), enabled: apiKeys });
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<ConsoleKey>();
  const client = useQueryClient();
  const remove = (): Promise<unknown> =>
    request("POST", `${CONSOLE}/delete-key`, { body: { id: deleted?.id ?? "" } }).finally(
      () => void client.invalidateQueries({ queryKey: ["keys"] }),
    );
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
      <DeleteDialog
        open={deleted !== undefined}
        onClose={() => setDeleted(undefined)}
        name={deleted === undefined ? "" : nameOf(deleted)}
        what={texts.keys.deleteWhat}
        confirm={texts.keys.deleteConfirm}
        onDelete={remove}
      />
    </Page>
  );
}

const nameOf = ({ name, start }: ConsoleKey): string => name ?? start ?? texts.keys.unnamed;

function KeyRow({ apiKey, onDelete }: { apiKey: ConsoleKey; onDelete: () => void }): ReactNode {
  const { start, actions, owner, isPersonal, enabled, createdAt, expiresAt, lastUsedAt } = apiKey;
  const label = nameOf(apiKey);
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
