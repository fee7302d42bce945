/** The command palette: flags, people, screens and actions by name. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Flag as FlagIcon, Keyboard, type LucideIcon, MoonStar, Plus, Power, UserRound } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useEffect, useState } from "react";
import { flagsQuery, peopleQuery } from "../api/queries.ts";
import type { Flag } from "../api/types.ts";
import { FlagSwitchDialogs } from "../flag/flag-switch.tsx";
import { texts } from "../texts.ts";
import { useScreens } from "./screens.ts";
import { useMay } from "./session.tsx";
import { chooseTheme, readTheme } from "./theme.ts";

interface CommandPaletteProps {
  readonly close: () => void;
  readonly openHelp: () => void;
}

interface Action {
  readonly name: string;
  readonly label: string;
  readonly icon: LucideIcon;
  readonly onSelect: () => void;
}

const SHOWN = 8;
const SHOWN_SWITCHES = 3;
const PAUSE_MS = 120;

export function CommandPalette({ close, openHelp }: CommandPaletteProps): ReactNode {
  const navigate = useNavigate();
  const may = useMay();
  const screens = useScreens().flatMap(({ list }) => list);
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const flags = useInfiniteQuery(flagsQuery({ q: asked === "" ? undefined : asked, sort: "-updatedAt" }));
  const people = useInfiniteQuery({ ...peopleQuery(asked), enabled: asked !== "" && may("evaluate-as") });
  const run = (action: () => void): (() => void) => {
    return () => {
      close();
      action();
    };
  };
  const matches = (text: string): boolean => text.toLowerCase().includes(typed.trim().toLowerCase());
  const isDark = readTheme() === "dark";
  const reached = screens.filter(({ label }) => matches(label));
  const isAnswered = typed.trim() === asked && !flags.isPlaceholderData;
  // While the answer for a new text is on its way, the old list must not offer flags that do not match.
  const found = (flags.data?.pages[0]?.flags ?? [])
    .filter(({ name, key, description }) => isAnswered || matches(`${name} ${key} ${description}`))
    .slice(0, SHOWN);
  const [active, setActive] = useState("");
  const [switched, setSwitched] = useState<Flag>();
  const actions: Action[] = [
    ...(may("update") && asked !== "" ? found.slice(0, SHOWN_SWITCHES) : []).map((flag) => ({
      name: flag.id,
      label: texts.palette.turn(flag.name, !flag.enabled),
      icon: Power,
      onSelect: () => setSwitched(flag),
    })),
    ...[
      ...(may("create")
        ? [
            {
              name: "create",
              label: texts.flags.create,
              icon: Plus,
              onSelect: run(() => void navigate({ to: "/", search: { create: true } })),
            },
          ]
        : []),
      {
        name: "theme",
        label: texts.palette.theme(!isDark),
        icon: MoonStar,
        onSelect: run(() => chooseTheme(isDark ? "light" : "dark")),
      },
      { name: "shortcuts", label: texts.shortcuts.title, icon: Keyboard, onSelect: run(openHelp) },
    ].filter(({ label }) => matches(label)),
  ];
  const persons = asked === "" ? [] : (people.data?.pages[0]?.people.slice(0, SHOWN) ?? []);
  const values = [
    ...found.map(({ id }) => `flag ${id}`),
    ...actions.map(({ name }) => `action ${name}`),
    ...persons.map(({ id }) => `person ${id}`),
    ...reached.map(({ to }) => `screen ${to}`),
  ];
  if (switched !== undefined) return <FlagSwitchDialogs flag={switched} onClose={close} />;
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content className="palette" aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">{texts.palette.title}</Dialog.Title>
          <Command
            shouldFilter={false}
            label={texts.palette.title}
            loop
            // A row that is no longer found cannot stay the chosen one.
            value={values.includes(active) ? active : (values[0] ?? "")}
            onValueChange={setActive}
          >
            <Command.Input value={typed} onValueChange={setTyped} placeholder={texts.palette.hint} />
            <Command.List label={texts.palette.results}>
              <Command.Empty>{texts.palette.none}</Command.Empty>
              <Command.Group heading={texts.nav.flags}>
                {found.map(({ id, key, name, enabled }) => (
                  <Command.Item
                    className="option"
                    key={id}
                    value={`flag ${id}`}
                    onSelect={run(() => void navigate({ to: "/flag/$key", params: { key } }))}
                  >
                    <FlagIcon aria-hidden size={16} />
                    <span>{name}</span>
                    <span className="muted caption cut">{key}</span>
                    <span className="muted">{enabled ? texts.flags.on : texts.flags.off}</span>
                  </Command.Item>
                ))}
              </Command.Group>
              {actions.length > 0 && (
                <Command.Group heading={texts.palette.actions}>
                  {actions.map(({ name, label, icon: Icon, onSelect }) => (
                    <Command.Item className="option" key={name} value={`action ${name}`} onSelect={onSelect}>
                      <Icon aria-hidden size={16} />
                      <span>{label}</span>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              {persons.length > 0 && (
                <Command.Group heading={texts.nav.people}>
                  {persons.map(({ id, name, email }) => (
                    <Command.Item
                      className="option"
                      key={id}
                      value={`person ${id}`}
                      onSelect={run(() => void navigate({ to: "/people/$id", params: { id } }))}
                    >
                      <UserRound aria-hidden size={16} />
                      <span>{name}</span>
                      <span className="muted">{email}</span>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              {reached.length > 0 && (
                <Command.Group heading={texts.palette.goTo}>
                  {reached.map(({ to, label, icon: Icon }) => (
                    <Command.Item
                      className="option"
                      key={to}
                      value={`screen ${to}`}
                      onSelect={run(() => void navigate({ to }))}
                    >
                      <Icon aria-hidden size={16} />
                      <span>{label}</span>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
