/** The session and run of a callback. */
export interface InRun {
  session_id: string;
  run_id: string;
}

/** A tool call as callbacks see it, without arguments. `call_id` is the ledger's. */
export interface CalledTool extends InRun {
  tool: string;
  call_id: string;
}

/** Number of items found, and of unusable files. */
export interface Loaded extends InRun {
  count: number;
  problems: number;
}

/** The argument of the callbacks at each point. */
export interface CallbackPoints {
  /** A run starts on the user's message. */
  conversation_start: InRun;
  /** The run has ended and is stored. */
  conversation_end: InRun & { status: string };
  /** A run is about to resume from a checkpoint, after an answer or a restart; then it has resumed. */
  pre_conversation_resumed: InRun & { attempt: number };
  post_conversation_resumed: InRun & { attempt: number };
  /** A model request starts; it succeeded or failed. */
  api_request_start: InRun & { iteration: number };
  api_request_end: InRun & { iteration: number };
  /** The model starts to write a tool call; it is complete. */
  tool_generated_started: InRun & { tool_call_id: string; tool_name: string };
  tool_generated_end: InRun & { tool_call_id: string; tool_name: string };
  /** A tool starts to run; it has ended after `milliseconds`. */
  pre_tool_call: CalledTool;
  post_tool_call: CalledTool & { success: boolean; milliseconds: number };
  /** Loading of rules, library documentation and external tools starts; it is done. */
  pre_rules_loaded: InRun;
  post_rules_loaded: Loaded;
  pre_llm_friendly_packages_loaded: InRun;
  post_llm_friendly_packages_loaded: Loaded;
  pre_tools_loaded: InRun;
  post_tools_loaded: Loaded;
}

/** What is loaded before the first model call. */
export type LoadingPoint = "rules" | "llm_friendly_packages" | "tools";

/** The name of a point. */
export type CallbackPoint = keyof CallbackPoints;

/** Functions of a workflow designer for any of the points. They observe; they cannot change or stop anything. */
export type Callback = { name: string } & {
  readonly [Point in CallbackPoint]?: (data: CallbackPoints[Point]) => void | Promise<void>;
};

/** Calls every callback of a point, without waiting for it. */
export type InvokeCallbacks = <Point extends CallbackPoint>(point: Point, data: CallbackPoints[Point]) => void;

/**
 * Calls the callbacks in their order. A failing callback is reported to `onProblem`; the others still run.
 */
export function createCallbackInvoker(
  callbacks: readonly Callback[],
  onProblem: (problem: { callback: string; point: CallbackPoint; err: unknown }) => void,
): InvokeCallbacks {
  return (point, data) => {
    for (const callback of callbacks) {
      const failed = (err: unknown): void => onProblem({ callback: callback.name, point, err });
      try {
        // Each callback takes the argument of its own point, which the union of all points cannot express.
        const watch = callback[point] as ((data: CallbackPoints[typeof point]) => void | Promise<void>) | undefined;
        watch?.(data)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  };
}
