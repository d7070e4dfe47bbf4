import { z } from "zod";
import { readFrontMatter } from "../extensions/front-matter.ts";

/** An agent that work can be handed to. */
export interface Agent {
  name: string;
  /** For the model that hands work over: what it is good for. */
  description: string;
  /** Names of its tools; `null`: all that the caller has. */
  tools: readonly string[] | null;
  /** `provider:name`; `null`: that of the caller. */
  model: string | null;
  /** Whether it is told the user's rules for the project. */
  includeRules: boolean;
  /** Its system prompt. */
  prompt: string;
}

/** An agent, or why a file is none. */
export type ReadAgent = { kind: "agent"; agent: Agent } | { kind: "invalid"; problem: string };

const Name = z
  .string()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u, "a word of letters, digits, _ . or -, at most 64 characters");
const ToolList = z
  .union([z.string().transform((text) => text.split(",")), z.array(z.string())], {
    error: "names with commas between them, or a list of names",
  })
  .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ""));
const FrontMatter = z.object(
  {
    name: Name,
    description: z.string().trim().min(1).max(2000),
    tools: ToolList.nullish(),
    model: z.string().trim().min(1).nullish(),
    include_rules: z.boolean().nullish(),
  },
  { error: "fields such as `name: reviewer`" },
);

/** As the documents write it; in YAML a star alone begins a reference. */
const allTools = /^(tools[ \t]*:[ \t]*)\*[ \t]*$/mu;

/**
 * Reads an agent file: YAML between lines of `---`, then the system prompt. `tools` may be a comma text or a list; `*`
 * and no such field mean all tools of the caller, an empty one none. `knownTools` are the names that may stand there.
 */
export function readAgentFile(text: string, knownTools: ReadonlySet<string>): ReadAgent {
  const head = readFrontMatter(text, (yaml) => yaml.replace(allTools, '$1"*"'));
  if (head.kind === "none") {
    return invalid("expected YAML between two lines of ---, and the system prompt after them");
  }
  if (head.kind === "unusable") return invalid(head.problem);
  const { fields, body: prompt } = head;
  const read = FrontMatter.safeParse(fields);
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "front matter"}: ${message}`);
    return invalid(problems.join("; "));
  }
  const { name, description, model, include_rules } = read.data;
  const tools = toolsOf(read.data.tools, fields);
  const unknown = tools?.filter((tool) => !knownTools.has(tool)) ?? [];
  if (unknown.length > 0) return invalid(`tools: there is no ${unknown.join(", ")}`);
  if (prompt === "") return invalid("there is no system prompt after the front matter");
  return {
    kind: "agent",
    agent: { name, description, tools, model: model ?? null, includeRules: include_rules ?? false, prompt },
  };
}

/** A field without a value is an empty one; no field at all means all tools. */
function toolsOf(tools: string[] | null | undefined, fields: unknown): string[] | null {
  const isThere = typeof fields === "object" && fields !== null && "tools" in fields;
  if (!isThere) return null;
  if (tools?.includes("*") === true) return null;
  return [...new Set(tools)];
}

function invalid(problem: string): ReadAgent {
  return { kind: "invalid", problem };
}
