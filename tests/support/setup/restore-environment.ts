import { afterAll } from "vitest";

const before = { ...process.env };

/** Files of the project `fast` share a process: none leaves its variables to the next one. */
afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
