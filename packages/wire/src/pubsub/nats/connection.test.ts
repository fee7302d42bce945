import { expect, test } from "vitest";
import { type NatsConnection, publishUnlessDraining } from "./connection.ts";

test("a connection that the application drains or has closed gets no more pings, and nothing fails", () => {
  const published: string[] = [];
  let isClosed = false;
  let isDraining = false;
  const connection = {
    isClosed: () => isClosed,
    publish(subject: string) {
      if (isDraining || isClosed) throw new Error("connection draining");
      published.push(subject);
    },
  } as unknown as NatsConnection;
  publishUnlessDraining(connection, "a", "");
  isDraining = true;
  publishUnlessDraining(connection, "b", "");
  isClosed = true;
  publishUnlessDraining(connection, "c", "");
  expect(published).toEqual(["a"]);
});
