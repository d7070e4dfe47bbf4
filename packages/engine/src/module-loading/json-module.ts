import { readFileSync } from "node:fs";
import type { LoadHookSync } from "node:module";
import { AppError, errorMessage } from "../errors/errors.ts";

/** A JSON file that is imported without an attribute: its value by default, and the members of an object by name. */
export function jsonModule(path: string): ReturnType<LoadHookSync> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new AppError("config", `${path} is no JSON: ${errorMessage(error)}`, { cause: error });
  }
  const keys = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  const names = keys.filter((name) => /^[A-Za-z_$][\w$]*$/u.test(name) && name !== "default");
  const members = names.map((name, index) => `const v${index} = value[${JSON.stringify(name)}];`);
  const list = names.map((name, index) => `v${index} as ${JSON.stringify(name)}`).join(", ");
  const text = JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  const source = `const value = ${text};\nexport default value;\n${members.join("\n")}\nexport { ${list} };`;
  return { format: "module", source, shortCircuit: true };
}
