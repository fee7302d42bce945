/** The conversation, and the form for the next question. */

import { startCall } from "@halyard/wire/client";
import { useClient, useConnectionState, useMessage } from "@halyard/wire/react";
import { type FormEvent, useCallback, useEffect, useState } from "react";
import { Ask, Conversation, type EntryOf, Started } from "../messages.ts";
import { Answer } from "./answer.tsx";

const STATES = {
  open: "Connected",
  connecting: "Connecting …",
  reconnecting: "Reconnecting …",
  closing: "Closing …",
  closed: "Not connected",
} as const;

export function Assistant({ user }: { readonly user: string }) {
  const client = useClient();
  const state = useConnectionState();
  const [entries, setEntries] = useState<readonly EntryOf[]>([]);
  const [text, setText] = useState("");

  const add = useCallback(
    (more: readonly EntryOf[]) =>
      setEntries((before) => [
        ...before,
        ...more.filter(({ id }) => before.every((entry) => entry.id !== id)),
      ]),
    [],
  );
  // Other windows of the user start answers too. After a reconnection some may be missing.
  useMessage(Started, (entry) => add([entry]));
  useEffect(() => {
    if (state !== "open") return;
    client.request(Conversation).then(
      ({ payload }) => add(payload.entries),
      () => undefined,
    );
  }, [client, state, add]);

  // The server publishes the new entry, to this window too; the answer reads the call by its id.
  const ask = (question: string, words = 0): void => {
    const call = startCall(client, Ask, { question, words });
    void call.result.catch(() => undefined);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() === "") return;
    ask(text.trim());
    setText("");
  };

  return (
    <main>
      <header>
        <h1>Assistant</h1>
        <p role="status" data-state={state}>
          {STATES[state]} as <strong>{user}</strong>
        </p>
      </header>
      <ol aria-label="Conversation">
        {entries.map((entry) => (
          <Answer key={entry.id} entry={entry} onContinue={(words) => ask(entry.question, words)} />
        ))}
      </ol>
      {entries.length === 0 && (
        <p className="empty">Ask something. The answer goes on when you close this window.</p>
      )}
      <form onSubmit={submit}>
        <label htmlFor="question">Question</label>
        <input id="question" value={text} onChange={(event) => setText(event.target.value)} maxLength={500} />
        <button type="submit">Ask</button>
      </form>
    </main>
  );
}
