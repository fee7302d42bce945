/** The message input. Enter sends. Without a connection the message waits. */
import { type FormEvent, useEffect, useRef, useState } from "react";

const MAX_CHARACTERS = 500;

interface ComposerProps {
  readonly room: string;
  readonly onType: () => void;
  readonly onSay: (text: string) => void;
}

export function Composer({ room, onType, onSay }: ComposerProps) {
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);

  // The input gets the focus when a room opens, because the pressed button may no longer exist.
  useEffect(() => input.current?.focus(), []);

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (text.trim() === "") return;
    onSay(text.trim());
    setText("");
    input.current?.focus();
  }

  return (
    <form className="composer" onSubmit={submit}>
      <label className="quiet" htmlFor="text">
        Message to {room}
      </label>
      <input
        ref={input}
        id="text"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value !== "") onType();
        }}
        placeholder={`Message to ${room}`}
        maxLength={MAX_CHARACTERS}
        autoComplete="off"
        enterKeyHint="send"
      />
      <button type="submit" className="primary" disabled={text.trim() === ""}>
        Send
      </button>
    </form>
  );
}
