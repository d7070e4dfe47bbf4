/** Which run of which session something happens in. */
export interface InRun {
  session_id: string;
  run_id: string;
}

/** A tool call as callbacks see it; `call_id` is the ledger's, arguments are not theirs to know. */
export interface CalledTool extends InRun {
  tool: string;
  call_id: string;
}

/** How much was found, and how many files could not be used as they are. */
export interface Loaded extends InRun {
  count: number;
  problems: number;
}

/** The argument of the callbacks at each point. */
export interface CallbackPoints {
  /** A run takes up the user's message. */
  conversation_start: InRun;
  /** It is over, and its row says how. */
  conversation_end: InRun & { status: string };
  /** A run is about to go on from a checkpoint, after an answer or a restart; then it does. */
  pre_conversation_resumed: InRun & { attempt: number };
  post_conversation_resumed: InRun & { attempt: number };
  /** The model is asked, and has answered or failed. */
  api_request_start: InRun & { iteration: number };
  api_request_end: InRun & { iteration: number };
  /** The model begins to write a call, and has written it. */
  tool_generated_started: InRun & { tool_call_id: string; tool_name: string };
  tool_generated_end: InRun & { tool_call_id: string; tool_name: string };
  /** A tool really runs, and has ended. `milliseconds` since it began. */
  pre_tool_call: CalledTool;
  post_tool_call: CalledTool & { success: boolean; milliseconds: number };
  /** The user's rules, the documentation of libraries and the external tools are looked up for a model, and have been. */
  pre_rules_loaded: InRun;
  post_rules_loaded: Loaded;
  pre_llm_friendly_packages_loaded: InRun;
  post_llm_friendly_packages_loaded: Loaded;
  pre_tools_loaded: InRun;
  post_tools_loaded: Loaded;
}

/** What is looked up for a model before its first call. */
export type LoadingPoint = "rules" | "llm_friendly_packages" | "tools";

/** The name of a point. */
export type CallbackPoint = keyof CallbackPoints;

/** What a workflow designer adds: functions for any of the points. They watch; they can neither change nor stop anything. */
export type Callback = { name: string } & {
  readonly [Point in CallbackPoint]?: (told: CallbackPoints[Point]) => void | Promise<void>;
};

/** Calls every callback of a point, without waiting for it. */
export type CallBack = <Point extends CallbackPoint>(point: Point, told: CallbackPoints[Point]) => void;

/**
 * Calls the callbacks in their order. A failing callback is reported to `onProblem`; the others still run.
 */
export function createCallBack(
  callbacks: readonly Callback[],
  onProblem: (problem: { callback: string; point: CallbackPoint; err: unknown }) => void,
): CallBack {
  return (point, told) => {
    for (const callback of callbacks) {
      const failed = (err: unknown): void => onProblem({ callback: callback.name, point, err });
      try {
        // Each callback takes the argument of its own point, which the union of all points cannot express.
        const watch = callback[point] as ((told: CallbackPoints[typeof point]) => void | Promise<void>) | undefined;
        watch?.(told)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  };
}
