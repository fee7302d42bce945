/** Shows the value, the variant and the reason of each flag. */
import { useFlagsStatus } from "@halyard/flags/react";
import { type FlagName, flags } from "./flags.ts";
import { useFeatureFlagDetails } from "./hooks.ts";

export function FlagTable() {
  return (
    <section className="panel">
      <h2>
        What you see, and why <Connection />
      </h2>
      <table>
        <thead>
          <tr>
            <th scope="col">flag</th>
            <th scope="col">value</th>
            <th scope="col">variant</th>
            <th scope="col">why</th>
          </tr>
        </thead>
        <tbody>
          {(Object.keys(flags) as FlagName[]).map((name) => (
            <FlagRow key={name} name={name} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

const CONNECTIONS = {
  live: "changes arrive at once",
  polling: "no socket: changes arrive within 30 s",
  connecting: "connecting…",
  closed: "no changes arrive",
  off: "connecting…",
};

function Connection() {
  const { connection } = useFlagsStatus();
  return (
    <small className="connection" data-connection={connection}>
      {CONNECTIONS[connection]}
    </small>
  );
}

function FlagRow({ name }: { readonly name: FlagName }) {
  const { value, variant, reason, status } = useFeatureFlagDetails(name);
  return (
    <tr data-flag={name} data-status={status}>
      <th scope="row">{name}</th>
      <td>
        <code>{JSON.stringify(value)}</code>
      </td>
      <td>{variant ?? "–"}</td>
      <td>{status === "loading" ? "loading…" : (reason ?? "not found")}</td>
    </tr>
  );
}
