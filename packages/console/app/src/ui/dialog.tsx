/** A modal dialog: its title asks, its button answers. On a phone it comes from below; `side` comes from the side. */
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useRef } from "react";
import { texts } from "../texts.ts";
import { Row, Stack } from "./layout.tsx";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly size?: "small" | "wide" | "side";
}

/** Where a person begins: a field, else the harmless button. */
const FIRST_FIELD = ".dialog-body :is(input, select, textarea), .dialog-footer button";

export function Dialog(props: DialogProps): ReactNode {
  const { open, onClose, title, description, children, size = "small" } = props;
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
          // Escape closes an open list in the dialog first.
          onEscapeKeyDown={(event) => {
            if (document.activeElement?.matches("[role=combobox][aria-expanded=true]"))
              event.preventDefault();
          }}
          className={`dialog dialog-${size}`}
          {...(description === undefined && { "aria-describedby": undefined })}
        >
          <Stack gap={16}>
            <Stack gap={4}>
              <Row between align="start">
                <Radix.Title className="dialog-title">{title}</Radix.Title>
                <Radix.Close className="icon-button dialog-close" aria-label={texts.common.close}>
                  <X aria-hidden size={16} />
                </Radix.Close>
              </Row>
              {description !== undefined && (
                <Radix.Description className="soft">{description}</Radix.Description>
              )}
            </Stack>
            <div className="dialog-body">{children}</div>
          </Stack>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The buttons at the end of a dialog, the one that answers last. */
export function DialogFooter({ children }: { readonly children: ReactNode }): ReactNode {
  return <footer className="dialog-footer row wrap end">{children}</footer>;
}
