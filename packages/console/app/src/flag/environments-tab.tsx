/** Environments side by side: what each one sets itself, and what it takes from the flag. */
import { Plus, Trash2 } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { EnvironmentSettings, Flag } from "../api/types.ts";
import { useMay, useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Field } from "../ui/field.tsx";
import { Empty } from "../ui/states.tsx";
import { EMPTY_VALUES, ValueInput } from "../ui/value-input.tsx";
import { environmentsOf, isProduction } from "./environments.ts";
import { SaveBar } from "./save-bar.tsx";
import { useDraft } from "./use-draft.ts";

export function EnvironmentsTab({ flag }: { flag: Flag }): ReactNode {
  const draft = useDraft(flag);
  const may = useMay();
  const disabled = !may("update");
  const { next, set } = draft;
  const environments = environmentsOf(next);
  const replace = (name: string, settings: EnvironmentSettings | undefined): void => {
    const removed = Object.keys(flag.environments?.[name] ?? {}).map((field) => [field, null]);
    const change = settings === undefined ? null : { ...Object.fromEntries(removed), ...settings };
    set({ environments: { ...draft.fields?.environments, [name]: change } });
  };
  return (
    <>
      <p className="muted">{texts.environments.what}</p>
      {environments.length === 0 && <Empty title={texts.environments.none} />}
      <div className="environment-cards">
        {environments.map(({ name, settings }) => (
          <section
            key={name}
            className={isProduction(name) ? "card environment-card card-production" : "card environment-card"}
            aria-label={name}
          >
            <header className="card-header">
              <h2>{name}</h2>
              <button
                type="button"
                className="icon-button"
                aria-label={texts.environments.remove(name)}
                disabled={disabled}
                onClick={() => replace(name, undefined)}
              >
                <Trash2 aria-hidden size={16} />
              </button>
            </header>
            <Settings flag={next} settings={settings} disabled={disabled} set={(one) => replace(name, one)} />
          </section>
        ))}
      </div>
      {!disabled && (
        <NewEnvironment taken={environments.map(({ name }) => name)} add={(name) => replace(name, {})} />
      )}
      <SaveBar flag={flag} draft={draft} />
    </>
  );
}

interface SettingsProps {
  readonly flag: Flag;
  readonly settings: EnvironmentSettings;
  readonly disabled: boolean;
  readonly set: (settings: EnvironmentSettings) => void;
}

function Settings({ flag, settings, disabled, set }: SettingsProps): ReactNode {
  const { enabled, rolloutPercentage, ...values } = settings;
  return (
    <div className="form">
      <Field label={texts.environments.state}>
        <select
          disabled={disabled}
          value={enabled === undefined ? "" : String(enabled)}
          onChange={({ target }) =>
            set({
              ...values,
              ...(rolloutPercentage !== undefined && { rolloutPercentage }),
              ...(target.value !== "" && { enabled: target.value === "true" }),
            })
          }
        >
          <option value="">
            {texts.environments.asFlag(flag.enabled ? texts.flags.on : texts.flags.off)}
          </option>
          <option value="true">{texts.flags.on}</option>
          <option value="false">{texts.flags.off}</option>
        </select>
      </Field>
      <Field label={texts.environments.rollout} hint={texts.environments.rolloutHint}>
        <input
          type="number"
          min={0}
          max={100}
          disabled={disabled}
          placeholder={
            flag.rolloutPercentage === undefined ? texts.environments.noRollout : `${flag.rolloutPercentage}`
          }
          value={rolloutPercentage ?? ""}
          onChange={({ target }) =>
            set({
              ...values,
              ...(enabled !== undefined && { enabled }),
              ...(target.value !== "" && {
                rolloutPercentage: Math.min(100, Math.max(0, Math.round(target.valueAsNumber))),
              }),
            })
          }
        />
      </Field>
      {settings.defaultValue === undefined ? (
        <button
          type="button"
          className="button button-quiet"
          disabled={disabled}
          onClick={() => set({ ...settings, defaultValue: flag.defaultValue ?? EMPTY_VALUES[flag.type] })}
        >
          <Plus aria-hidden size={15} /> {texts.environments.ownValue}
        </button>
      ) : (
        <Field label={texts.environments.value}>
          <ValueInput
            type={flag.type}
            value={settings.defaultValue}
            disabled={disabled}
            onChange={(defaultValue) => set({ ...settings, defaultValue })}
          />
        </Field>
      )}
    </div>
  );
}

function NewEnvironment({
  taken,
  add,
}: {
  taken: readonly string[];
  add: (name: string) => void;
}): ReactNode {
  const { environments } = useSession();
  const [name, setName] = useState("");
  const offered = [environments.default, ...(environments.claimable ?? []), "production", "staging"].filter(
    (one): one is string => one !== undefined && !taken.includes(one),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === "" || taken.includes(name.trim())) return;
    add(name.trim());
    setName("");
  };
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field label={texts.environments.add}>
        <input
          list="known-environments"
          maxLength={255}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </Field>
      <datalist id="known-environments">
        {[...new Set(offered)].map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <button type="submit" className="button">
        <Plus aria-hidden size={15} /> {texts.common.add}
      </button>
    </form>
  );
}
