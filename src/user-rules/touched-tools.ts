import type { Tool } from "../tools/runtime/tool.ts";

/** What is known of a tool before it is called. */
type Known = Pick<Tool, "name" | "schema" | "files">;

/** Names of arguments that lead to a file. */
const pathArguments = ["path", "paths", "source", "destination", "file", "file_path", "circuit"];

/** The names of the tools by which a file that fits one of these patterns comes to hand, in their order. */
export function touchedTools(globs: readonly string[], tools: readonly Known[]): string[] {
  if (globs.length === 0) return [];
  const wanted = globs.flatMap(endingsOf);
  const touched = tools.filter(
    ({ schema, files }) =>
      pathArguments.some((name) => Object.hasOwn(schema.shape, name)) &&
      (files === undefined || (files.length > 0 && wanted.some((ending) => ending === "" || files.includes(ending)))),
  );
  return [...new Set(touched.map(({ name }) => name))].toSorted();
}

const choicesAtEnd = /\{(?<choices>[^{}]*)\}$/u;
const lastEnding = /\.(?<ending>[A-Za-z0-9]+)$/u;

/** The endings of files that a pattern fits, without their dot; empty: any, since it does not say. */
function endingsOf(glob: string): string[] {
  const found = choicesAtEnd.exec(glob);
  const written =
    found === null
      ? [glob]
      : (found.groups?.["choices"] ?? "").split(",").map((choice) => glob.slice(0, found.index) + choice.trim());
  return written.map((one) => lastEnding.exec(one)?.groups?.["ending"]?.toLowerCase() ?? "");
}
