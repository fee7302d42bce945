/** Environments side by side: what each decides itself, and what it takes from the flag. */
import { Plus, RotateCcw } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Flag, JsonValue, Rule } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { classes, Row, Stack } from "../ui/layout.tsx";
import { Menu } from "../ui/menu.tsx";
import { Select } from "../ui/select.tsx";
import { Empty } from "../ui/states.tsx";
import { TableScroll } from "../ui/table-scroll.tsx";
import { usePhone } from "../ui/use-phone.ts";
import { valueText } from "../ui/value.tsx";
import { ENVIRONMENT_FIELDS, type EnvironmentField, isSame } from "./draft/cells.ts";
import { countsIn, settingCell, settingOf, titleOf } from "./environments.ts";
import type { FlagDraft } from "./use-draft.ts";

const MOST_ON_PHONE = 2;

interface EnvironmentsTabProps {
  readonly draft: FlagDraft;
  /** Opens the targeting of an environment. */
  readonly onOpen: (name: string) => void;
}

export function EnvironmentsTab({ draft, onOpen }: EnvironmentsTabProps): ReactNode {
  const { next, environments, isReadOnly } = draft;
  const { list } = useSession().environments;
  const { columns, choose } = useColumns(environments);
  return (
    <Stack gap={16}>
      {environments.length === 0 ? (
        <Empty title={texts.environments.none} />
      ) : (
        <>
          <p className="soft">{texts.environments.what}</p>
          <TableScroll label={texts.flag.tabs.environments}>
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">
                    <span className="visually-hidden">{texts.environments.setting}</span>
                  </th>
                  {columns.map((name, place) => (
                    <th key={name} scope="col">
                      {choose === undefined ? (
                        <button
                          type="button"
                          className="link-button name"
                          aria-label={texts.environments.open(titleOf(name))}
                          onClick={() => onOpen(name)}
                        >
                          {titleOf(name)}
                        </button>
                      ) : (
                        <Select
                          quiet
                          label={texts.environments.column(place + 1)}
                          value={name}
                          options={environments.map((one) => [one, titleOf(one)])}
                          onChange={(one) => choose(place, one)}
                        />
                      )}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {ENVIRONMENT_FIELDS.map((field) => (
                  <tr key={field}>
                    <th scope="row">{texts.environments.fields[field]}</th>
                    {columns.map((name) => (
                      <Setting key={name} flag={next.flag} environment={name} field={field} />
                    ))}
                  </tr>
                ))}
                <tr>
                  <th scope="row">{texts.environments.fields.rules}</th>
                  {columns.map((name) => (
                    <td key={name}>{rulesText(next.rules, name)}</td>
                  ))}
                </tr>
                {!isReadOnly && (
                  <tr>
                    <th scope="row">
                      <span className="visually-hidden">{texts.environments.actions}</span>
                    </th>
                    {columns.map((name) => (
                      <td key={name}>
                        <Actions draft={draft} name={name} onOpen={onOpen} />
                      </td>
                    ))}
                  </tr>
                )}
              </tbody>
            </table>
          </TableScroll>
        </>
      )}
      {!isReadOnly && list === undefined && <NewEnvironment open={onOpen} />}
    </Stack>
  );
}

/** A phone shows two environments at a time. `choose`: shows another one in a column. */
function useColumns(environments: readonly string[]): {
  readonly columns: readonly string[];
  readonly choose?: (place: number, name: string) => void;
} {
  const isPhone = usePhone();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  if (!isPhone || environments.length <= MOST_ON_PHONE) return { columns: environments };
  const known = chosen.filter((name) => environments.includes(name));
  const columns = [...new Set([...known, ...environments])].slice(0, MOST_ON_PHONE);
  const choose = (place: number, name: string): void => {
    const replaced = columns[place] ?? name;
    // The environment of the other column changes places with this one.
    setChosen(columns.map((one, at) => (at === place ? name : one === name ? replaced : one)));
  };
  return { columns, choose };
}

interface SettingProps {
  readonly flag: Flag;
  readonly environment: string;
  readonly field: EnvironmentField;
}

function Setting({ flag, environment, field }: SettingProps): ReactNode {
  const { value, isOwn } = settingOf(flag, environment, field);
  const isOn = field === "enabled" && value === true;
  return (
    <td className={isOwn ? "" : "muted"}>
      <Row>
        {field === "enabled" && <span className={classes("dot", isOn && "dot-on")} aria-hidden="true" />}
        {settingText(field, value)}
        {isOwn && <span className="caption soft">{texts.environments.own}</span>}
      </Row>
    </td>
  );
}

function settingText(field: EnvironmentField, value: JsonValue | undefined): string {
  if (field === "enabled") return value === true ? texts.flags.on : texts.flags.off;
  if (value === undefined) return texts.environments.noRollout;
  return field === "rolloutPercentage" ? texts.percent(Number(value)) : valueText(value).slice(0, 40);
}

function rulesText(rules: readonly Rule[], name: string): string {
  return texts.environments.rulesOf(
    rules.filter((rule) => rule.enabled && countsIn(rule, name)).length,
    rules.length,
  );
}

interface ActionsProps extends EnvironmentsTabProps {
  readonly name: string;
}

function Actions({ draft, name, onOpen }: ActionsProps): ReactNode {
  const targets = draft.environments.filter((one) => one !== name);
  const hasOwn = ENVIRONMENT_FIELDS.some((field) => settingOf(draft.next.flag, name, field).isOwn);
  const reset = (): void => {
    for (const field of ENVIRONMENT_FIELDS) draft.set(settingCell(name, field), undefined);
  };
  return (
    <Row gap={4} wrap>
      {targets.length > 0 && (
        <Menu
          label={texts.environments.promote(titleOf(name))}
          text={texts.environments.promoteIt}
          items={targets.map((target) => ({
            label: texts.environments.promoteTo(titleOf(target)),
            onSelect: () => {
              promote(draft, name, target);
              onOpen(target);
            },
          }))}
        />
      )}
      {hasOwn && (
        <IconButton label={texts.environments.reset(titleOf(name))} onClick={reset}>
          <RotateCcw aria-hidden size={15} />
        </IconButton>
      )}
    </Row>
  );
}

/** The target decides what the source decides: its settings, and the rules that count there. */
function promote(draft: FlagDraft, source: string, target: string): void {
  const { flag, rules } = draft.next;
  for (const field of ENVIRONMENT_FIELDS) {
    const { value } = settingOf(flag, source, field);
    if (!isSame(value, settingOf(flag, target, field).value)) draft.set(settingCell(target, field), value);
  }
  for (const rule of rules) {
    const isWanted = countsIn(rule, source);
    if (isWanted === countsIn(rule, target)) continue;
    const named = rule.environments ?? [];
    const names = isWanted ? [...named, target] : named.filter((one) => one !== target);
    if (names.length === 0) draft.change((now) => now.deleteRule(rule.id));
    else draft.set({ rule: rule.id, field: "environments" }, names);
  }
}

function NewEnvironment({ open }: { readonly open: (name: string) => void }): ReactNode {
  const [name, setName] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== "") open(name.trim());
  };
  return (
    <form onSubmit={submit}>
      <Row align="end">
        <Field label={texts.environments.add}>
          <input maxLength={255} value={name} onChange={({ target }) => setName(target.value)} />
        </Field>
        <Button type="submit">
          <Plus aria-hidden size={15} /> {texts.common.add}
        </Button>
      </Row>
    </form>
  );
}
