import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { AgentSource } from "../agents/agent-folders.ts";
import type { InvokeCallbacks } from "../callbacks/callback.ts";
import type { ChangedFiles } from "../context/workspace/changed-files.ts";
import type { DocumentSource } from "../context/documentation/documentation.ts";
import type { Collector } from "../context/collector.ts";
import type { CustomEvent } from "../events.ts";
import type { Logger } from "@millrace/engine/logger";
import type { ModelLoader } from "@millrace/models/load-model";
import type { ReadProfile } from "@millrace/models/registry/model-profile";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { ServerRoles } from "@millrace/models/registry/roles";
import type { Prompts } from "../prompts/prompts.ts";
import type { OwnerTools } from "@millrace/engine/config/tool-settings";
import type { Grant } from "@millrace/engine/storage/records";
import type { ModelRequestStore } from "@millrace/engine/storage/record-stores";
import type { Ledger, LedgerReader, OperationStore } from "@millrace/engine/storage/attempt-store";
import type { ToolHook } from "../tools/runtime/hooks.ts";
import type { Locks } from "../tools/runtime/locks.ts";
import type { Tool, ToolSource } from "../tools/runtime/tool.ts";
import type { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import type { Toolkit } from "../toolkits/toolkit.ts";
import type { RateLimiter } from "@millrace/engine/concurrency/limits";
import type { OwnerAccount } from "@millrace/engine/usage/usage-of-run";
import type { BackgroundService } from "./sub-agents/background-service.ts";
import type { Progress } from "./progress.ts";

/** What an answer of a model took; `cost` is 0 where no price is known. */
export interface ModelUsage {
  /** `provider:model`. */
  model: string;
  input_tokens: number;
  output_tokens: number;
  cost: number;
}

/** Services for a run. */
export interface RunServices extends SharedRunServices {
  ledger: Ledger;
  /** Stores workspace changes for undo; absent: no undo. */
  operations?: OperationStore;
  /** Counts what the run's model calls use, and knows whether its owner may use more; absent: no limits. */
  account?: Pick<OwnerAccount, "count" | "countFailure" | "spent"> | undefined;
  /** Records model requests for inspection. */
  requests?: Pick<ModelRequestStore, "record">;
}

/**
 * Services that all runs of a server share: what is written for a run, only its own services can write. `workspace` is an
 * absolute path with links resolved.
 */
export interface SharedRunServices {
  ledger: LedgerReader;
  workspace: string;
  /** Files and task deletions that always need approval; see `ToolContext`. */
  criticalFiles?: readonly string[];
  confirmTasks?: boolean;
  /** The session's remembered approvals; absent if none are stored. */
  grants?: (sessionId: string) => Promise<Pick<Grant, "tool" | "path_pattern">[]>;
  /** Collects recent changes by tools. */
  changedFiles?: ChangedFiles;
  /** Additional context sources. */
  collectors?: readonly Collector[];
  /** Observers of tool calls, and a handler for their errors. */
  hooks?: readonly ToolHook[];
  onHookProblem?: (hook: string, error: unknown) => void;
  /** Rate limits for tool calls and model calls of all runs; absent: unlimited. */
  toolRate?: RateLimiter | undefined;
  modelRate?: RateLimiter | undefined;
  /** Concurrent model calls of all runs; absent: unlimited. */
  modelRequests?: number | undefined;
  /** Toolkits that runs may use. */
  toolkits: readonly Toolkit[];
  /** Tools per owner, and those allowed to the session's owner; absent: all. */
  ownerTools?: OwnerTools;
  allowedTools?: ReadonlySet<string> | undefined;
  /** Toolkits' long-lived services, limited to this run's session. */
  toolkitServices: ToolkitServices;
  /** Sources of changing tools, read when a run starts or resumes. */
  toolSources?: readonly ToolSource[];
  /** Their tools for this run; they stay to its end even if a source is lost. */
  addedTools?: readonly Tool[];
  /** Locks shared by all runs of the process. */
  locks: Locks;
  /** The model of runs that name none. */
  defaultModel: string;
  /** The operator's limit for a model's input tokens. */
  contextLimit: number | undefined;
  loadModel: ModelLoader;
  /** Model profiles and roles; absent: built-in profiles and `defaultModel` for every role. */
  models?: Pick<ModelRegistry, "profile" | "roles">;
  /** The prompts. */
  prompts: Prompts;
  /** Available agents; absent: none. */
  agents?: AgentSource;
  /** Documentation for models; absent: none. */
  documents?: readonly DocumentSource[];
  /** Called with what each answer of a model took. */
  onUsage?: (usage: ModelUsage) => void;
  /** Called when documentation is loaded. */
  invokeCallbacks?: InvokeCallbacks | undefined;
  /** Runs agents beyond the turn; absent: not possible. */
  background?: BackgroundService | undefined;
  /** Absent: no logging. */
  logger?: Pick<Logger, "info" | "warn">;
  /** Called with every event at once, even if no reader requested it. */
  onEvent?: ((event: CustomEvent) => void) | undefined;
  /** Records the run's work for a stop. */
  progress?: Progress | undefined;
}

/** The key in `configurable`; the two underscores keep it out of checkpoint metadata and traces. */
export const servicesKey = "__millrace";

/** The prompts of this run. */
export function promptsOf(config: RunnableConfig): Prompts {
  return servicesOf(config).prompts;
}

/** Model profiles for this run. */
export function profilesOf(config: RunnableConfig): ReadProfile {
  return servicesOf(config).models?.profile ?? builtInProfiles;
}

/** The server's model roles, used where the run sets none. */
export function rolesOf(config: RunnableConfig): ServerRoles {
  const { models, defaultModel } = servicesOf(config);
  return models?.roles() ?? { main: defaultModel };
}

/** The session of this run: LangGraph's thread id. */
export function sessionIdOf(config: RunnableConfig): string {
  return textAt(config, "thread_id");
}

/** The run's id; empty under a server or test that sets none. */
export function runIdOf(config: RunnableConfig): string {
  return textAt(config, "run_id");
}

/** The current task's path: `node:task`, subgraph levels separated by `|`. */
export function taskPathOf(config: RunnableConfig): string {
  return textAt(config, "checkpoint_ns");
}

function textAt(config: RunnableConfig, key: string): string {
  const value: unknown = config.configurable?.[key];
  return typeof value === "string" ? value : "";
}

/** Emits an event on the run's `custom` stream and to the server's `onEvent`. */
export function emitEvent(config: Pick<LangGraphRunnableConfig, "writer" | "configurable">, event: CustomEvent): void {
  config.writer?.(event);
  providedServices(config)?.onEvent?.(event);
}

let makeOwnServices: (() => RunServices) | undefined;

/** Sets the factory for services without our server, see `servicesOf`; called when the workflow is loaded. */
export function provideOwnServices(make: () => RunServices): void {
  makeOwnServices = make;
}

/**
 * The run's services. Without our server (LangGraph's own, or a test) the process creates its own with a ledger in
 * memory: the graph runs, but calls may repeat after a crash.
 */
export function servicesOf(config: RunnableConfig): RunServices {
  const services = providedServices(config) ?? makeOwnServices?.();
  if (services === undefined) {
    throw new Error("The loop has no services: the server provides none, and provideOwnServices() was not called.");
  }
  return services;
}

/** The services for a call that has waited for the rate of tools when it began early; its retries wait as all do. */
export function afterWaiting(services: RunServices): RunServices {
  const { toolRate } = services;
  if (toolRate === undefined) return services;
  let isFirst = true;
  const acquire = async (signal: AbortSignal): Promise<void> => {
    if (!isFirst) await toolRate.acquire(signal);
    isFirst = false;
  };
  return { ...services, toolRate: { acquire } };
}

/** Creates a run's services on first access. */
export interface RunServicesProvider {
  readonly services: RunServices;
}

function providedServices({ configurable }: Pick<RunnableConfig, "configurable">): RunServices | undefined {
  // Only src/agent-runs and tests set this key.
  const provided = configurable?.[servicesKey] as RunServicesProvider | RunServices | undefined;
  return provided !== undefined && "services" in provided ? provided.services : provided;
}
