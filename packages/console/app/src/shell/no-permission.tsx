/** What a person without any permission sees, at every address: what is missing, and how to ask for it. */
import { Copy } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { copyText } from "../ui/copy.ts";
import { Panel, Row, Stack } from "../ui/layout.tsx";
import { Mark } from "../ui/mark.tsx";
import { Toasts } from "../ui/toasts.tsx";
import type { SignedIn } from "./session.tsx";
import { useSignOut } from "./sign-out.ts";

export function NoPermission({ user }: { user: SignedIn["user"] }): ReactNode {
  const leave = useSignOut();
  return (
    <main className="center">
      <Panel className="card-alone">
        <Stack gap={16}>
          <Mark size={36} />
          <h1>{texts.noPermission.title}</h1>
          <Stack gap={4}>
            <p className="soft">{texts.noPermission.signedIn(user.email)}</p>
            <p className="soft">{texts.noPermission.needs}</p>
            <p className="soft">
              {texts.noPermission.ask} <code>{texts.noPermission.permission}</code>
            </p>
          </Stack>
          <Row wrap>
            <Button
              tone="primary"
              onClick={() => void copyText(texts.noPermission.request(user.email, location.href))}
            >
              <Copy aria-hidden size={15} /> {texts.noPermission.copy}
            </Button>
            <Button tone="quiet" busy={leave.isPending} onClick={() => leave.mutate()}>
              {texts.shell.signOut}
            </Button>
            <a className={buttonClass("quiet")} href="/">
              {texts.noPermission.back}
            </a>
          </Row>
        </Stack>
      </Panel>
      <div className="dock">
        <Toasts />
      </div>
    </main>
  );
}
