/** Chooses a flag by its key; keys are offered while typing. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { flagsQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";

export function FlagPicker({
  flagKey,
  onChange,
}: {
  flagKey: string;
  onChange: (key: string) => void;
}): ReactNode {
  const id = useId();
  const [typed, setTyped] = useState(flagKey);
  const { data } = useInfiniteQuery(flagsQuery({ q: typed === "" ? undefined : typed, sort: "key" }));
  const flags = (data?.pages[0]?.flags ?? []).slice(0, 50);
  return (
    <div className="field">
      <label htmlFor={id}>{texts.explain.flag}</label>
      <input
        id={id}
        list={`${id}-flags`}
        autoComplete="off"
        value={typed}
        placeholder={texts.explain.flagHint}
        onChange={({ target }) => {
          setTyped(target.value);
          if (target.value === "" || flags.some(({ key }) => key === target.value)) onChange(target.value);
        }}
        onBlur={() => typed !== flagKey && onChange(typed.trim())}
      />
      <datalist id={`${id}-flags`}>
        {flags.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </datalist>
    </div>
  );
}
