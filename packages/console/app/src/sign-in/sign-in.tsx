/** Sign-in with email and password, or a link to the application's own page. Also over a screen whose session has expired. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { LogIn } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { signIn } from "../api/sign-in.ts";
import type { ConsoleSession } from "../api/types.ts";
import { texts } from "../texts.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Panel, Stack } from "../ui/layout.tsx";
import { Mark } from "../ui/mark.tsx";
import { FormError } from "../ui/states.tsx";

export function SignInScreen({ session }: { session: ConsoleSession }): ReactNode {
  return (
    <main className="center">
      <Panel className="card-alone">
        <Stack gap={16}>
          <Mark size={36} />
          <div>
            <h1>{texts.signIn.title}</h1>
            <p className="soft">{texts.signIn.why}</p>
          </div>
          <Methods session={session} email="" />
        </Stack>
      </Panel>
    </main>
  );
}

export function SignInDialog({ session, email }: { session: ConsoleSession; email: string }): ReactNode {
  return (
    <Dialog
      open
      onClose={() => location.reload()}
      title={texts.signIn.expired}
      description={texts.signIn.expiredWhy}
    >
      <Methods session={session} email={email} />
    </Dialog>
  );
}

function Methods({ session, email }: { session: ConsoleSession; email: string }): ReactNode {
  const { emailAndPassword, signInUrl } = session;
  return (
    <>
      {emailAndPassword && <PasswordForm initialEmail={email} />}
      {signInUrl !== undefined && (
        <a className={buttonClass(emailAndPassword ? "plain" : "primary")} href={withReturn(signInUrl)}>
          <LogIn aria-hidden size={16} /> {texts.signIn.atApp}
        </a>
      )}
      {!emailAndPassword && signInUrl === undefined && <p>{texts.signIn.noMethod}</p>}
    </>
  );
}

function PasswordForm({ initialEmail }: { initialEmail: string }): ReactNode {
  const client = useQueryClient();
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState("");
  const enter = useMutation({
    mutationFn: () => signIn({ email, password }),
    onSuccess: () => client.invalidateQueries(),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    enter.mutate();
  };
  return (
    <form className="stack gap-16" onSubmit={submit}>
      <Field label={texts.signIn.email}>
        <input
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={({ target }) => setEmail(target.value)}
        />
      </Field>
      <Field label={texts.signIn.password}>
        <input
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </Field>
      <FormError error={enter.error} />
      <Button type="submit" tone="primary" busy={enter.isPending}>
        {texts.signIn.submit}
      </Button>
    </form>
  );
}

/** The application's page gets the address of the console, to return to it. */
function withReturn(url: string): string {
  const target = new URL(url, location.href);
  target.searchParams.set("callbackURL", location.pathname + location.search);
  return target.href;
}
