/** Lets owners turn the flags of their organization on and off with the admin client. */
import { useCallback, useEffect, useState } from "react";
import { authClient } from "./client.ts";

const { admin, subscribe } = authClient.featureFlags;

interface Switch {
  readonly id: string;
  readonly key: string;
  readonly enabled: boolean;
}

export function Switches({ organizationId }: { readonly organizationId: string }) {
  const [switches, setSwitches] = useState<readonly Switch[]>();
  const [problem, setProblem] = useState<string>();

  const read = useCallback(async () => {
    const { data, error } = await admin.flags.list({ organizationId, sort: "key" });
    setSwitches(data?.flags ?? []);
    setProblem(error?.status === 403 ? "You cannot change these flags." : error?.message);
  }, [organizationId]);
  useEffect(() => void read(), [read]);
  // Another window, or another owner, may turn a flag.
  useEffect(() => {
    const changes = subscribe();
    changes.on("flag:updated", () => void read());
    return () => changes.close();
  }, [read]);

  async function turn({ id, enabled }: Switch): Promise<void> {
    // At once, so that a second press turns it back.
    setSwitches((list) => list?.map((one) => (one.id === id ? { ...one, enabled: !enabled } : one)));
    await admin.flags.update(id, { enabled: !enabled });
    // The server pushes the new value to every window. Components that read the flag render again.
    await read();
  }

  return (
    <section className="panel">
      <h2>The organization's own flags</h2>
      {problem !== undefined && <p className="soft">{problem}</p>}
      <ul className="switches">
        {switches?.map((one) => (
          <li key={one.id}>
            <label>
              <input
                type="checkbox"
                role="switch"
                checked={one.enabled}
                aria-checked={one.enabled}
                onChange={() => void turn(one)}
              />
              {one.key}
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}
