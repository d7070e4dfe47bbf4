import { join } from "node:path";
import { projectFolder } from "../source-files.ts";

/** What programs of the project are started with, beside their own variables; as with `npm start`, Node keeps what it compiled. */
export const programEnvironment = {
  PATH: process.env["PATH"] ?? "",
  // Its build takes a second or two that few tests need.
  MILLRACE_CONSOLE: "off",
  NODE_COMPILE_CACHE: join(projectFolder, "node_modules", ".cache", "millrace"),
};
