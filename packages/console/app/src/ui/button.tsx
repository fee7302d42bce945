/** Buttons. A screen has one that is filled. */
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { classes } from "./layout.tsx";

export type ButtonTone = "primary" | "plain" | "quiet" | "danger";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: ButtonTone;
  readonly small?: boolean;
  /** It works: the label gives way to a turning circle, the width stays. */
  readonly busy?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** For a link that looks like a button. */
export function buttonClass(tone: ButtonTone = "plain", small = false): string {
  return classes("button", tone !== "plain" && `button-${tone}`, small && "button-small");
}

export function Button(props: ButtonProps): ReactNode {
  const { tone, small, busy = false, disabled = false, type = "button", className, ...rest } = props;
  return (
    <button
      {...rest}
      type={type}
      className={classes(buttonClass(tone, small), className)}
      disabled={disabled}
      {...(busy && { "aria-busy": true, "aria-disabled": true, onClick: (event) => event.preventDefault() })}
    />
  );
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** Its name, which is also its title. */
  readonly label: string;
  readonly ref?: Ref<HTMLButtonElement>;
}

export function IconButton({ label, className, ...rest }: IconButtonProps): ReactNode {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classes("icon-button", className)}
    />
  );
}
