/** Where one writes. Enter sends; it works without a link too, for what is said waits for one. */
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

  // Whoever opens a room goes on to write in it; the button that was pressed may be gone.
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
