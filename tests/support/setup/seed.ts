import fc from "fast-check";

/** Properties take their seed from `SEED`, so that a gate with one says the same of the same sources. */
const seed = process.env["SEED"];
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
