/** Values for single users, which come before rules and rollout. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Trash2, UserPlus } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { ADMIN, overridesQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import type { Flag, JsonValue, Override, Person } from "../api/types.ts";
import { PersonName } from "../people/person-name.tsx";
import { PersonPicker } from "../people/person-picker.tsx";
import { useMay } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button, type ButtonTone, IconButton } from "../ui/button.tsx";
import { Dialog, DialogFooter } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { List, Row, Stack } from "../ui/layout.tsx";
import { Select } from "../ui/select.tsx";
import { Empty, Failure, FormError, Loading } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { showToast } from "../ui/toasts.tsx";
import { Value } from "../ui/value.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { Impact } from "./impact.tsx";
import { planInput, useCount } from "./use-count.ts";
import { useSave } from "./use-save.ts";

export function OverridesTab({ flag }: { flag: Flag }): ReactNode {
  const { data, error, refetch } = useQuery(overridesQuery({ flagId: flag.id }));
  const may = useMay();
  const [isAdding, setAdding] = useState(false);
  if (error !== null && data === undefined) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading rows={3} />;
  const addButton = (tone: ButtonTone) =>
    may("override") && (
      <Button tone={tone} onClick={() => setAdding(true)}>
        <UserPlus aria-hidden size={16} /> {texts.overrides.add}
      </Button>
    );
  return (
    <>
      {data.length === 0 ? (
        <Empty title={texts.overrides.none} icon={<UserPlus aria-hidden size={20} />}>
          <p className="soft">{texts.overrides.what}</p>
          {addButton("primary")}
        </Empty>
      ) : (
        <Stack gap={12}>
          <Row between wrap>
            <p className="soft">{texts.overrides.what}</p>
            {addButton("plain")}
          </Row>
          <List columns="overrides">
            {data.map((override) => (
              <OverrideRow key={override.id} override={override} canRemove={may("override")} />
            ))}
          </List>
        </Stack>
      )}
      <Dialog open={isAdding} onClose={() => setAdding(false)} title={texts.overrides.addTitle(flag.name)}>
        <OverrideForm flag={flag} onClose={() => setAdding(false)} />
      </Dialog>
    </>
  );
}

function OverrideRow({ override, canRemove }: { override: Override; canRemove: boolean }): ReactNode {
  const [isRemoving, setRemoving] = useState(false);
  return (
    <li className="row-with-link">
      <div>
        <Link to="/people/$id" params={{ id: override.userId }} className="row-link">
          <PersonName id={override.userId} />
        </Link>
        {override.reason !== undefined && <p className="muted wrap-anywhere">{override.reason}</p>}
      </div>
      <Value value={override.value} />
      <span className="muted caption">
        {override.expiresAt === undefined ? texts.overrides.forever : texts.overrides.until}{" "}
        {override.expiresAt !== undefined && <Time at={override.expiresAt} />}
      </span>
      {canRemove && (
        <IconButton label={texts.overrides.remove} onClick={() => setRemoving(true)}>
          <Trash2 aria-hidden size={16} />
        </IconButton>
      )}
      {isRemoving && <RemoveOverride {...override} onClose={() => setRemoving(false)} />}
    </li>
  );
}

interface RemoveOverrideProps {
  readonly id: string;
  readonly flagId: string;
  readonly onClose: () => void;
}

/** Asks, with what the person gets from then on. */
export function RemoveOverride({ id, flagId, onClose }: RemoveOverrideProps): ReactNode {
  const subject = `${id} override`;
  const input = planInput([{ flagId, overrides: { delete: [id] } }], []);
  const count = useCount(subject, input);
  const save = useSave(subject, {
    saveUncounted: () => request("DELETE", `${ADMIN}/overrides/${id}`),
    onSaved: () => {
      showToast({ tone: "done", text: texts.overrides.removed });
      onClose();
    },
  });
  const remove = (): void => save.mutate({ input, count });
  return (
    <Dialog open onClose={onClose} title={texts.overrides.removeTitle}>
      <Impact count={count} />
      <FormError error={save.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button tone="danger" busy={save.isPending} onClick={remove}>
          {texts.overrides.remove}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}

interface OverrideFormProps {
  readonly flag: Pick<Flag, "id" | "type" | "name">;
  readonly person?: Person;
  readonly value?: JsonValue;
  readonly onClose: () => void;
}

const DAYS = [0, 1, 7, 30].map((days): [string, string] => [String(days), texts.overrides.after(days)]);
const DAY_MS = 86_400_000;

export function OverrideForm({ flag, person: given, value: initial, onClose }: OverrideFormProps): ReactNode {
  const [person, setPerson] = useState(given);
  const [value, setValue] = useState<JsonValue>(
    initial ?? (flag.type === "boolean" ? true : EMPTY_VALUES[flag.type]),
  );
  const [reason, setReason] = useState("");
  const [days, setDays] = useState("7");
  const [now] = useState(Date.now);
  const override = {
    userId: person?.id ?? "",
    value,
    ...(reason.trim() !== "" && { reason: reason.trim() }),
    ...(days !== "0" && { expiresAt: new Date(now + Number(days) * DAY_MS).toISOString() }),
  };
  const subject = `${flag.id} override`;
  const input = planInput([{ flagId: flag.id, overrides: { create: [override] } }], []);
  const count = useCount(subject, person && input);
  const save = useSave(subject, {
    saveUncounted: () => request("POST", `${ADMIN}/overrides`, { body: { flagId: flag.id, ...override } }),
    onSaved: () => {
      showToast({ tone: "done", text: texts.overrides.added });
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (person !== undefined) save.mutate({ input, count });
  };
  return (
    <form className="stack gap-16" onSubmit={submit}>
      {given === undefined && <PersonPicker person={person} onChange={setPerson} />}
      <Field label={texts.overrides.value}>
        <ValueInput type={flag.type} value={value} onChange={setValue} />
      </Field>
      <Field label={texts.overrides.expires}>
        <Select value={days} options={DAYS} onChange={setDays} />
      </Field>
      <Field label={texts.overrides.reason}>
        <input value={reason} maxLength={255} onChange={({ target }) => setReason(target.value)} />
      </Field>
      {person !== undefined && <Impact count={count} />}
      <FormError error={save.error} />
      <DialogFooter>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" tone="primary" disabled={person === undefined} busy={save.isPending}>
          {texts.overrides.add}
        </Button>
      </DialogFooter>
    </form>
  );
}
