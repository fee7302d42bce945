/** A labelled control, with a hint and an error that screen readers connect to it. */
import { cloneElement, type ReactElement, type ReactNode, useId } from "react";

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly children: ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;
}

/** The id of a field's label, for a control that `htmlFor` cannot reach. */
export function labelIdOf(id: string): string {
  return `${id}-label`;
}

export function Field({ label, hint, error, children }: FieldProps): ReactNode {
  const id = useId();
  const described = [hint ? `${id}-hint` : "", error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return (
    <div className="field stack gap-4">
      <label htmlFor={id} id={labelIdOf(id)}>
        {label}
      </label>
      {cloneElement(children, {
        id,
        ...(described !== "" && { "aria-describedby": described }),
        ...(error && { "aria-invalid": true }),
      })}
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
