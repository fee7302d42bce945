/** The environment that the screen shows. It is in the address. */
import type { ReactNode } from "react";
import type { Flag } from "../api/types.ts";
import { texts } from "../texts.ts";
import { classes } from "../ui/layout.tsx";
import { Segmented } from "../ui/segmented.tsx";
import { Select } from "../ui/select.tsx";
import { usePhone } from "../ui/use-phone.ts";
import { ALL_ENVIRONMENTS, settingOf, titleOf } from "./environments.ts";

interface EnvironmentChoiceProps {
  readonly flag: Flag;
  readonly environments: readonly string[];
  readonly environment: string | undefined;
  readonly onChange: (name: string) => void;
}

const MOST_SEGMENTS = 5;
const MOST_ON_PHONE = 3;

export function EnvironmentChoice(props: EnvironmentChoiceProps): ReactNode {
  const { flag, environments, environment = ALL_ENVIRONMENTS, onChange } = props;
  const most = usePhone() ? MOST_ON_PHONE : MOST_SEGMENTS;
  if (environments.length === 0) return null;
  const names = [...environments, ALL_ENVIRONMENTS];
  const label = texts.targeting.environment;
  const textOf = (name: string): string => (name === ALL_ENVIRONMENTS ? texts.targeting.all : titleOf(name));
  if (names.length > most) {
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
