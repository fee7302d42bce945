import { metrics, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WsError } from "../../src/index.ts";
import { type LogEntry, logger, telemetry } from "../../src/middleware/index.ts";
import { createTestServer } from "../../src/testing/index.ts";
import { answersTo, errorsOf, outcomeOf, sendFrame } from "./frames.ts";
import { libraries } from "./libraries.ts";

describe.each(libraries)(
  "guide/middleware: Writing middleware ($name)",
  ({ name, createRouter, message, rpc, string }) => {
    const Note = message("NOTE", { text: string() });
    const Call = rpc(`${name}_CALL`, undefined, "CALLED", undefined);

    test("middleware runs only for valid messages with a handler", async () => {
      const seen: string[] = [];
      const router = createRouter()
        .use((ctx, next) => {
          seen.push(ctx.type);
          return next();
        })
        .on(Note, () => undefined);
      const peer = await createTestServer(router).connect();
      await sendFrame(peer, { type: "UNKNOWN", meta: {} });
      await sendFrame(peer, { type: "NOTE", meta: {}, payload: { text: 1 } });
      await sendFrame(peer, { type: "NOTE", meta: { extra: 1 }, payload: { text: "x" } });
      await sendFrame(peer, { type: "$ws:ping", meta: {} });
      expect(seen).toEqual([]);
      await peer.send(Note, { text: "x" });
      expect(seen).toEqual(["NOTE"]);
    });

    test("middleware that calls neither next nor error counts as a handler that settled without an answer", async () => {
      const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
      onTestFinished(() => warn.mockRestore());
      const handled: string[] = [];
      const router = createRouter()
        .use(() => undefined)
        .rpc(Call, (ctx) => void handled.push(ctx.type));
      const server = createTestServer(router);
      const peer = await server.connect();
      await peer.send(Call, undefined, { correlationId: "1" });
      expect(answersTo(peer, "1")).toEqual([]);
      expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`${name}_CALL`));
      await server.clock.advance(30_000);
      expect(outcomeOf(peer, "1")).toBe("DEADLINE_EXCEEDED");
      expect(handled).toEqual([]);
    });

    test("an error thrown by middleware is handled like an error of the handler, before and after next", async () => {
      const reported: string[] = [];
      const router = createRouter()
        .onError((error) => void reported.push(error.code))
        .use(async (ctx, next) => {
          if (ctx.meta.correlationId === "before") throw new WsError("PERMISSION_DENIED");
          await next();
          throw new WsError("ABORTED");
        })
        .rpc(Call, () => undefined);
      const peer = await createTestServer(router).connect();
      for (const correlationId of ["before", "after"]) await peer.send(Call, undefined, { correlationId });
      expect([outcomeOf(peer, "before"), outcomeOf(peer, "after")]).toEqual(["PERMISSION_DENIED", "ABORTED"]);
      expect(reported).toEqual(["PERMISSION_DENIED", "ABORTED"]);
    });

    test("middleware may catch an error of the handler and reply instead", async () => {
      const reported: string[] = [];
      const router = createRouter()
        .onError((error) => void reported.push(error.code))
        .use(async (ctx, next) => {
          try {
            await next();
          } catch {
            ctx.error("UNAVAILABLE", "try later");
          }
        })
        .rpc(Call, () => {
          throw new Error("boom");
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Call, undefined, { correlationId: "1" });
      expect(outcomeOf(peer, "1")).toBe("UNAVAILABLE");
      expect(reported).toEqual([]);
    });

    test("a second call of next is an error, and the handler runs once", async () => {
      const handled: string[] = [];
      const router = createRouter()
        .onError(() => undefined)
        .use(async (_ctx, next) => {
          await next();
          await next();
        })
        .on(Note, (ctx) => handled.push(ctx.payload.text));
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "x" });
      expect(handled).toEqual(["x"]);
      expect(errorsOf(peer)).toMatchObject([{ code: "INTERNAL" }]);
    });

    test("middleware also wraps routes that were registered before it", async () => {
      const log: string[] = [];
      const router = createRouter().on(Note, () => log.push("handler"));
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "x" });
      router.use((_ctx, next) => {
        log.push("late");
        return next();
      });
      await peer.send(Note, { text: "x" });
      expect(log).toEqual(["handler", "late", "handler"]);
    });
  },
);

describe.each(libraries)(
  "guide/middleware: Built-in middleware ($name)",
  ({ name, createRouter, message, rpc, string }) => {
    const Note = message("NOTE", { text: string() });
    const Call = rpc(`${name}_CALL`, undefined, "CALLED", undefined);

    test("logger reports each message once, with type, client, kind, outcome and duration, and no payload", async () => {
      const entries: LogEntry[] = [];
      const times = [10, 15, 20, 27];
      const router = createRouter()
        .onError(() => undefined)
        .use(logger({ log: (entry) => entries.push(entry), now: () => times.shift() ?? 0 }))
        .on(Note, () => undefined)
        .rpc(Call, () => {
          throw new WsError("NOT_FOUND", "my password is hunter2");
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "hunter2" });
      await peer.send(Call, undefined, { correlationId: "1" });
      const clientId = expect.any(String);
      expect(entries).toEqual([
        { type: "NOTE", clientId, isRpc: false, durationMs: 5, outcome: "done" },
        {
          type: `${name}_CALL`,
          clientId,
          correlationId: "1",
          isRpc: true,
          durationMs: 7,
          outcome: "failed",
          error: "NOT_FOUND",
        },
      ]);
    });

    test("telemetry creates a span and two metrics per message, with stable names", async () => {
      const spans = new InMemorySpanExporter();
      const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
      const reader = new PeriodicExportingMetricReader({
        exporter: measured,
        exportIntervalMillis: 3_600_000,
      });
      trace.setGlobalTracerProvider(
        new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
      );
      const meters = new MeterProvider({ readers: [reader] });
      metrics.setGlobalMeterProvider(meters);
      onTestFinished(async () => {
        await meters.shutdown();
        trace.disable();
        metrics.disable();
      });
      const router = createRouter()
        .onError(() => undefined)
        .use(telemetry())
        .on(Note, () => undefined)
        .rpc(Call, () => {
          throw new WsError("NOT_FOUND");
        });
      const peer = await createTestServer(router).connect();
      await peer.send(Note, { text: "hi" });
      await peer.send(Call);
      await vi.waitFor(() => expect(spans.getFinishedSpans()).toHaveLength(2));
      expect(spans.getFinishedSpans().map((span) => [span.name, span.attributes])).toEqual([
        ["wire NOTE", { "halyard.wire.type": "NOTE", "halyard.wire.kind": "event" }],
        [
          `wire ${name}_CALL`,
          {
            "halyard.wire.type": `${name}_CALL`,
            "halyard.wire.kind": "rpc",
            "halyard.wire.error": "NOT_FOUND",
          },
        ],
      ]);
      await reader.forceFlush();
      const names = measured
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap((scope) => scope.metrics.map(({ descriptor }) => descriptor.name));
      expect(names.sort()).toEqual(["halyard.wire.duration", "halyard.wire.messages"]);
    });
  },
);
