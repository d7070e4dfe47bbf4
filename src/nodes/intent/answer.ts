import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { jsonrepair } from "jsonrepair";
import type { z } from "zod";
import { errorMessage } from "@millrace/engine/errors/errors";
import { runIdOf, servicesOf, sessionIdOf } from "../../loop/services.ts";

/** A model's JSON answer: its value, or what was wrong, in words the model can act on. */
export type Answer<Value> = { kind: "value"; value: Value } | { kind: "unreadable"; problem: string };

/** Extracts JSON from a reply with text or fences around it, repairs small faults, and validates it. */
export function readJson<Schema extends z.ZodType>(text: string, schema: Schema): Answer<z.infer<Schema>> {
  const begin = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (begin === -1) return { kind: "unreadable", problem: "there was no JSON object in it" };
  const body = end > begin ? text.slice(begin, end + 1) : text.slice(begin);
  let data: unknown;
  try {
    data = JSON.parse(jsonrepair(body));
  } catch (error) {
    return { kind: "unreadable", problem: `it was not JSON (${errorMessage(error)})` };
  }
  const parsed = schema.safeParse(data);
  if (parsed.success) return { kind: "value", value: parsed.data };
  const issue = parsed.error.issues[0];
  return { kind: "unreadable", problem: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "wrong shape"}` };
}

/**
 * Like `readJson`, for a node's prompt. An unreadable reply is logged without its content as a sign that the model
 * misunderstood the prompt.
 */
export function readReply<Schema extends z.ZodType>(
  node: string,
  text: string,
  schema: Schema,
  config: LangGraphRunnableConfig,
): Answer<z.infer<Schema>> {
  const answer = readJson(text, schema);
  // An empty reply means that the model ran out of time or failed.
  if (answer.kind === "unreadable" && text.trim() !== "") {
    const about = { session_id: sessionIdOf(config), run_id: runIdOf(config), node };
    servicesOf(config).logger?.info(about, "prompt_perhaps_not_understood");
  }
  return answer;
}
