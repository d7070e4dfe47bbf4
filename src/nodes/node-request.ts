import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "../context/tokens.ts";
import { AppError } from "../errors.ts";
import type { LoopRequest } from "../loop/request.ts";
import { servicesOf } from "../loop/services.ts";
import { systemText } from "../prompts/injector.ts";
import { LoopLimits, RunContext, type GraphState } from "../state.ts";
import { tools } from "../tools/index.ts";
import { createRegistry } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";

/** What the run chose: `context`, or the same keys in `configurable` as older clients send them. */
export function runContext(config: LangGraphRunnableConfig): RunContext {
  const chosen: Record<string, unknown> = {};
  for (const key of Object.keys(RunContext.shape)) {
    const value: unknown = config.context?.[key] ?? config.configurable?.[key];
    if (value !== undefined) chosen[key] = value;
  }
  const parsed = RunContext.safeParse(chosen);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new AppError("invalid_parameter", `The run's context is not usable: ${problems.join("; ")}`, {
    suggestion: "GET /assistants/agent/schemas shows what context may hold.",
  });
}

const registry = createRegistry(Object.values(tools));

/** The tools a run may use: the default set, or those it names. An unknown name throws `tool_not_found`. */
export function offeredTools(context: RunContext): Tool[] {
  const names = context.selected_tool === undefined ? context.tools : [context.selected_tool];
  return names === undefined ? registry.defaults() : registry.restrict(names);
}

/**
 * The loop request of a node: its name, its task text (L1), its tools. The rest comes from the state and the run. `tools`
 * left out means all that the run may use; chat mode has none (LOOP-20).
 */
export function nodeRequest(
  node: string,
  state: GraphState,
  config: LangGraphRunnableConfig,
  options: { task?: string; tools?: Tool[]; instruction?: string; history?: BaseMessage[]; silent?: boolean },
): LoopRequest {
  const context = runContext(config);
  const services = servicesOf(config);
  const chat = (context.chat_mode ?? state.chat_mode) === "chat";
  return {
    node,
    system: systemText({
      ...(options.task === undefined ? {} : { task: options.task }),
      context: {
        summary: state.conversation_summary,
        facts: {
          "Design goals": state.design_goals_summary,
          "Circuit file": state.circuit_file_path,
          "Last error": state.error_context,
        },
      },
    }),
    history: options.history ?? state.messages,
    summary: state.conversation_summary,
    tools: chat ? [] : (options.tools ?? offeredTools(context)),
    limits: LoopLimits.parse(context.limits ?? {}),
    model: context.model ?? services.defaultModel,
    requiresConfirm: state.orchestration.requires_confirm,
    silent: options.silent ?? false,
    ...(context.temperature === undefined ? {} : { temperature: context.temperature }),
    ...(options.instruction === undefined ? {} : { instruction: options.instruction }),
    ...(context.selected_tool === undefined || options.tools?.length === 0
      ? {}
      : { forcedTool: context.selected_tool }),
  };
}

/** The last words of a loop call. */
export function replyText(messages: readonly BaseMessage[]): string {
  return textOf(messages.findLast((message) => isAIMessage(message))?.content ?? "");
}

/** The name of the last tool and how it ended, for the orchestration record (STATE-04). */
export function lastToolOf(messages: readonly BaseMessage[]): {
  last_tool: string | null;
  last_result_summary: string | null;
} {
  const result = messages.findLast((message) => message.getType() === "tool");
  return {
    last_tool: result?.name ?? null,
    last_result_summary: result === undefined ? null : textOf(result.content).slice(0, 200),
  };
}
