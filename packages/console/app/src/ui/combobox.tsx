/** A field with a list of choices below it. Arrow keys move, Enter takes, Escape closes. */
import { ChevronDown } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { texts } from "../texts.ts";
import { classes } from "./layout.tsx";

export interface ComboboxOption {
  readonly value: string;
  /** What the list shows. Default: the value. */
  readonly content?: ReactNode;
  /** At the end of the row, such as a count. */
  readonly note?: ReactNode;
}

interface ComboboxProps {
  readonly id?: string;
  readonly label: string;
  /** Whether the label is shown above the field. */
  readonly labelled?: boolean;
  /** What is typed. */
  readonly text: string;
  readonly onType: (text: string) => void;
  readonly onChoose: (value: string) => void;
  readonly options: readonly ComboboxOption[];
  readonly loading?: boolean;
  readonly placeholder?: string;
  /** Any text is a value, so that nothing found is no mistake. */
  readonly free?: boolean;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
  /** Before the text, such as a shield. */
  readonly icon?: ReactNode;
  readonly onOpen?: (isOpen: boolean) => void;
  /** The focus has left the field. */
  readonly onLeave?: () => void;
  readonly className?: string;
}

export function Combobox(props: ComboboxProps): ReactNode {
  const { label, labelled = false, text, onType, onChoose, options, loading = false, free = false } = props;
  const { placeholder, error, disabled = false, icon, onOpen, onLeave, className } = props;
  const own = useId();
  const id = props.id ?? own;
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(free ? -1 : 0);
  const list = useRef<HTMLDivElement>(null);
  const show = (next: boolean): void => {
    setOpen(next);
    onOpen?.(next);
    setActive(free ? -1 : 0);
  };
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const take = (option: ComboboxOption | undefined): void => {
    if (option === undefined) return;
    onChoose(option.value);
    show(false);
  };
  const move = (step: number): void => {
    if (!isOpen) return show(true);
    setActive((place) => Math.min(Math.max(place + step, 0), options.length - 1));
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && isOpen && options[active] !== undefined) take(options[active]);
    else if (event.key === "Escape" && isOpen) {
      show(false);
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  const isEmpty = options.length === 0;
  const isShown = isOpen && !(isEmpty && free && !loading);
  return (
    <div className={classes("combobox", labelled && "stack gap-4", className)}>
      {labelled && (
        <label className="name" htmlFor={id}>
          {label}
        </label>
      )}
      <div className="inside">
        {icon}
        <input
          id={id}
          role="combobox"
          {...(!labelled && { "aria-label": label })}
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          {...(isShown && options[active] && { "aria-activedescendant": `${id}-${active}` })}
          {...(error !== undefined && { "aria-invalid": true, "aria-describedby": `${id}-error` })}
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholder}
          disabled={disabled}
          value={text}
          onFocus={() => show(true)}
          onBlur={() => {
            show(false);
            onLeave?.();
          }}
          onClick={() => show(true)}
          onKeyDown={press}
          onChange={({ target }) => {
            onType(target.value);
            show(true);
          }}
        />
        <ChevronDown aria-hidden size={14} className="chevron" />
        {/* The list is there while it is closed, so that the field can name it. */}
        <div
          role="listbox"
          id={`${id}-list`}
          className="options"
          aria-label={label}
          hidden={!isShown}
          ref={list}
        >
          {isEmpty ? (
            // biome-ignore lint/a11y/useFocusableInteractive: as below
            <div role="option" aria-selected="false" aria-disabled="true" className="option muted">
              {loading ? texts.common.loading : texts.palette.none}
            </div>
          ) : (
            options.map((option, place) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active row
              <div
                role="option"
                key={option.value}
                id={`${id}-${place}`}
                aria-selected={place === active}
                className="option"
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(option);
                }}
              >
                {option.content ?? option.value}
                {option.note !== undefined && <span className="muted number">{option.note}</span>}
              </div>
            ))
          )}
        </div>
      </div>
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
