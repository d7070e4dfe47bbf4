import { z } from "zod";
import { JsonObject, type Run } from "../../../storage/records.ts";
import { LangGraphPart, placeOf } from "../chat/chat-completion.ts";
import type { TurnResult, TurnUsage } from "../turn/turn-reader.ts";

/** The part of a request stored with its run, to reproduce the response. */
export const StoredRequest = z.object({
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  temperature: z.number().nullable(),
  max_output_tokens: z.number().nullable(),
  background: z.boolean(),
  store: z.boolean(),
  tools: z.array(JsonObject),
  metadata: JsonObject,
});
export type StoredRequest = z.infer<typeof StoredRequest>;

const Status = z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]);

/** A response, as far as it has come. */
export const ResponseObject = StoredRequest.extend({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.number().int(),
  status: Status,
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  output: z.array(JsonObject),
  output_text: z.string().describe("All its text in one"),
  parallel_tool_calls: z.boolean(),
  tool_choice: z.literal("auto"),
  top_p: z.null(),
  text: z.object({ format: z.object({ type: z.literal("text") }) }),
  truncation: z.literal("disabled"),
  usage: JsonObject.nullable(),
  conversation: z.object({ id: z.string() }),
  langgraph: LangGraphPart,
}).meta({ ref: "OpenAiResponse" });
export type ResponseObject = z.infer<typeof ResponseObject>;

/** The metadata key of the stored request. */
export const requestKey = "openai_response";

/** The response id of a run. */
export function responseIdOf({ run_id }: Pick<Run, "run_id">): string {
  return `resp_${run_id}`;
}

/** The run of a response id; `undefined` for a malformed id. */
export function runIdOf(responseId: string): string | undefined {
  return /^resp_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/u.exec(responseId)?.[1];
}

/** A response with its output so far; `end` marks it complete. */
export function toResponse(run: Run, kept: StoredRequest, output: JsonObject[], end?: TurnResult): ResponseObject {
  const status = statusOf(run, end);
  return {
    ...kept,
    id: responseIdOf(run),
    object: "response",
    created_at: Math.floor(Date.parse(run.created_at) / 1000),
    status,
    error: end?.error === undefined ? null : { code: "server_error", message: end.error.message },
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    output,
    output_text: output.flatMap(textsOf).join(""),
    parallel_tool_calls: true,
    tool_choice: "auto",
    top_p: null,
    text: { format: { type: "text" } },
    truncation: "disabled",
    usage: end === undefined ? null : toUsage(end.usage),
    conversation: { id: run.session_id },
    langgraph:
      end === undefined ? { thread_id: run.session_id, run_id: run.run_id, interrupts: [] } : placeOf(run, end),
  };
}

function statusOf(run: Run, end: TurnResult | undefined): ResponseObject["status"] {
  if (end === undefined) return run.status === "pending" ? "queued" : "in_progress";
  if (end.error !== undefined || run.status === "error" || run.status === "timeout") return "failed";
  if (run.stop_requested !== null) return "cancelled";
  return end.isCut ? "incomplete" : "completed";
}

const OutputMessage = z.object({ type: z.literal("message"), content: z.array(z.looseObject({ text: z.string() })) });

function textsOf(item: JsonObject): string[] {
  return OutputMessage.safeParse(item).data?.content.map(({ text }) => text) ?? [];
}

function toUsage({ input, output, cached, reasoning }: TurnUsage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
