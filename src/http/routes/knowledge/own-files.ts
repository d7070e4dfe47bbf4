import { homedir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  requireAdministration,
} from "@millrace/engine/http/environment";
import { jsonBody, path } from "@millrace/engine/http/validate";
import { type FilePlace, shownPath } from "../../../extensions/find-folders.ts";
import { readBeginning } from "../../../extensions/parsed-files.ts";
import { problemIn, type TextProblem } from "../../../extensions/text-problems.ts";
import { maxAgentBytes } from "../../../agents/agent-folders.ts";
import { isIndex, readRuleFile } from "../../../user-rules/rule-file.ts";
import { maxRuleBytes } from "../../../user-rules/rule-folders.ts";
import { touchedTools } from "../../../user-rules/touched-tools.ts";
import { tagOf } from "../../../tools/undo/manual-writes.ts";
import { productServicesOf, type SharedProductServices } from "../../product-services.ts";
import { knownBy, requireKnown } from "./file-writes.ts";

const ProblemShape = z.object({
  severity: z.enum(["error", "warning"]).describe("error: the text cannot be used, and is not saved"),
  message: z.string(),
  line: z.number().int().nullable(),
});
const VerdictShape = z
  .object({
    valid: z.boolean(),
    problems: z.array(ProblemShape),
    tools: z
      .array(z.string())
      .nullable()
      .describe("A rule: the tools that lead to files that fit its patterns. An agent: those that it has. Null: all"),
  })
  .meta({ ref: "OwnFileVerdict" });
const FileShape = VerdictShape.extend({
  name: z.string(),
  path: z.string().describe("Relative to the workspace, or with ~ for the home of who runs the server"),
  text: z.string().describe("The whole file: YAML between lines of ---, then what is said"),
  etag: z.string().describe("As ETag, for If-Match"),
}).meta({ ref: "OwnFile" });
const TextBody = z.object({ text: z.string().max(1_000_000) }).meta({ ref: "OwnFileText" });

type Verdict = z.infer<typeof VerdictShape>;

/** One kind of files by which a user shapes the assistant. */
interface Kind {
  one: "rule" | "agent";
  tag: "Prompts" | "Tools";
  maxBytes: number;
  place: (name: string) => FilePlace | undefined;
  check: (name: string, text: string) => Omit<Verdict, "valid">;
}

/** `/rules/:name` and `/agents/:name`: the files of rules and agents, read, checked and written. */
export function ownFileRoutes(services: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  ruleFileRoutes(routes, ruleKind(services));
  agentFileRoutes(routes, agentKind(services));
  return routes;
}

function ruleFileRoutes(routes: HttpApp, kind: Kind): void {
  const Named = NamedBy("The path that GET /rules lists, or the file name of a new one, such as style.md");
  routes.get("/rules/:name", describe(readingOf(kind)), path(Named), (context) =>
    read(context, kind, context.req.valid("param").name),
  );
  routes.post("/rules/:name/validate", describe(checkOf(kind)), path(Named), jsonBody(TextBody), (context) =>
    respondJson(context, verdictOf(kind, context.req.valid("param").name, context.req.valid("json").text)),
  );
  routes.put("/rules/:name", describe(writingOf(kind)), path(Named), jsonBody(TextBody), (context) =>
    save(context, kind, context.req.valid("param").name, context.req.valid("json").text),
  );
  routes.delete("/rules/:name", describe(deletionOf(kind)), path(Named), (context) =>
    remove(context, kind, context.req.valid("param").name),
  );
}

function agentFileRoutes(routes: HttpApp, kind: Kind): void {
  const Named = NamedBy("The name of the agent, which its file says, too");
  routes.get("/agents/:name", describe(readingOf(kind)), path(Named), (context) =>
    read(context, kind, context.req.valid("param").name),
  );
  routes.post("/agents/:name/validate", describe(checkOf(kind)), path(Named), jsonBody(TextBody), (context) =>
    respondJson(context, verdictOf(kind, context.req.valid("param").name, context.req.valid("json").text)),
  );
  routes.put("/agents/:name", describe(writingOf(kind)), path(Named), jsonBody(TextBody), (context) =>
    save(context, kind, context.req.valid("param").name, context.req.valid("json").text),
  );
  routes.delete("/agents/:name", describe(deletionOf(kind)), path(Named), (context) =>
    remove(context, kind, context.req.valid("param").name),
  );
}

function NamedBy(description: string) {
  return z.object({ name: z.string().min(1).max(1_000).describe(description) });
}

function ruleKind({ rules, toolkits }: SharedProductServices): Kind {
  const tools = toolkits.flatMap((toolkit) => toolkit.tools);
  return {
    one: "rule",
    tag: "Prompts",
    maxBytes: maxRuleBytes,
    place: (name) => rules.place(name),
    check: (name, text) => checkRule(name, text, tools),
  };
}

function agentKind({ agents }: SharedProductServices): Kind {
  return {
    one: "agent",
    tag: "Tools",
    maxBytes: maxAgentBytes,
    place: (name) => agents.place(name),
    check: (name, text) => {
      const found = agents.check(text.replaceAll("\r\n", "\n"));
      const wrong = found.kind === "agent" ? nameProblem(name, found.agent.name) : found.problem.split("; ");
      const problems = wrong.map((message) => problemIn(text, message, "error"));
      return { problems, tools: found.kind === "agent" && found.agent.tools !== null ? [...found.agent.tools] : null };
    },
  };
}

function nameProblem(wanted: string, said: string): string[] {
  return wanted === said
    ? []
    : [`name: it is ${JSON.stringify(said)} here, and ${JSON.stringify(wanted)} in the address`];
}

/** Without a head a rule applies to no file by itself, which may be meant; all else that is wrong is not. */
function checkRule(
  name: string,
  text: string,
  tools: SharedProductServices["toolkits"][number]["tools"],
): Omit<Verdict, "valid"> {
  const { problems, alwaysApply, globs } = readRuleFile(text.replaceAll("\r\n", "\n"), name);
  const found = problems.map((message): TextProblem =>
    problemIn(text, message, message.startsWith("it has no head") ? "warning" : "error"),
  );
  const holdsAlways = alwaysApply || isIndex(name);
  return { problems: found, tools: holdsAlways ? null : touchedTools(globs, tools) };
}

const changing = {
  403: "The caller may not change it",
  412: "It is another one than If-Match says",
  507: "The disk is full",
};

function readingOf({ tag, one }: Kind) {
  const errors = { 404: `No such ${one}` };
  return { tag, summary: `The file of a ${one}, as an editor needs it`, answer: FileShape, errors };
}

function checkOf({ tag, one }: Kind) {
  return { tag, summary: `Check the text of a ${one}, without saving`, answer: VerdictShape };
}

function writingOf({ tag, one }: Kind) {
  return {
    tag,
    summary: `Write a ${one}: one that is as If-Match says, else a new one; it counts from the next turn on`,
    headers: ["If-Match"] as const,
    answer: FileShape,
    errors: { 400: "It cannot be used, see …/validate", ...changing },
  };
}

function deletionOf({ tag, one }: Kind) {
  return {
    tag,
    summary: `Delete the file of a ${one} that is as If-Match says`,
    headers: ["If-Match"] as const,
    empty: true,
    errors: { ...changing, 428: "There is no If-Match" },
  };
}

function read(context: HttpContext, kind: Kind, name: string): Response {
  const bytes = bytesOf(kind, name);
  if (bytes === undefined) throw new HTTPException(404, { message: `There is no ${kind.one} ${name}.` });
  return answerFile(context, kind, name, bytes);
}

async function save(context: HttpContext, kind: Kind, name: string, text: string): Promise<Response> {
  requireAdministration(context);
  const wrong = verdictOf(kind, name, text).problems.filter(({ severity }) => severity === "error");
  if (wrong.length > 0) throw new AppError("invalid_parameter", wrong.map(({ message }) => message).join("; "));
  const content = Buffer.from(text);
  await write(context, kind, name, content);
  return answerFile(context, kind, name, content);
}

async function remove(context: HttpContext, kind: Kind, name: string): Promise<Response> {
  requireAdministration(context);
  requireKnown(context);
  await write(context, kind, name, null);
  return context.body(null, 204);
}

function bytesOf({ place, maxBytes }: Kind, name: string): Uint8Array | undefined {
  const found = place(name);
  if (found === undefined) return undefined;
  const beginning = readBeginning(join(found.root, found.path), maxBytes, found.root);
  return "bytes" in beginning ? beginning.bytes : undefined;
}

function verdictOf({ check, maxBytes }: Kind, name: string, text: string): Verdict {
  const { problems, tools } = check(name, text);
  const size = Buffer.byteLength(text);
  const all =
    size > maxBytes
      ? [
          ...problems,
          { severity: "error" as const, message: `it has ${size} bytes; at most ${maxBytes} are read`, line: null },
        ]
      : problems;
  return { valid: all.every(({ severity }) => severity !== "error"), problems: all, tools };
}

function answerFile(context: HttpContext, kind: Kind, name: string, bytes: Uint8Array): Response {
  const text = new TextDecoder("utf-8").decode(bytes);
  const etag = tagOf(bytes);
  context.header("ETag", etag);
  return respondJson(context, {
    name,
    path: shownAt(context, kind.place(name)),
    text,
    etag,
    ...verdictOf(kind, name, text),
  });
}

function shownAt(context: HttpContext, place: FilePlace | undefined): string {
  const { workspace } = productServicesOf(context).config;
  return place === undefined ? "" : shownPath(join(place.root, place.path), { workspace, home: homedir() });
}

/** Writes or deletes the file, if it is as `If-Match` says. */
async function write(
  context: HttpContext,
  { place, one }: Kind,
  name: string,
  content: Uint8Array | null,
): Promise<void> {
  const found = place(name);
  if (found === undefined) {
    throw new AppError("invalid_parameter", `${JSON.stringify(name)} cannot be the name of a ${one}.`);
  }
  const isKnown = knownBy(context) ?? ((tag: string | null) => tag === null);
  const done = await productServicesOf(context).operations.write(
    { ...found, content, isKnown },
    context.req.raw.signal,
  );
  if (done.kind === "written") return;
  const message = `The file of ${name} ${done.tag === null ? "is gone" : `has changed, or is there already: ${done.tag}`}.`;
  throw new HTTPException(412, { message });
}
