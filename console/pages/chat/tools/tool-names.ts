import type { en } from "../../../text/en.ts";
import { visible } from "../../../markdown/links.ts";

/** The verb of a tool, and the argument that says most about a call of it. */
interface Naming {
  verb: keyof (typeof en)["tool"];
  subject: string;
}

const verbs: readonly [RegExp, keyof (typeof en)["tool"]][] = [
  [/^(read|list_code|web_fetch|fetch|get)/u, "read"],
  [/^(edit|patch|replace|update|rewrite)/u, "editVerb"],
  [/^(write)/u, "write"],
  [/^(create|make|new)/u, "create"],
  [/^(delete|remove)/u, "remove"],
  [/^(move|rename)/u, "move"],
  [/^(list)/u, "list"],
  [/(search|find|grep)/u, "find"],
  [/(simulat)/u, "simulate"],
  [/(agent|delegate|task)/u, "agent"],
  [/^(ask)/u, "ask"],
  [/(command|execute|shell|run)/u, "run"],
];
/** Arguments that say most, the first that is there. */
const subjects = [
  "path",
  "file_path",
  "old_path",
  "command",
  "query",
  "pattern",
  "url",
  "name",
  "agent",
  "task",
  "description",
  "question",
  "title",
];

/** Maximum characters of a subject in a line. */
const maxLength = 300;

/** How a call is named to people. */
export function namingOf(tool: string, args: Readonly<Record<string, unknown>> | undefined): Naming {
  const lower = tool.replaceAll(/([a-z])([A-Z])/gu, "$1_$2").toLowerCase();
  const verb = verbs.find(([pattern]) => pattern.test(lower))?.[1] ?? "call";
  const subject = subjects.map((name) => args?.[name]).find((value) => typeof value === "string" && value !== "");
  return {
    verb,
    subject: visible(
      typeof subject === "string" ? (subject.split("\n", 1)[0] ?? "").slice(0, maxLength) : verb === "call" ? tool : "",
    ),
  };
}
