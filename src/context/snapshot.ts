import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { ModelRequest } from "@millrace/engine/storage/record-stores";
import { windowBudget, type BudgetReport } from "./budget.ts";
import { weigh } from "./compression/compress.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countMessage, countText } from "./tokens/tokens.ts";

/** A section of a model request with its tokens; a section with children has no content. */
export interface ContextSection {
  name: string;
  /** Estimated. */
  token_count: number;
  /** It contains a report of a failure. */
  is_error: boolean;
  content: string | null;
  children: ContextSection[];
}

/** Schema of a section for HTTP responses. */
export const ContextSection: z.ZodType<ContextSection> = z
  .object({
    name: z.string(),
    token_count: z.number().int().describe("Estimated tokens"),
    is_error: z.boolean(),
    content: z.string().nullable().describe("null where the children hold it"),
    get children() {
      return z.array(ContextSection);
    },
  })
  .meta({ id: "ContextSection" });

/** The parts of a model request, and the use of the window. */
export interface ContextSnapshot {
  sections: ContextSection[];
  usage: { tokens: number; limit: number; ratio: number; level: "normal" | "hint" | "full" };
  /** Tokens per part. */
  budget: BudgetReport;
}

/** Splits a request into sections: system prompt, documentation, implicit context, tools, history. */
export function splitIntoSections(
  { head, messages, tools }: Pick<ModelRequest, "head" | "messages" | "tools">,
  limit: number,
): ContextSnapshot {
  let from = 0;
  const parts = head.parts.map(({ name, section, characters }) => {
    const text = head.system.slice(from, (from += characters));
    return { section, leaf: leaf(name, countText(text), text) };
  });
  const ofSection = (wanted: string): ContextSection[] =>
    parts.filter(({ section }) => section === wanted).map(({ leaf: part }) => part);
  const sections = [
    group("system_prompt", ofSection("system_prompt")),
    group("documentation", head.documentation.map(messageSection)),
    group("implicit_context", ofSection("implicit_context")),
    group("tools", tools.map(toolSection)),
    group("message_history", messages.map(messageSection)),
  ];
  const { tokens, ratio, level } = weigh(
    sections.reduce((total, { token_count }) => total + token_count, 0),
    limit,
  );
  // Notes added for one call have no id.
  const request = messages.findLast((message) => isHumanMessage(message) && message.id !== undefined);
  const user_input = request === undefined ? 0 : countMessage(request);
  const history = (sections.at(-1)?.token_count ?? 0) - user_input;
  const budget = windowBudget(limit, { system: tokens - history - user_input, user_input, history });
  return { sections, usage: { tokens, limit, ratio, level }, budget };
}

function leaf(name: string, token_count: number, content: string): ContextSection {
  return { name, token_count, is_error: false, content, children: [] };
}

function group(name: string, children: ContextSection[]): ContextSection {
  const token_count = children.reduce((total, child) => total + child.token_count, 0);
  return { name, token_count, is_error: children.some(({ is_error }) => is_error), content: null, children };
}

function toolSection(tool: object): ContextSection {
  const text = JSON.stringify(tool);
  const named = z.looseObject({ function: z.looseObject({ name: z.string() }) }).safeParse(tool);
  return leaf(named.success ? named.data.function.name : "tool", countText(text), text);
}

const roles: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };

function messageSection(message: BaseMessage): ContextSection {
  const calls = "tool_calls" in message && Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const words = textOf(message.content);
  const content = calls.length === 0 ? words : `${words}\n${JSON.stringify(calls)}`.trim();
  const is_error = "status" in message && message.status === "error";
  return { ...leaf(roles[message.type] ?? message.type, countMessage(message), content), is_error };
}
