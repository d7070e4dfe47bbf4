import { randomUUID } from "node:crypto";
import { AIMessageChunk, isAIMessageChunk } from "@langchain/core/messages";
import type { ToolCall, ToolCallChunk } from "@langchain/core/messages/tool";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { markWrittenCall } from "../messages/written-call.ts";
import { hasClosingMark } from "../resilience/watch-stream.ts";
import { argumentsOf } from "./forms/arguments.ts";
import type { ListedTool } from "./tool-list.ts";
import type { ReplyPart, ToolUse } from "./forms/tool-use.ts";
import { brokenText } from "./forms/written.ts";

/** Servers count the calls they find themselves from 0; a higher index keeps both apart. */
const firstIndex = 1000;

/** A complete call's arguments, converted to the types its tool expects. */
function argsOf(use: ToolUse, tools: ReadonlyMap<string, ListedTool>): Record<string, unknown> {
  return { ...argumentsOf(use.params, tools.get(use.name)?.properties ?? {}), ...use.args };
}

/** A new id for a call; text contains none. */
function newId(): string {
  return `call_${randomUUID().replaceAll("-", "")}`;
}

/** Converts the parts of a streamed reply into the chunks of a model with native calls. */
export class ChunkMaker {
  readonly #tools: ReadonlyMap<string, ListedTool>;
  #index = firstIndex;
  /** The id of the call whose name was emitted last. */
  #callId = "";

  constructor(tools: ReadonlyMap<string, ListedTool>) {
    this.#tools = tools;
  }

  /** `id` is the id of the message. */
  chunk(part: ReplyPart, id: string | undefined): ChatGenerationChunk {
    switch (part.kind) {
      case "text":
        return chunkOf(id, { content: part.text });
      case "reasoning":
        return chunkOf(id, { content: "", additional_kwargs: { reasoning_content: part.text } });
      case "use":
        return part.use.partial ? this.#begin(id, part.use.name) : this.#whole(id, part.use);
      case "problem":
        return this.#end(id, brokenText(part.problem.message, part.problem.written));
    }
  }

  #call(id: string | undefined, call: Pick<ToolCallChunk, "name" | "id" | "args">): ChatGenerationChunk {
    return chunkOf(id, {
      content: "",
      tool_call_chunks: [{ ...call, index: this.#index, type: "tool_call_chunk" as const }],
    });
  }

  #begin(id: string | undefined, name: string): ChatGenerationChunk {
    this.#callId = newId();
    return this.#call(id, { name, id: this.#callId, args: "" });
  }

  #whole(id: string | undefined, use: ToolUse): ChatGenerationChunk {
    const args = argsOf(use, this.#tools);
    const chunk = this.#end(id, JSON.stringify(args));
    markWrittenCall(chunk, { id: this.#callId, name: use.name, args });
    return chunk;
  }

  #end(id: string | undefined, args: string): ChatGenerationChunk {
    const chunk = this.#call(id, { args });
    this.#index += 1;
    return chunk;
  }
}

function chunkOf(
  id: string | undefined,
  fields: { content: string; additional_kwargs?: Record<string, unknown>; tool_call_chunks?: ToolCallChunk[] },
): ChatGenerationChunk {
  const message = new AIMessageChunk({ ...(id === undefined ? {} : { id }), ...fields });
  return new ChatGenerationChunk({ text: fields.content, message });
}

/**
 * The chunk without its text; `undefined` if the rest is empty apart from its role, which some clients send with every
 * chunk.
 */
export function withoutText(chunk: ChatGenerationChunk): ChatGenerationChunk | undefined {
  if (chunk.text === "") return chunk;
  const { message, generationInfo } = chunk;
  const { additional_kwargs, response_metadata, id } = message;
  const isChunk = isAIMessageChunk(message);
  const calls = isChunk ? (message.tool_call_chunks ?? []) : [];
  const usage = isChunk ? message.usage_metadata : undefined;
  const saysMore = hasClosingMark(chunk) || calls.length > 0 || Object.keys(additional_kwargs).length > 0;
  if (!saysMore && usage === undefined) return undefined;
  const bare = new AIMessageChunk({
    ...(id === undefined ? {} : { id }),
    content: "",
    additional_kwargs,
    response_metadata,
    tool_call_chunks: calls,
    ...(usage === undefined ? {} : { usage_metadata: usage }),
  });
  return new ChatGenerationChunk({
    text: "",
    message: bare,
    ...(generationInfo === undefined ? {} : { generationInfo }),
  });
}

/** The parts of a complete reply, for an unstreamed message. */
export function gather(
  parts: readonly ReplyPart[],
  tools: ReadonlyMap<string, ListedTool>,
): {
  content: string;
  reasoning: string;
  calls: ToolCall[];
  broken: { name: string; args: string; id: string; error: string }[];
} {
  const whole = {
    content: "",
    reasoning: "",
    calls: [] as ToolCall[],
    broken: [] as ReturnType<typeof gather>["broken"],
  };
  for (const part of parts) {
    if (part.kind === "text") whole.content += part.text;
    else if (part.kind === "reasoning") whole.reasoning += part.text;
    else if (part.kind === "problem") {
      const { name, message, written } = part.problem;
      whole.broken.push({ name, args: brokenText(message, written), id: newId(), error: message });
    } else if (!part.use.partial) {
      whole.calls.push({ type: "tool_call", name: part.use.name, args: argsOf(part.use, tools), id: newId() });
    }
  }
  return whole;
}
