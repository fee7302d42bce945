/** The environment that the screen shows. It is in the address. */
import type { ReactNode } from "react";
import type { Flag } from "../api/types.ts";
import { texts } from "../texts.ts";
import { classes } from "../ui/layout.tsx";
import { Segmented } from "../ui/segmented.tsx";
import { Select } from "../ui/select.tsx";
import { ALL_ENVIRONMENTS, settingOf, titleOf } from "./environments.ts";

interface EnvironmentChoiceProps {
  readonly flag: Flag;
  readonly environments: readonly string[];
  readonly environment: string | undefined;
  readonly onChange: (name: string) => void;
}

const MOST_SEGMENTS = 5;

export function EnvironmentChoice(props: EnvironmentChoiceProps): ReactNode {
  const { flag, environments, environment = ALL_ENVIRONMENTS, onChange } = props;
  if (environments.length === 0) return null;
  const names = [...environments, ALL_ENVIRONMENTS];
  const label = texts.targeting.environment;
  const textOf = (name: string): string => (name === ALL_ENVIRONMENTS ? texts.targeting.all : titleOf(name));
  if (names.length > MOST_SEGMENTS) {
    return (
      <Select
        label={label}
        value={environment}
        options={names.map((name) => [name, textOf(name)])}
        onChange={onChange}
      />
    );
  }
  return (
    <Segmented
      label={label}
      value={environment}
      onChange={onChange}
      options={names.map((name) => [
        name,
        <>
          {name !== ALL_ENVIRONMENTS && (
            <span
              className={classes("dot", settingOf(flag, name, "enabled").value === true && "dot-on")}
              aria-hidden="true"
            />
          )}
          {textOf(name)}
        </>,
      ])}
    />
  );
}
