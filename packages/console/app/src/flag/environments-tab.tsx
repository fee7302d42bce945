/** Environments side by side: what each decides itself, and what it takes from the flag. */
import { ArrowUpRight, Plus, RotateCcw } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Flag, Rule } from "../api/types.ts";
import { useSession } from "../shell/session.tsx";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Row, Stack } from "../ui/layout.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { Empty } from "../ui/states.tsx";
import { TableScroll } from "../ui/table-scroll.tsx";
import { valueText } from "../ui/value.tsx";
import { ENVIRONMENT_FIELDS, type EnvironmentField, isSame } from "./draft/cells.ts";
import { countsIn, settingCell, settingOf, titleOf } from "./environments.ts";
import type { FlagDraft } from "./use-draft.ts";

interface EnvironmentsTabProps {
  readonly draft: FlagDraft;
  /** Opens the targeting of an environment. */
  readonly onOpen: (name: string) => void;
}

export function EnvironmentsTab({ draft, onOpen }: EnvironmentsTabProps): ReactNode {
  const { next, environments, isReadOnly } = draft;
  const { list } = useSession().environments;
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
                  {environments.map((name) => (
                    <th key={name} scope="col">
                      <Row>
                        <button
                          type="button"
                          className="link-button name"
                          aria-label={texts.environments.open(titleOf(name))}
                          onClick={() => onOpen(name)}
                        >
                          {titleOf(name)}
                        </button>
                        {!isReadOnly && (
                          <Menu
                            label={texts.environments.actions(titleOf(name))}
                            items={actionsOf(draft, name, onOpen)}
                          />
                        )}
                      </Row>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {ENVIRONMENT_FIELDS.map((field) => (
                  <tr key={field}>
                    <th scope="row">{texts.environments.fields[field]}</th>
                    {environments.map((name) => (
                      <Setting key={name} flag={next.flag} environment={name} field={field} />
                    ))}
                  </tr>
                ))}
                <tr>
                  <th scope="row">{texts.environments.fields.rules}</th>
                  {environments.map((name) => (
                    <td key={name}>{rulesText(next.rules, name)}</td>
                  ))}
                </tr>
              </tbody>
            </table>
          </TableScroll>
        </>
      )}
      {!isReadOnly && list === undefined && <NewEnvironment open={onOpen} />}
    </Stack>
  );
}

interface SettingProps {
  readonly flag: Flag;
  readonly environment: string;
  readonly field: EnvironmentField;
}

function Setting({ flag, environment, field }: SettingProps): ReactNode {
  const { value, isOwn } = settingOf(flag, environment, field);
  const text =
    field === "enabled"
      ? value === true
        ? texts.flags.on
        : texts.flags.off
      : value === undefined
        ? texts.environments.noRollout
        : field === "rolloutPercentage"
          ? `${valueText(value)}%`
          : valueText(value).slice(0, 40);
  return <td className={isOwn ? "name" : "muted"}>{text}</td>;
}

function rulesText(rules: readonly Rule[], name: string): string {
  return texts.environments.rulesOf(
    rules.filter((rule) => rule.enabled && countsIn(rule, name)).length,
    rules.length,
  );
}

function actionsOf(draft: FlagDraft, name: string, onOpen: (name: string) => void): MenuItem[] {
  const targets = draft.environments.filter((one) => one !== name);
  const hasOwn = ENVIRONMENT_FIELDS.some((field) => settingOf(draft.next.flag, name, field).isOwn);
  return [
    ...targets.map((target) => ({
      label: texts.environments.promote(titleOf(target)),
      icon: <ArrowUpRight aria-hidden size={15} />,
      onSelect: () => {
        promote(draft, name, target);
        onOpen(target);
      },
    })),
    ...(hasOwn
      ? [
          {
            label: texts.environments.reset,
            icon: <RotateCcw aria-hidden size={15} />,
            onSelect: () => {
              for (const field of ENVIRONMENT_FIELDS) draft.set(settingCell(name, field), undefined);
            },
          },
        ]
      : []),
  ];
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
