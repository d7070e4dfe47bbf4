import type { RunnableConfig } from "@langchain/core/runnables";
import { mkdirSync } from "node:fs";
import { currentConfig } from "../config.ts";
import { createModelLoader, type ModelLoader } from "../models/load-model.ts";
import type { Grant } from "../storage/records.ts";
import { createMemoryLedger, createMemoryTasks } from "../storage/memory.ts";
import type { Ledger, TaskStore } from "../storage/storage.ts";
import { createLocks, type Locks } from "../tools/locks.ts";
import type { Progress } from "./progress.ts";

/** What the server lends to a run: the ledger, the planner's tasks and the workspace (absolute, links resolved). */
export interface RunServices {
  ledger: Ledger;
  tasks: TaskStore;
  workspace: string;
  /** The yeses that a session remembers; absent where nobody stores any. */
  grants?: (sessionId: string) => Promise<Pick<Grant, "tool" | "path_pattern">[]>;
  /** Locks of the process, shared by all runs. */
  locks: Locks;
  /** The model used when a run names none. */
  defaultModel: string;
  /** Tokens a model may read at most, where the operator said so. */
  contextLimit: number | undefined;
  loadModel: ModelLoader;
  /** Collects what the run does, where somebody can stop it. */
  progress?: Progress | undefined;
}

/** The key in `configurable`; the two underscores keep it out of checkpoint metadata and traces. */
export const servicesKey = "__millrace";

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

let ownServices: RunServices | undefined;

/**
 * The services of this run. Under another server (LangGraph's own, or a test) nobody lends any: then the process has its
 * own, with a ledger in memory, so the graph still runs; only repeating after a crash is then not prevented.
 */
export function servicesOf(config: RunnableConfig): RunServices {
  // Only runs/execute.ts sets this key, and it sets a RunServices.
  const lent = config.configurable?.[servicesKey] as RunServices | undefined;
  if (lent !== undefined) return lent;
  if (ownServices === undefined) {
    const settings = currentConfig();
    if (settings.workspaceIsDefault) mkdirSync(settings.workspace, { recursive: true });
    ownServices = {
      ledger: createMemoryLedger(),
      tasks: createMemoryTasks(),
      workspace: settings.workspace,
      locks: createLocks(),
      defaultModel: settings.model,
      contextLimit: settings.contextLimit,
      loadModel: createModelLoader(settings),
    };
  }
  return ownServices;
}
