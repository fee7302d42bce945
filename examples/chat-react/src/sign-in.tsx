/** The sign-in form. The server knows six names and refuses any other. */
import { useState } from "react";
import { Flag } from "./flag.tsx";

const NAMES = ["ada", "bob", "cara", "dan", "eve", "fay"];

export function SignIn({ onName }: { readonly onName: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <main className="sign-in">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          onName(name.trim().toLowerCase());
        }}
      >
        <Flag />
        <h1>Halyard chat</h1>
        <p>Who are you?</p>
        <ul className="names">
          {NAMES.map((known) => (
            <li key={known}>
              <button type="button" onClick={() => onName(known)}>
                {known}
              </button>
            </li>
          ))}
        </ul>
        <label htmlFor="name">Or another name</label>
        <div className="field">
          <input
            id="name"
            value={name}
            onChange={(event) => setName(event.target.value)}
            pattern="\s*[A-Za-z]{1,20}\s*"
            title="Up to 20 letters"
            autoComplete="off"
            autoCapitalize="none"
            required
          />
          <button type="submit" className="primary">
            Enter
          </button>
        </div>
      </form>
    </main>
  );
}
