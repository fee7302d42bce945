/** Chooses a flag by its name or key; flags are offered while typing. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { flagsQuery } from "../api/queries.ts";
import { texts } from "../texts.ts";
import { Combobox } from "../ui/combobox.tsx";
import { TYPING_PAUSE_MS } from "../ui/typing.ts";

interface FlagPickerProps {
  readonly flagKey: string;
  readonly onChange: (key: string) => void;
  readonly hint?: string;
  /** Whether the label is shown. */
  readonly labelled?: boolean;
}

const SHOWN = 50;

export function FlagPicker(props: FlagPickerProps): ReactNode {
  const { flagKey, onChange, hint = texts.explain.flagHint, labelled = false } = props;
  const [typed, setTyped] = useState(flagKey);
  const [asked, setAsked] = useState("");
  useEffect(() => setTyped(flagKey), [flagKey]);
  useEffect(() => {
    // The chosen key would find only itself.
    const timer = setTimeout(() => setAsked(typed === flagKey ? "" : typed.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, flagKey]);
  const { data, isFetching } = useInfiniteQuery(
    flagsQuery({ q: asked === "" ? undefined : asked, sort: "name" }),
  );
  return (
    <Combobox
      label={texts.explain.flag}
      labelled={labelled}
      placeholder={hint}
      text={typed}
      loading={isFetching}
      onType={(text) => {
        setTyped(text);
        if (text === "") onChange("");
      }}
      onChoose={onChange}
      onLeave={() => typed.trim() !== flagKey && onChange(typed.trim())}
      options={(data?.pages[0]?.flags ?? [])
        .slice(0, SHOWN)
        .map(({ key, name }) => ({ value: key, content: <span className="cut">{name}</span>, note: key }))}
    />
  );
}
