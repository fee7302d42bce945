/** Who is here: nobody yet, or somebody with a client of their own. */
import { WireProvider } from "@halyard/wire/react";
import { useState } from "react";
import { Chat } from "./chat.tsx";
import { createSession, type Session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

export function App() {
  const [session, setSession] = useState<Session>();
  if (session === undefined) return <SignIn onName={(name) => setSession(createSession(name))} />;
  // The provider connects while it is there, and closes the client once it is gone.
  return (
    <WireProvider client={session.client}>
      <Chat session={session} onLeave={() => setSession(undefined)} />
    </WireProvider>
  );
}
