import { readFileSync } from "node:fs";

/**
 * Loaded before the servers of the scenario `clocks`: their clock of the wall is wrong by as many milliseconds as the file
 * CLOCK_FILE says, which is read again on SIGUSR2. The clock that never jumps stays as it is, as on a machine whose time is set.
 */
const own = Date;
let wrong = 0;
const read = (): void => {
  wrong = Number(readFileSync(process.env["CLOCK_FILE"] ?? "", "utf8"));
};
const now = (): number => own.now() + wrong;

read();
process.on("SIGUSR2", read);
globalThis.Date = new Proxy(own, {
  construct: (target, given: unknown[], made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
});
