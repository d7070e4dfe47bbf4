import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessageChunk } from "@millrace/engine/message-kinds";
import type { InvokeCallbacks } from "../callbacks/callback.ts";
import type { CustomEvent } from "../events.ts";
import type { Run } from "@millrace/engine/storage/records";

/** Calls the callbacks of one attempt of a run. */
export interface RunCallbacks {
  /** Called before the run reads anything; `resumes`: it continues from a checkpoint. */
  onAttemptStart(resumes: boolean): void;
  /** The graph is about to start. */
  onGraphStart(resumes: boolean): void;
  onEvent(event: CustomEvent): void;
  onMessage(message: BaseMessage): void;
  onEndStored(run: Run): void;
}

/** Creates the callbacks of one attempt. */
export function createRunCallbacks(run: Run, invokeCallbacks: InvokeCallbacks): RunCallbacks {
  const { session_id, run_id, attempt } = run;
  const inRun = { session_id, run_id };
  const written = new Set<string>();
  /** Iterations with a model request in progress, by agent id; the main loop's key is "". */
  const asking = new Map<string, number>();
  const callBegan = (tool_call_id: string, tool_name: string): void => {
    if (written.has(tool_call_id)) return;
    written.add(tool_call_id);
    invokeCallbacks("tool_generated_started", { ...inRun, tool_call_id, tool_name });
  };
  const answered = (agent: string): void => {
    const iteration = asking.get(agent);
    if (iteration !== undefined) invokeCallbacks("api_request_end", { ...inRun, iteration });
    asking.delete(agent);
  };
  return {
    onAttemptStart: (resumes) =>
      resumes
        ? invokeCallbacks("pre_conversation_resumed", { ...inRun, attempt })
        : invokeCallbacks("conversation_start", inRun),
    onGraphStart: (resumes) => {
      if (resumes) invokeCallbacks("post_conversation_resumed", { ...inRun, attempt });
    },
    onEvent(event) {
      if (event.type === "agentic_loop.state_changed") {
        const agent = agentOf(event);
        answered(agent);
        if (event.to_state !== "streaming") return;
        asking.set(agent, event.iteration);
        invokeCallbacks("api_request_start", { ...inRun, iteration: event.iteration });
      } else if (event.type === "tool_status" && event.status === "pending") {
        const { tool_call_id, tool_name } = event;
        callBegan(tool_call_id, tool_name);
        invokeCallbacks("tool_generated_end", { ...inRun, tool_call_id, tool_name });
      }
    },
    onMessage(message) {
      if (!isAIMessageChunk(message)) return;
      for (const { id, name } of message.tool_call_chunks ?? []) {
        if (id !== undefined && id !== "" && name !== undefined && name !== "") callBegan(id, name);
      }
    },
    onEndStored({ status }) {
      for (const agent of asking.keys()) answered(agent);
      invokeCallbacks("conversation_end", { ...inRun, status });
    },
  };
}

const OfAgent = z.looseObject({ agent: z.object({ id: z.string() }) });

function agentOf(event: CustomEvent): string {
  return OfAgent.safeParse(event).data?.agent.id ?? "";
}
