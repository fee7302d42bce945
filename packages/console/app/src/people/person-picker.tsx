/** Finds one user by name, email or id. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { peopleQuery } from "../api/queries.ts";
import type { Person } from "../api/types.ts";
import { texts } from "../texts.ts";
import { PersonChip } from "../ui/avatar.tsx";
import { IconButton } from "../ui/button.tsx";
import { Combobox } from "../ui/combobox.tsx";
import { Stack } from "../ui/layout.tsx";
import { TYPING_PAUSE_MS } from "../ui/typing.ts";

interface PersonPickerProps {
  readonly person: Person | undefined;
  readonly onChange: (person: Person | undefined) => void;
}

const SHOWN = 6;

export function PersonPicker({ person, onChange }: PersonPickerProps): ReactNode {
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data, isFetching } = useInfiniteQuery({
    ...peopleQuery(asked),
    enabled: isOpen && person === undefined,
  });
  if (person !== undefined) {
    return (
      <Stack gap={4}>
        <span className="name">{texts.people.person}</span>
        <div className="chosen row">
          <PersonChip name={person.name} note={person.email} />
          <IconButton label={texts.people.other} onClick={() => onChange(undefined)}>
            <X aria-hidden size={16} />
          </IconButton>
        </div>
      </Stack>
    );
  }
  // While the answer for a new text is on its way, the old list must not offer people who do not match.
  const needle = typed.trim().toLowerCase();
  const people = (data?.pages ?? [])
    .flatMap((page) => page.people)
    .filter(({ id, name, email }) => id === typed.trim() || `${name} ${email}`.toLowerCase().includes(needle))
    .slice(0, SHOWN);
  return (
    <Combobox
      label={texts.people.person}
      labelled
      placeholder={texts.people.searchHint}
      text={typed}
      loading={isFetching || typed.trim() !== asked}
      onType={setTyped}
      onOpen={setOpen}
      onChoose={(id) => {
        onChange(people.find((one) => one.id === id));
        setTyped("");
      }}
      options={people.map(({ id, name, email }) => ({
        value: id,
        content: <PersonChip name={name} note={email} />,
      }))}
    />
  );
}
