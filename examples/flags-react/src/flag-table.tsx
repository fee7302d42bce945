/** Shows the value, the variant and the reason of each flag. */
import { type FlagName, flags } from "./flags.ts";
import { useFeatureFlagDetails } from "./hooks.ts";

export function FlagTable() {
  return (
    <section className="panel">
      <h2>What you see, and why</h2>
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
