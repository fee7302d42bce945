/** The gauges of a service, which are read when metrics are requested. */
import type { Service } from "../service.ts";

/** Registers the gauges of the snapshots and of the queues. */
export function observeService(service: Service): void {
  const { meter, store, events, exposures, tally, identities, streams } = service;
  const ofStore = (name: string, help: string, read: (figures: ReturnType<typeof store.figures>) => number) =>
    meter.observe(name, help, () => read(store.figures()));
  ofStore("snapshots", "Tenants whose snapshot is in memory.", ({ snapshots }) => snapshots);
  ofStore("snapshots_stale", "Snapshots in use that may be out of date.", ({ stale }) => stale);
  ofStore(
    "snapshot_age_seconds",
    "Seconds since the database last confirmed the oldest snapshot in use.",
    ({ oldestAgeMs }) => oldestAgeMs / 1000,
  );
  ofStore("revision", "Revision of the global flags.", ({ revision }) => revision);
  ofStore(
    "revision_lag",
    "Largest number of revisions by which a snapshot in use is behind the database.",
    ({ revisionLag }) => revisionLag,
  );
  // NaN leaves the gauge out if there is no bus.
  ofStore("bus_up", "1 while the bus delivers changes of other processes, 0 while it is down.", ({ bus }) =>
    bus === "off" ? Number.NaN : Number(bus === "up"),
  );
  meter.observe("event_queue_depth", "Requests with events that wait to be committed.", () => events.depth());
  meter.observe("exposure_queue_depth", "Exposures that wait to be written.", () => exposures.depth());
  meter.observe("tally_queue_depth", "Flags with evaluation counts that wait to be written.", () =>
    tally.depth(),
  );
  meter.observe("sessions_remembered", "Callers in the principal cache.", () => identities.principals.size);
  meter.observe(
    "live_subscribers",
    "Connections that are subscribed to flags.",
    () => service.live.figures.subscribers,
  );
  meter.observe(
    "live_waiting",
    "Subscribed connections whose values wait to be evaluated after a change.",
    () => service.live.figures.waiting,
  );
  meter.observe("event_streams", "Streams of events that OFREP clients have open.", () => streams.size());
  meter.observe("fast_path_on", "1 while the fast path answers requests, else 0.", () =>
    Number(service.fastPath.state === "on"),
  );
}
