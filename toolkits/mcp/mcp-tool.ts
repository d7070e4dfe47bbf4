import { z } from "zod";
import { failure, success, type ToolResult } from "../../src/tools/runtime/result.ts";
import { defineTool, type Tool } from "../../src/tools/runtime/tool.ts";
import { readArgumentSchema } from "../../src/tools/runtime/argument-schema.ts";
import type { McpServerConfig } from "./mcp-config.ts";

/** Maximum length of a tool name at providers, including the server's name and two underscores. */
const nameLength = 64;
/** Maximum characters of a description for the model. */
const descriptionLength = 4_000;

const Listed = z.looseObject({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.unknown().optional(),
});

/** Calls a server's tool by its own name. */
export type CallServer = (
  tool: string,
  args: Record<string, unknown>,
  effect: Tool["effect"],
  signal: AbortSignal,
) => Promise<ToolResult>;

/**
 * Converts a server's tools, named `<server>__<tool>`. Unusable ones are listed in `problems`; unwanted ones are
 * skipped silently.
 */
export function toTools(
  server: McpServerConfig,
  listed: unknown[],
  call: CallServer,
): { tools: Tool[]; problems: string[] } {
  const byName = new Map<string, Tool>();
  const problems: string[] = [];
  for (const entry of listed) {
    const parsed = Listed.safeParse(entry);
    if (!parsed.success) {
      problems.push("a tool without a name");
      continue;
    }
    if (server.only !== undefined && !server.only.includes(parsed.data.name)) continue;
    const tool = toTool(server, parsed.data, call);
    if (typeof tool === "string") problems.push(`${shown(parsed.data.name, 100)}: ${tool}`);
    else if (byName.has(tool.name)) problems.push(`${tool.name}: the name comes twice`);
    else byName.set(tool.name, tool);
  }
  const missing = server.only?.filter((name) => !byName.has(offeredName(server.name, name))) ?? [];
  problems.push(...missing.map((name) => `${name}: the server has no such tool that could be used`));
  return { tools: [...byName.values()], problems };
}

function offeredName(server: string, tool: string): string {
  return `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/gu, "_")}`;
}

function toTool(server: McpServerConfig, listed: z.infer<typeof Listed>, call: CallServer): Tool | string {
  const name = offeredName(server.name, listed.name);
  if (name.length > nameLength) return `its name ${name} is longer than ${nameLength} characters`;
  const read = readArgumentSchema(listed.inputSchema);
  if (typeof read === "string") return read;
  const { effect, approval } = server.ruleOf(listed.name);
  const what = `call the tool "${listed.name}" of the MCP server "${server.name}"`;
  const what_zh = `调用 MCP 服务器“${server.name}”的工具“${listed.name}”`;
  const kind = approval === "ask" ? "HighRiskOperation" : effect === "pure" ? "Query" : "SimpleModify";
  return defineTool({
    name,
    description: shown(listed.description ?? listed.title ?? `${listed.name} of ${server.name}`, descriptionLength),
    schema: read.schema,
    parameters: read.parameters,
    effect,
    timeoutSeconds: server.timeoutSeconds,
    // Calls that change something on a server are serialised; read-only ones are not.
    resources: () => (effect === "pure" ? [] : [`mcp:${server.name}`]),
    operation: async () => (kind === "HighRiskOperation" ? { type: kind, what, what_zh } : { type: kind }),
    kinds: [kind],
    run: (input, { signal }) => call(listed.name, input, effect, signal),
  });
}

/** A server's text without characters that are invisible to people but not to models. */
function shown(text: string, length: number): string {
  // Cut first: half a character at the end is removed with the others.
  return text.slice(0, length).replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "");
}

/** Characters kept of one result. */
const resultLength = 200_000;
/** Maximum parts of a result: each is validated, and each invalid one is a finding. */
const maxParts = 10_000;

const Resource = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("resource"), resource: Resource }),
  z.looseObject({ type: z.literal("resource_link"), uri: z.string(), name: z.string().optional() }),
]);
const CallResult = z.looseObject({
  content: z.array(z.unknown()).max(maxParts).pipe(z.array(Block)).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

/** Converts a server's response to a tool result: text as is, other content as a line that names it. */
export function readCallResult(server: string, tool: string, answer: unknown): ToolResult {
  const parsed = CallResult.safeParse(answer);
  if (!parsed.success) {
    const problems = parsed.error.issues.slice(0, 3).map(({ path, message }) => `${path.join(".")}: ${message}`);
    return failure(
      "execution_failed",
      `The MCP server ${server} ran ${tool}, but its answer is no result (${problems.join("; ")}).`,
      "What it did is not known; look at the present state before you go on.",
    );
  }
  const { content, structuredContent, isError } = parsed.data;
  const shown = content.map(toText).join("\n");
  const text = shown === "" && structuredContent !== undefined ? JSON.stringify(structuredContent) : shown;
  const kept = cut(text === "" ? "(no content)" : text);
  if (isError) return failure("execution_failed", `${tool} of the MCP server ${server} failed: ${kept}`);
  return success(`${tool} of the MCP server ${server} answered with ${text.length} characters.`, {
    content: kept,
    message_zh: `MCP 服务器 ${server} 的 ${tool} 返回了 ${text.length} 个字符。`,
  });
}

function toText(block: z.infer<typeof Block>): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${bytesOf(block.data)} bytes, not shown]`;
    case "resource": {
      const { uri, text, blob, mimeType } = block.resource;
      if (text !== undefined) return `[resource ${uri}]\n${text}`;
      return `[resource ${uri}, ${mimeType ?? "unknown type"}, ${bytesOf(blob ?? "")} bytes, not shown]`;
    }
    case "resource_link":
      return `[link ${block.name === undefined ? "" : `${block.name}: `}${block.uri}]`;
  }
}

function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

function cut(text: string): string {
  if (text.length <= resultLength) return text;
  return `${text.slice(0, resultLength)}\n[… cut: ${text.length - resultLength} of ${text.length} characters were not kept]`;
}
