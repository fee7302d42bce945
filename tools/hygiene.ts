/**
 * Finds what must not be committed: machine paths, registry hosts, muted tests, connections whose errors end a run,
 * unfinished source.
 */

interface Rule {
  readonly about: string;
  readonly applies: (file: string) => boolean;
  readonly pattern: RegExp;
}

const isTest = (file: string): boolean => /\.test\.tsx?$|(?:^|\/)test\//.test(file);
/** Runs only while the repository is tested or measured. Examples are whole applications, which listen themselves. */
const isPrivate = (file: string): boolean =>
  isTest(file) || (/^(?:bench|services|tools)\//.test(file) && file !== "services/postgres-pool.ts");
const isSource = (file: string): boolean => /^packages\/[^/]+\/src\//.test(file);
const isLock = (file: string): boolean => file.endsWith("package-lock.json");

const RULES: readonly Rule[] = [
  {
    about: "a path of one machine; write it relative to the repository",
    applies: (file) => !isLock(file),
    pattern: /(?<![\w.~})-])\/(?:work|home|root|Users)\/\w/,
  },
  {
    about: "a package registry; each machine has its own setting for that",
    applies: (file) => !isLock(file),
    pattern: /\bregistry\.[a-z0-9-]+\.[a-z]{2,}|^\s*(?:@[\w-]+:)?registry\s*=/,
  },
  {
    about: "a download address; install with omit-lockfile-registry-resolved=true",
    applies: isLock,
    pattern: /"resolved": "\w+:\/\//,
  },
  {
    about: "a test that is muted, or that mutes all others",
    applies: isTest,
    pattern: /\.(?:only|skip|todo)(?=[.(])/,
  },
  {
    about:
      "a PostgreSQL pool whose errors end the process; open it with openPool() of services/postgres-pool.ts",
    applies: isPrivate,
    pattern: /\bnew (?:\w+\.)?(?:Postgres|Pg)?Pool\(/,
  },
  {
    about: 'a Redis client whose errors end the process; add .on("error", …) before .connect()',
    applies: isPrivate,
    pattern: /\bawait create(?:Client|Cluster|Sentinel)\((?!.*\.on\("error").*\)\.connect\(/,
  },
  {
    about: "unfinished work; finish it or open an issue",
    applies: isSource,
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/,
  },
];

/** Every line of a file that breaks a rule. */
export function findBreaches(file: string, text: string): string[] {
  const rules = RULES.filter((rule) => rule.applies(file));
  return text
    .split("\n")
    .flatMap((line, index) =>
      rules
        .filter((rule) => rule.pattern.test(line))
        .map((rule) => `${file}:${index + 1}: ${rule.about}: ${line.trim().slice(0, 120)}`),
    );
}
