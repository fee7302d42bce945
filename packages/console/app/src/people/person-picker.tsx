/** Finds one user by name, email or id. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from "react";
import { peopleQuery } from "../api/queries.ts";
import type { Person } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Avatar } from "../ui/avatar.tsx";
import { TYPING_PAUSE_MS } from "../ui/typing.ts";

interface PersonPickerProps {
  readonly person: Person | undefined;
  readonly onChange: (person: Person | undefined) => void;
}

const SHOWN = 6;

/** A combobox with a list: arrow keys choose, Enter takes, Escape closes. */
export function PersonPicker({ person, onChange }: PersonPickerProps): ReactNode {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data } = useInfiniteQuery({ ...peopleQuery(asked), enabled: isOpen && person === undefined });
  // While the answer for a new text is on its way, the old list must not offer people who do not match.
  const needle = typed.trim().toLowerCase();
  const people = (data?.pages ?? [])
    .flatMap((page) => page.people)
    .filter(
      ({ id: own, name, email }) => own === typed.trim() || `${name} ${email}`.toLowerCase().includes(needle),
    )
    .slice(0, SHOWN);
  if (person !== undefined) {
    return (
      <div className="field">
        <span className="label">{texts.people.person}</span>
        <div className="picked">
          <Avatar name={person.name} />
          <span>
            {person.name} <span className="muted">{person.email}</span>
          </span>
          <button
            type="button"
            className="icon-button"
            aria-label={texts.people.other}
            onClick={() => onChange(undefined)}
          >
            <X aria-hidden size={16} />
          </button>
        </div>
      </div>
    );
  }
  const take = (chosen: Person | undefined): void => {
    if (chosen === undefined) return;
    onChange(chosen);
    setOpen(false);
    setTyped("");
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setActive((place) => Math.min(place + 1, people.length - 1));
    else if (event.key === "ArrowUp") setActive((place) => Math.max(place - 1, 0));
    else if (event.key === "Enter" && isOpen && people.length > 0) take(people[active]);
    else if (event.key === "Escape" && isOpen) setOpen(false);
    else return;
    event.preventDefault();
    if (event.key === "Escape") event.stopPropagation();
  };
  const isShown = isOpen && people.length > 0;
  return (
    <div className="field picker">
      <label htmlFor={id}>{texts.people.person}</label>
      <input
        id={id}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(isShown && { "aria-activedescendant": `${id}-${active}` })}
        autoComplete="off"
        placeholder={texts.people.searchHint}
        value={typed}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
        onChange={({ target }) => {
          setTyped(target.value);
          setActive(0);
          setOpen(true);
        }}
      />
      {isShown && (
        <div role="listbox" id={`${id}-list`} className="picker-list" aria-label={texts.people.title}>
          {people.map((one, place) => (
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <div
              role="option"
              key={one.id}
              id={`${id}-${place}`}
              aria-selected={place === active}
              className="picker-option"
              onMouseDown={(event) => {
                event.preventDefault();
                take(one);
              }}
            >
              <Avatar name={one.name} />
              <span>
                {one.name} <span className="muted">{one.email}</span>
              </span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
