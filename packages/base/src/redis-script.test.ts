import { describe, expect, test, vi } from "vitest";
import { scriptRunner } from "./redis-script.ts";

const SCRIPT = "return KEYS[1] .. ARGV[1]";
/** `printf 'return KEYS[1] .. ARGV[1]' | sha1sum` */
const HASH = "dc8235f4444d746adf3374579406c129fb1f0f0a";

/** A server that knows a script once it was sent as text. */
function server() {
  const sent: string[] = [];
  let isKnown = false;
  return {
    sent,
    async run(command: string, keys: readonly string[], args: readonly string[]) {
      sent.push(command);
      if (command === "hash" && !isKnown) throw new Error("NOSCRIPT No matching script. Please use EVAL.");
      isKnown = true;
      return [...keys, ...args].join();
    },
  };
}
type Server = ReturnType<typeof server>;

const CLIENTS: readonly { name: string; client(server: Server): object }[] = [
  {
    name: "redis",
    client: ({ run }) => ({
      evalSha: (hash: string, { keys, arguments: args }: { keys: string[]; arguments: string[] }) =>
        run(hash === HASH ? "hash" : hash, keys, args),
      eval: (text: string, { keys, arguments: args }: { keys: string[]; arguments: string[] }) =>
        run(text, keys, args),
    }),
  },
  {
    name: "ioredis",
    client: ({ run }) => ({
      evalsha: (hash: string, count: number, ...rest: string[]) =>
        run(hash === HASH ? "hash" : hash, rest.slice(0, count), rest.slice(count)),
      eval: (text: string, count: number, ...rest: string[]) =>
        run(text, rest.slice(0, count), rest.slice(count)),
    }),
  },
  {
    name: "Bun",
    client: ({ run }) => ({
      send(command: string, [text = "", count = "", ...rest]: string[]) {
        expect(command).toBe(text === HASH ? "EVALSHA" : "EVAL");
        return run(text === HASH ? "hash" : text, rest.slice(0, Number(count)), rest.slice(Number(count)));
      },
    }),
  },
];

describe.each(CLIENTS)("on a client of $name", ({ client }) => {
  test("a script is sent once, and its hash from then on", async () => {
    const redis = server();
    const run = scriptRunner(client(redis), SCRIPT);
    expect(await run?.(["a", "b"], ["1"])).toBe("a,b,1");
    expect(await run?.(["c"], ["2", "3"])).toBe("c,2,3");
    expect(redis.sent).toEqual(["hash", SCRIPT, "hash"]);
  });

  test("an error of the script is not a reason to run it again", async () => {
    const redis = { ...server(), run: vi.fn(async () => Promise.reject(new Error("ERR of the script"))) };
    await expect(scriptRunner(client(redis), SCRIPT)?.([], [])).rejects.toThrow("ERR of the script");
    expect(redis.run).toHaveBeenCalledOnce();
  });
});

test("no other object is taken for a client", () => {
  for (const stranger of [undefined, null, "redis", {}, { eval() {} }, { evalSha() {} }])
    expect(scriptRunner(stranger, SCRIPT)).toBeUndefined();
});
