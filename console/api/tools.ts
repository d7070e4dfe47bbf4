import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import * as z from "zod/mini";
import { jsonText } from "../text/json-text.ts";
import { ApiError, language, request } from "./client.ts";
import { Effect } from "./shapes.ts";

const Tool = z.object({
  name: z.string(),
  toolkit: z.nullable(z.string()),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  effect: z.enum(["pure", "idempotent", "reconcilable", "unsafe"]),
  timeout_seconds: z.number(),
  is_default: z.boolean(),
  confirmation: z.nullable(z.array(z.object({ operation: z.string(), asks: z.string() }))),
  example: z.nullable(z.object({ title: z.string(), body: z.string() })),
  guideline: z.nullable(z.string()),
  statistics: z.nullable(
    z.object({ calls: z.number(), failures: z.number(), total_ms: z.number(), longest_ms: z.number() }),
  ),
});
/** A tool: what it does, what it is given, when a person is asked. */
export type Tool = z.infer<typeof Tool>;

/** All tools that the server has now. */
export function useTools(enabled = true) {
  return useQuery({
    queryKey: ["tools"],
    queryFn: ({ signal }) => request("/tools", z.array(Tool), { signal }),
    enabled,
    staleTime: 60_000,
  });
}

const Call = z.object({
  thread_id: z.string(),
  call_id: z.string(),
  message_id: z.string(),
  run_id: z.string(),
  status: z.enum(["executing", "completed", "failed", "unknown"]),
  started_at: z.string(),
  duration_ms: z.nullable(z.number()),
  message: z.nullable(z.string()),
});

/** The last calls of a tool in the newest chats. */
export function useLastCalls(tool: string) {
  return useQuery({
    queryKey: ["tool-calls", tool],
    queryFn: ({ signal }) => request(`/tools/${encodeURIComponent(tool)}/calls`, z.array(Call), { signal }),
  });
}

const Toolkit = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  is_enabled: z.boolean(),
  is_always: z.boolean(),
  identity: z.nullable(z.string()),
  tools: z.array(z.string()),
});
/** A kind of work with its tools. */
export type Toolkit = z.infer<typeof Toolkit>;

/** All toolkits, also those that are switched off, in the language of the page. */
export function useToolkits(language: string) {
  return useQuery({
    queryKey: ["toolkits", language],
    queryFn: ({ signal }) => request("/toolkits", z.array(Toolkit), { signal }),
    staleTime: 60_000,
  });
}

/** The JSON Schema of a tool's arguments; `undefined` for a tool that the server does not know. */
export function useParameters(tool: string | null) {
  const { data, isPending } = useTools(tool !== null);
  return { parameters: data?.find(({ name }) => name === tool)?.parameters, isPending: isPending && tool !== null };
}

/** What a call would do, and why a rule does not let it. */
const Preview = z.extend(Effect, { approved_hash: z.string(), refused: z.nullable(z.string()) });

/** A call of a tool by hand. */
interface ManualCall {
  tool: string;
  args: unknown;
}

const addressOf = (threadId: string, tool: string): string => `/threads/${threadId}/tools/${encodeURIComponent(tool)}`;

/** Milliseconds without a change after which arguments count as written. */
const rest = 400;

/**
 * What a call would do with arguments that are being written, asked whenever they rest; nothing is done. `isCurrent`: that is
 * known of the arguments as they are now.
 */
export function usePreview(threadId: string, { tool, args }: ManualCall, isWanted = true) {
  const [written, setWritten] = useState(args);
  useEffect(() => {
    const timer = setTimeout(() => setWritten(args), rest);
    return () => clearTimeout(timer);
  }, [args]);
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", threadId, tool, jsonText(written)],
    queryFn: ({ signal }) => {
      const body = { args: written };
      return request(`${addressOf(threadId, tool)}/preview`, Preview, { method: "POST", body, signal });
    },
    // What was written a moment ago is not asked about.
    enabled: isWanted && written === args,
    retry: false,
    gcTime: 0,
  });
  return { data, error, refetch, isCurrent: written === args && data !== undefined };
}

const Result = z.object({
  success: z.boolean(),
  message: z.string(),
  message_zh: z.optional(z.string()),
  content: z.optional(z.string()),
  suggestion: z.optional(z.string()),
  operation: z.optional(z.object({ operation_id: z.string() })),
});
/** What a call by hand gave. */
export type ManualResult = z.infer<typeof Result>;
const Ran = z.object({ result: Result });
const Question = z.object({ approved_hash: z.string() });

/** Runs a call whose effect was shown; `undefined`: it would do something else by now, so that nothing was done. */
export async function runManually(
  threadId: string,
  { tool, args }: ManualCall,
  approvedHash: string,
  key: string,
): Promise<ManualResult | undefined> {
  try {
    const body = { args, approved_hash: approvedHash };
    const headers = { "Idempotency-Key": key };
    return (await request(`${addressOf(threadId, tool)}/run`, Ran, { method: "POST", body, headers })).result;
  } catch (error) {
    const isQuestion = error instanceof ApiError && error.status === 409 && z.safeParse(Question, error.body).success;
    if (isQuestion) return undefined;
    throw error;
  }
}

/** Runs a call for which the user has pressed a button, which shows what it would do. Throws what it failed by. */
export async function changeManually(threadId: string, call: ManualCall): Promise<ManualResult> {
  const method = "POST";
  const body = { args: call.args };
  const { approved_hash } = await request(`${addressOf(threadId, call.tool)}/preview`, Preview, { method, body });
  const result = await runManually(threadId, call, approved_hash, crypto.randomUUID());
  if (result?.success === true) return result;
  if (result === undefined) throw new ApiError("It has changed meanwhile.", { status: 409, code: "changed" });
  const { message, message_zh, suggestion } = result;
  if (language === "zh" && message_zh !== undefined) throw new ApiError(message_zh, { status: 409 });
  throw new ApiError(message, { status: 409, ...(suggestion !== undefined && { suggestion }) });
}
