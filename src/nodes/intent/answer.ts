import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { jsonrepair } from "jsonrepair";
import type { z } from "zod";
import { errorMessage } from "@millrace/engine/errors/errors";
import { runIdOf, servicesOf, sessionIdOf } from "../../loop/services.ts";

/** A model's JSON answer: its value, or what was wrong with it, said so that the model can do better. */
export type Answer<Value> = { kind: "value"; value: Value } | { kind: "unreadable"; problem: string };

/** Reads JSON out of a reply that may have words or fences around it, repairs small faults, and checks its shape. */
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
 * The same for the reply to a prompt of a node. One that has not the form which the prompt asks for is noted in the log
 * as a hint that the prompt was not understood; what was said is not.
 */
export function readReply<Schema extends z.ZodType>(
  node: string,
  text: string,
  schema: Schema,
  config: LangGraphRunnableConfig,
): Answer<z.infer<Schema>> {
  const answer = readJson(text, schema);
  // Where nothing was said, the model had no time or no way to say it.
  if (answer.kind === "unreadable" && text.trim() !== "") {
    const about = { session_id: sessionIdOf(config), run_id: runIdOf(config), node };
    servicesOf(config).logger?.info(about, "prompt_perhaps_not_understood");
  }
  return answer;
}
