/** A search field whose text is in the address of its screen. */
import { useRouter } from "@tanstack/react-router";
import { SearchIcon } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { TYPING_PAUSE_MS } from "./typing.ts";

interface SearchInputProps {
  readonly label: string;
  readonly hint: string;
  /** The text in the address. */
  readonly q: string;
  /** Changes the address. */
  readonly onChange: (q: string) => void;
}

export function SearchInput({ label, hint, q, onChange }: SearchInputProps): ReactNode {
  const { history } = useRouter();
  const [typed, setTyped] = useState(q);
  /** What the address has because of this field. Any other change of the address comes from elsewhere and wins. */
  const sent = useRef(q);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the pause
  useEffect(() => {
    if (typed.trim() === sent.current) return;
    const { pathname } = history.location;
    const timer = setTimeout(() => {
      // The next screen is still loading. A change of the address would return to this one.
      if (history.location.pathname !== pathname) return;
      sent.current = typed.trim();
      onChange(sent.current);
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setTyped(q);
  }, [q]);
  return (
    <div className="inside search">
      <SearchIcon aria-hidden size={16} />
      <input
        type="search"
        aria-label={label}
        placeholder={hint}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={({ key, currentTarget }) => key === "Escape" && currentTarget.blur()}
      />
      <kbd>/</kbd>
    </div>
  );
}
