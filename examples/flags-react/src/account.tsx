/** Shows the signed-in user and their organizations, or buttons to sign in. */
import { PASSWORD } from "./password.ts";
import type { Account } from "./viewer.ts";

const PEOPLE = [
  { email: "ada@acme.example", role: "owner of Acme" },
  { email: "bob@example.com", role: "member of both" },
  { email: "gil@globex.example", role: "owner of Globex" },
];

export function AccountBar({ account }: { readonly account: Account }) {
  const { viewer, signIn, signOut, enter } = account;
  if (viewer === undefined) {
    return (
      <nav className="account" aria-label="Account">
        <span className="soft">Sign in as</span>
        {PEOPLE.map(({ email, role }) => (
          <button key={email} type="button" onClick={() => void signIn(email, PASSWORD)}>
            {email.split("@", 1)[0]} <small>{role}</small>
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
