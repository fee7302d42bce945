/** What the service measures, for operators: `GET /feature-flags/metrics`, and the figures that are read on demand. */
import { admitToService } from "./access.ts";
import { answer, type Call } from "./call.ts";
import { VERSION } from "./health.ts";
import { renderMetrics } from "./metrics-text.ts";
import { ROUTES } from "./routes.ts";
import type { Service } from "./service.ts";

export function getMetrics(service: Service, call: Call): Promise<string> {
  return answer(call, "STORAGE_ERROR", async () => {
    await admitToService(service, call, ROUTES.getFeatureFlagsMetrics.action);
    return renderMetrics(service.meter.figures(), VERSION);
  });
}

/** The gauges of the flags in memory, and of what waits to be written. */
export function observeService(service: Service): void {
  const { meter, store, events, exposures, tally, principals } = service;
  const ofStore = (name: string, help: string, read: (figures: ReturnType<typeof store.figures>) => number) =>
    meter.observe(name, help, () => read(store.figures()));
  ofStore("snapshots", "Tenants whose flags are in memory.", ({ snapshots }) => snapshots);
  ofStore("snapshots_stale", "Of those in use, the ones that may be out of date.", ({ stale }) => stale);
  ofStore(
    "snapshot_age_seconds",
    "Since the database last confirmed the oldest flags in use.",
    ({ oldestAgeMs }) => oldestAgeMs / 1000,
  );
  ofStore(
    "revision",
    "The revision of the flags that belong to no organization.",
    ({ revision }) => revision,
  );
  ofStore(
    "revision_lag",
    "The most revisions that flags in use are known to be behind the database.",
    ({ revisionLag }) => revisionLag,
  );
  // Without a bus there is nothing to say.
  ofStore(
    "bus_up",
    "Whether changes made elsewhere are heard of at once; 0 while the bus is down.",
    ({ bus }) => (bus === "off" ? Number.NaN : Number(bus === "up")),
  );
  meter.observe("event_queue_depth", "Requests whose events wait to be committed.", () => events.depth());
  meter.observe("exposure_queue_depth", "Exposures that wait to be written.", () => exposures.depth());
  meter.observe("tally_queue_depth", "Flags whose evaluations wait to be written.", () => tally.depth());
  meter.observe(
    "sessions_remembered",
    "Callers whose credentials were checked lately.",
    () => principals.size,
  );
  meter.observe("fast_path_on", "Whether requests are answered before Better Auth is entered.", () =>
    Number(service.fastPath.state === "on"),
  );
}
