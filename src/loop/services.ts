import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { AgentSource } from "../agents/agent-folders.ts";
import type { CallBack } from "../callbacks/callback.ts";
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
import type { Ledger, OperationStore } from "@millrace/engine/storage/storage";
import type { ToolHook } from "../tools/runtime/hooks.ts";
import type { Locks } from "../tools/runtime/locks.ts";
import type { Tool, ToolSource } from "../tools/runtime/tool.ts";
import type { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import type { Toolkit } from "../toolkits/toolkit.ts";
import type { Rate } from "@millrace/engine/concurrency/limits";
import type { BackgroundService } from "./sub-agents/background-service.ts";
import type { Progress } from "./progress.ts";

/** What the server lends to a run: the ledger, the workspace (absolute, links resolved) and more. */
export interface RunServices {
  ledger: Ledger;
  workspace: string;
  /** What the operator wants to be asked about besides the rules; see `ToolContext`. */
  criticalFiles?: readonly string[];
  confirmTasks?: boolean;
  /** The yeses that a session remembers; absent where nobody stores any. */
  grants?: (sessionId: string) => Promise<Pick<Grant, "tool" | "path_pattern">[]>;
  /** What tools change in the workspace, kept for undo; absent where nobody can undo it. */
  operations?: OperationStore;
  /** What tools have changed just now; absent where nobody asks. */
  changedFiles?: ChangedFiles;
  /** Where what the model is sent can be looked at; absent where nobody looks. */
  requests?: Pick<ModelRequestStore, "note">;
  /** Sources of context beside the built-in ones. */
  collectors?: readonly Collector[];
  /** Who watches tool calls, and who is told what they throw. */
  hooks?: readonly ToolHook[];
  onHookProblem?: (hook: string, error: unknown) => void;
  /** How many tool calls and model calls of all runs may begin in a second; absent: as many as come. */
  toolRate?: Rate | undefined;
  modelRate?: Rate | undefined;
  /** Model calls of all runs that may be under way at once; absent: as many as come. */
  modelRequests?: number | undefined;
  /** The toolkits that runs may use. */
  toolkits: readonly Toolkit[];
  /** What single owners may use of the tools, and what the owner of this run's session may; absent: all. */
  ownerTools?: OwnerTools;
  allowedTools?: ReadonlySet<string> | undefined;
  /** What toolkits keep open for their tools and nodes, as far as it belongs to the session of this run. */
  toolkitServices: ToolkitServices;
  /** Where tools come from that may come and go. Each run asks them once, when it begins or goes on. */
  toolSources?: readonly ToolSource[];
  /** What they had for this run: the same tools to its end, also when a source is lost meanwhile. */
  addedTools?: readonly Tool[];
  /** Locks of the process, shared by all runs. */
  locks: Locks;
  /** The model used when a run names none. */
  defaultModel: string;
  /** Tokens a model may read at most, where the operator said so. */
  contextLimit: number | undefined;
  loadModel: ModelLoader;
  /** What is known of models, and who has which role; absent: what is built in, and `defaultModel` for everything. */
  models?: Pick<ModelRegistry, "profile" | "roles">;
  /** Where prompts come from. */
  prompts: Prompts;
  /** The agents that work can be handed to; absent: none. */
  agents?: AgentSource;
  /** What models are given to read before a conversation; absent: nothing. */
  documents?: readonly DocumentSource[];
  /** Called when documentation is looked up. */
  callBack?: CallBack | undefined;
  /** Where agents work beyond the turn; absent: nowhere. */
  background?: BackgroundService | undefined;
  /** Where a detected loop is logged; absent where nobody reads a log. */
  logger?: Pick<Logger, "info" | "warn">;
  /** Told of every event in the moment it is emitted, whether or not a reader of the run has asked for it. */
  onEvent?: ((event: CustomEvent) => void) | undefined;
  /** Collects what the run does, where somebody can stop it. */
  progress?: Progress | undefined;
}

/** The key in `configurable`; the two underscores keep it out of checkpoint metadata and traces. */
export const servicesKey = "__millrace";

/** The prompts of this run. */
export function promptsOf(config: RunnableConfig): Prompts {
  return servicesOf(config).prompts;
}

/** What is known of models in this run. */
export function profilesOf(config: RunnableConfig): ReadProfile {
  return servicesOf(config).models?.profile ?? builtInProfiles;
}

/** Who has which role where this run does not say. */
export function rolesOf(config: RunnableConfig): ServerRoles {
  const { models, defaultModel } = servicesOf(config);
  return models?.roles() ?? { main: defaultModel };
}

/** The session of this run: LangGraph's thread id. */
export function sessionIdOf(config: RunnableConfig): string {
  return textAt(config, "thread_id");
}

/** The run's id; empty where a test or another server gives none. */
export function runIdOf(config: RunnableConfig): string {
  return textAt(config, "run_id");
}

/** The path of the task that runs: `node:task`, with `|` between the levels of subgraphs. */
export function taskPathOf(config: RunnableConfig): string {
  return textAt(config, "checkpoint_ns");
}

function textAt(config: RunnableConfig, key: string): string {
  const value: unknown = config.configurable?.[key];
  return typeof value === "string" ? value : "";
}

/** Tells the run's readers (`custom` stream mode), and the server that has lent its services. */
export function tellEvent(config: Pick<LangGraphRunnableConfig, "writer" | "configurable">, event: CustomEvent): void {
  config.writer?.(event);
  lentTo(config)?.onEvent?.(event);
}

let makeOwnServices: (() => RunServices) | undefined;

/** Sets what makes the services of a process that is lent none: see `servicesOf`. The workflow does, when it is loaded. */
export function provideOwnServices(make: () => RunServices): void {
  makeOwnServices = make;
}

/**
 * The services of this run. Under another server (LangGraph's own, or a test) nobody lends any: then the process has
 * its own, with a ledger in memory, so the graph still runs; only repeating after a crash is then not prevented.
 */
export function servicesOf(config: RunnableConfig): RunServices {
  const services = lentTo(config) ?? makeOwnServices?.();
  if (services === undefined) {
    throw new Error("The loop has no services: no server lends any, and provideOwnServices() was not called.");
  }
  return services;
}

/** Lends a run its services, which it makes when the graph first asks for them. */
export interface ServicesLender {
  readonly services: RunServices;
}

function lentTo({ configurable }: Pick<RunnableConfig, "configurable">): RunServices | undefined {
  // Only src/agent-runs and tests set this key, to one of these.
  const lent = configurable?.[servicesKey] as ServicesLender | RunServices | undefined;
  return lent !== undefined && "services" in lent ? lent.services : lent;
}
