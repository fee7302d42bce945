/** A modal dialog with a title, and a sheet that comes from the side. Focus stays inside; Escape closes. */
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { texts } from "../texts.ts";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: string;
  readonly children: ReactNode;
  readonly size?: "small" | "wide" | "side";
  /** Marks a change of production. */
  readonly isProduction?: boolean;
}

/** Where a person begins: a field, else the harmless button. */
const FIRST_FIELD = ".dialog-body :is(input, select, textarea), .dialog-footer button";

export function Dialog(props: DialogProps): ReactNode {
  const { open, onClose, title, description, children, size = "small", isProduction = false } = props;
  const content = useRef<HTMLDivElement>(null);
  const opener = useRef<Element>(null);
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          ref={content}
          onOpenAutoFocus={(event) => {
            opener.current = document.activeElement;
            const first = content.current?.querySelector<HTMLElement>(FIRST_FIELD);
            if (!first) return;
            event.preventDefault();
            first.focus();
          }}
          // Radix returns the focus only to a trigger of its own.
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            const isFree = document.activeElement === document.body;
            if (isFree && opener.current instanceof HTMLElement) opener.current.focus();
          }}
          className={`dialog dialog-${size}${isProduction ? " dialog-production" : ""}`}
          {...(description === undefined && { "aria-describedby": undefined })}
        >
          <header className="dialog-header">
            <Radix.Title className="dialog-title">{title}</Radix.Title>
            <Radix.Close className="icon-button" aria-label={texts.common.close}>
              <X aria-hidden size={18} />
            </Radix.Close>
          </header>
          {description !== undefined && (
            <Radix.Description className="dialog-description muted">{description}</Radix.Description>
          )}
          <div className="dialog-body">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
