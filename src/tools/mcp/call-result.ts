import { z } from "zod";
import { failure, success } from "../runtime/result.ts";
import type { ToolResult } from "../runtime/tool.ts";

/** Characters kept of one result; the rest is not read by anybody. */
const resultLength = 200_000;
/** Parts that a result may have: each is checked, and each that is wrong is a finding. */
const mostParts = 10_000;

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
  content: z.array(z.unknown()).max(mostParts).pipe(z.array(Block)).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
});

/** What a server answered to a call, as the result of a tool: text as it is, everything else by a line that names it. */
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
  return success(`${tool} of the MCP server ${server} answered with ${text.length} characters.`, { content: kept });
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
