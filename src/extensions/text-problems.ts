/** What is wrong with a text of a user, or looks wrong. */
export interface TextProblem {
  severity: "error" | "warning";
  message: string;
  /** Where, from 1 on; `null`: nowhere in particular. */
  line: number | null;
}

const yamlLine = /\bat line (?<line>\d+)\b/u;
const field = /^(?<name>[A-Za-z_]+)(?:[.\d]*):/u;

/** A problem of a Markdown file with front matter, with the line that it speaks of. */
export function problemIn(text: string, message: string, severity: TextProblem["severity"]): TextProblem {
  const lines = text.split("\n");
  const inYaml = yamlLine.exec(message)?.groups?.["line"];
  // The YAML begins below the line of ---.
  if (inYaml !== undefined) return { severity, message, line: Math.min(Number(inYaml) + 1, lines.length) };
  const name = field.exec(message)?.groups?.["name"];
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---");
  const at = lines
    .slice(0, end === -1 ? 0 : end)
    .findIndex((line) => name !== undefined && line.startsWith(`${name}:`));
  return { severity, message, line: at === -1 ? null : at + 1 };
}
