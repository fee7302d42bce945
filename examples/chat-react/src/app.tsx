/** The sign-in form, or the chat with the user's client. */
import { WireProvider } from "@halyard/wire/react";
import { useState } from "react";
import { Chat } from "./chat.tsx";
import { createSession, type Session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

export function App() {
  const [session, setSession] = useState<Session>();
  if (session === undefined) return <SignIn onName={(name) => setSession(createSession(name))} />;
  // The provider connects when it is mounted and closes the client when it is unmounted.
  return (
    <WireProvider client={session.client}>
      <Chat session={session} onLeave={() => setSession(undefined)} />
    </WireProvider>
  );
}
