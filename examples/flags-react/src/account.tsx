/** The head of the page: who is signed in, and for which organization. */
import { PASSWORD } from "./password.ts";
import type { Account } from "./viewer.ts";

const PEOPLE = [
  { email: "ada@acme.example", is: "runs Acme" },
  { email: "bob@example.com", is: "works for both" },
  { email: "gil@globex.example", is: "runs Globex" },
];

export function AccountBar({ account }: { readonly account: Account }) {
  const { viewer, signIn, signOut, enter } = account;
  if (viewer === undefined) {
    return (
      <nav className="account" aria-label="Account">
        <span className="soft">Sign in as</span>
        {PEOPLE.map(({ email, is }) => (
          <button key={email} type="button" onClick={() => void signIn(email, PASSWORD)}>
            {email.split("@", 1)[0]} <small>{is}</small>
          </button>
        ))}
      </nav>
    );
  }
  return (
    <nav className="account" aria-label="Account">
      {viewer.organizations.map(({ id, name }) => (
        <button key={id} type="button" aria-pressed={id === viewer.active} onClick={() => void enter(id)}>
          {name}
        </button>
      ))}
      <span className="soft">{viewer.email}</span>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </nav>
  );
}
