/** The types of a Durable Object's class. */
import { expectTypeOf, test } from "vitest";
import {
  createDurableObjectHandler,
  type DurableObjectOptions,
  type DurableState,
} from "../src/adapters/cloudflare.ts";
import type { PublishResult } from "../src/index.ts";
import { createRouter, message, z } from "../src/zod.ts";

interface Data {
  readonly clientId: string;
  readonly userId: string;
}

const data = { userId: "guest" };
const News = message("NEWS", { text: z.string() });

/** As the platform declares it. */
declare abstract class PlatformObject<Env> {
  protected ctx: DurableState & { readonly id: string };
  protected env: Env;
  constructor(ctx: DurableState & { readonly id: string }, env: Env);
  fetch?(request: Request): Response | Promise<Response>;
  alarm?(info?: { readonly isRetry: boolean }): void | Promise<void>;
}

test("publish accepts the schema's input, and disconnect accepts plain data", () => {
  class Room extends createDurableObjectHandler(createRouter<Data>(), { data }) {
    announce(text: string) {
      // @ts-expect-error: the payload does not match the schema.
      void (() => this.publish("news", News, { words: text }));
      // @ts-expect-error: plain data only.
      void (() => this.disconnect({ data: { userId: { id: 1 } } }));
      expectTypeOf(this.disconnect).returns.toEqualTypeOf<Promise<number>>();
      return this.publish("news", News, { text });
    }
  }
  expectTypeOf<Room["announce"]>().returns.toEqualTypeOf<Promise<PublishResult>>();
  expectTypeOf<ConstructorParameters<typeof Room>>().toEqualTypeOf<[state: DurableState, env: unknown]>();
});

test("authenticate returns the router's data without clientId", () => {
  type Authenticate = NonNullable<DurableObjectOptions<Data>["authenticate"]>;
  type Given = Exclude<Awaited<ReturnType<Authenticate>>, undefined>;
  expectTypeOf<Given>().toHaveProperty("userId");
  expectTypeOf<Given>().not.toHaveProperty("clientId");
});

test("context may be created from the object's state and env", () => {
  void (() => {
    createDurableObjectHandler(createRouter<Data>(), { data, context: { region: "weur" } });
    createDurableObjectHandler(createRouter<Data>(), {
      data,
      context: (state, env) => {
        expectTypeOf(state).toEqualTypeOf<DurableState>();
        expectTypeOf(env).toEqualTypeOf<unknown>();
        return { storage: state.storage };
      },
    });
    createDurableObjectHandler(createRouter<Data>(), {
      data,
      base: PlatformObject<{ readonly SECRET: string }>,
      context: (state, env) => {
        expectTypeOf(state.id).toEqualTypeOf<string>();
        return { secret: env.SECRET };
      },
    });
  });
});

test("a class with a base has the members of the base, including the type of env", () => {
  const make = () => {
    const router = createRouter<Data>();
    return class Room extends createDurableObjectHandler(router, {
      data,
      base: PlatformObject<{ readonly SECRET: string }>,
    }) {
      override async alarm(): Promise<void> {
        await super.alarm();
      }
      secret(): string {
        return this.env.SECRET;
      }
    };
  };
  expectTypeOf<InstanceType<ReturnType<typeof make>>["secret"]>().returns.toEqualTypeOf<string>();
});
