import fc from "fast-check";

// With HALYARD_SEED, property tests repeat that run. Without it, each run tests other cases, and a failure prints its seed.
const seed = process.env["HALYARD_SEED"];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });
