import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { coreParts } from "../../prompts/injector.ts";
import type { RequestHead } from "@millrace/engine/storage/record-stores";
import { toLangChainTools } from "../../tools/runtime/registry.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import type { LoopCall } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/**
 * Returns a function that records each request of one model call for inspection. Recording is not awaited; failures are
 * logged. Requests of agents are not recorded.
 */
export function requestRecorder(
  model: string,
  tools: readonly Tool[],
  call: LoopCall,
  config: LangGraphRunnableConfig,
): (messages: BaseMessage[]) => void {
  const { requests, logger } = servicesOf(config);
  const session_id = sessionIdOf(config);
  if (requests === undefined || call.agent !== undefined) return () => undefined;
  const about = {
    session_id,
    run_id: runIdOf(config),
    model_call_id: call.modelCallId,
    node: call.node,
    is_silent: call.silent,
    model,
    temperature: call.temperature ?? null,
    thinking: call.thinking ?? null,
    max_tokens: call.maxTokens ?? null,
    tool_protocol: call.toolProtocol ?? null,
    forced_tool: tools.find(({ name }) => name === call.forcedTool)?.name ?? null,
    tools: toLangChainTools(tools),
  };
  let last: BaseMessage[] | undefined;
  return (messages) => {
    // A retry sends the same list again.
    if (messages === last) return;
    last = messages;
    const head = headOf(messages, call);
    const rest = messages.slice(1 + head.documentation.length);
    requests
      .record({ ...about, asked_at: new Date().toISOString(), head, messages: rest })
      .catch((error: unknown) => logger?.warn({ err: error, session_id }, "model_request_not_noted"));
  };
}

const heads = new WeakMap<LoopCall, RequestHead>();

/** Reuses the object while unchanged, so that its stored form is computed once. A touched file may add a rule. */
function headOf(messages: readonly BaseMessage[], call: LoopCall): RequestHead {
  const system = textOf(messages[0]?.content ?? "");
  const documentation = call.documentation ?? [];
  const known = heads.get(call);
  if (known?.system === system && isSameList(known.documentation, documentation)) return known;
  const all = call.parts ?? [{ name: "system", section: "system_prompt", text: system }];
  const parts = system === call.system ? all : coreParts(call.parts ?? []);
  const head: RequestHead = {
    system,
    parts: parts.map(({ name, section, text, values }) => ({ name, section, characters: text.length, values })),
    documentation,
  };
  heads.set(call, head);
  return head;
}

function isSameList(left: readonly BaseMessage[], right: readonly BaseMessage[]): boolean {
  return left.length === right.length && left.every((message, index) => message === right[index]);
}
