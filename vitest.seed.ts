import fc from "fast-check";

// Property tests repeat the run HALYARD_SEED names; without it each run looks somewhere else, and a failure prints its seed.
const seed = process.env["HALYARD_SEED"];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });
