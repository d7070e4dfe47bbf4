import type { BaseMessage } from "@langchain/core/messages";
import type { z } from "zod";
import type { Config } from "@millrace/engine/config/config";
import type { HttpApp } from "@millrace/engine/http/environment";
import type { Logger } from "@millrace/engine/logger";
import type { Storage } from "@millrace/engine/storage/storage";
import type { EmbeddingRole } from "@millrace/models/embeddings";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { SearchResult } from "@millrace/models/messages/search-result";
import type { Callback } from "../callbacks/callback.ts";
import type { DocumentSource } from "../context/documentation/documentation.ts";
import type { ChangedFiles } from "../context/workspace/changed-files.ts";
import type { Collector } from "../context/collector.ts";
import type { CompletionCheck } from "../guardrails/completion.ts";
import type { Guardrail } from "../guardrails/guardrail.ts";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { Prompts } from "../prompts/prompts.ts";
import type { ContextLayer } from "../prompts/injector.ts";
import type { Template, Value } from "../prompts/template.ts";
import type { CustomEvent } from "../events.ts";
import type { GraphState, RunContext, WorkflowNode } from "../state.ts";
import type { ContextShares } from "../user-context.ts";
import type { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import type { Tool, ToolSource } from "../tools/runtime/tool.ts";
import type { FileFormat } from "../tools/workspace/file-formats.ts";

/** A node that a toolkit adds to the workflow, and where the workflow goes from it: a node's name, or `END`. */
export interface ToolkitNode {
  run: WorkflowNode;
  /** It calls the agentic loop: the graph knows its subgraph. */
  callsLoop?: true;
  next: string | { choose: (state: GraphState) => string; targets: readonly string[] };
}

/** A task that a run names in place of free input (`action_type`). */
export interface PresetAction {
  template: Template;
  /** The task text, filled from the session's state. */
  task: (state: GraphState, prompts: Prompts) => string;
}

/**
 * A text for the model that stays the same through a session, for the prefix cache. Written once and stored in a state
 * field.
 */
export interface SessionText {
  /** The toolkit's field of the state: `null` until the text is written, empty if there is nothing to write. */
  field: string;
  /** Called in the first turn; `tokens` limits the text. Errors become warnings. */
  write(about: SessionStart, signal: AbortSignal): Promise<string>;
}

/** A session before its first model call. */
export interface SessionStart {
  /** The user's first words. */
  request: string;
  tokens: number;
  services: ToolkitServices;
  context: RunContext;
  prompts: Prompts;
  /** Reports parts left out. */
  warn(reason: string): void;
}

/** What a toolkit finds for a turn before the first model call. */
export interface TurnSource {
  /** Called in every run, even without the toolkit; usually false. */
  isWanted(context: RunContext): boolean;
  /** Once in a turn. A failure is an event and a warning, not an error; only a stop is thrown. */
  find(turn: TurnStart, signal: AbortSignal): Promise<TurnFindings>;
}

/** A turn before its first model call. */
export interface TurnStart {
  /** The user's last words. */
  request: string;
  context: RunContext;
  services: ToolkitServices;
  prompts: Prompts;
  /** Whether the run has the toolkit. */
  isChosen: boolean;
  /** Tokens of this share of the model's window. */
  tokensFor(share: keyof ContextShares): number;
  emit: (event: CustomEvent) => void;
  /** Logs a warning with the session and the run that it is about. */
  warn: (about: Record<string, unknown>, message: string) => void;
}

/** Findings for a turn. */
export interface TurnFindings {
  /** The layer for each model call of the turn; `null`: none. */
  layer: ContextLayer | null;
  /** The source pages, stored with the reply. */
  sources: readonly SearchResult[];
}

/** What a toolkit adds to the workflow. All names are its own: no two toolkits share one. */
export interface ToolkitWorkflow {
  /** Fields of the state: zod schemas with a default. Its tools write them with `session` of their results. */
  state?: z.ZodRawShape;
  /** Keys of a run's context. */
  context?: z.ZodRawShape;
  nodes?: Readonly<Record<string, ToolkitNode>>;
  /** The toolkit's node that a turn goes to after its work, if `isDue`. */
  afterWork?: { node: string; isDue: (state: GraphState, context: RunContext) => boolean };
  actions?: Readonly<Record<string, PresetAction>>;
  /**
   * The action that the user's last message chose at one of its nodes; `null`: something else; `undefined`: nothing.
   */
  chosenAction?: (messages: readonly BaseMessage[]) => string | null | undefined;
  /** Lines about the session for the system text, by their labels. */
  facts?: (state: GraphState) => Readonly<Record<string, string | null>>;
  /** Variables that every identity may use, and their values. */
  identityVariables?: Readonly<Record<string, (state: GraphState, context: RunContext) => Value>>;
  sessionText?: SessionText;
  /** The session's files, for rules with path patterns. */
  files?: (state: GraphState) => readonly (string | null)[];
}

/** What a toolkit may use when the server opens it. */
export interface ToolkitServer {
  /** As it was at the start. */
  config: Config;
  /** With the settings that were changed since: the same object until the next change. */
  settings: Pick<LiveSettings, "current">;
  /** Knows the keys that users have stored while the server runs. */
  models: Pick<ModelRegistry, "storedKeys">;
  workspace: string;
  /** The user's home folder. */
  home: string;
  /** Names of all tools that the program brings. */
  toolNames: ReadonlySet<string>;
  logger: Logger;
  storage: Pick<Storage, "tasks"> & Partial<Pick<Storage, "items" | "sessions" | "textIndex" | "cluster">>;
  /** The model that makes vectors of texts. */
  embedding?: EmbeddingRole | undefined;
  changedFiles?: ChangedFiles | undefined;
  /** Whether runs of this server may use the toolkit. */
  isEnabled: boolean;
  services: ToolkitServices;
  /** Adds a source of further tools, also while the server runs. The toolkit closes it. */
  addToolSource: (source: ToolSource) => void;
}

/** Work that ended outside of a turn: its id, and its text for a model in at most `maxLength` characters. */
export interface FinishedWork {
  id: string;
  text: (maxLength: number) => string;
}

/** Something that a toolkit has opened. */
export interface OpenedToolkit {
  /** What models read before a conversation. */
  documents?: readonly DocumentSource[];
  /** The server is ready. */
  start?(): void;
  /** A session is deleted: what still works for it has to end. */
  forget?(sessionId: string): Promise<void>;
  /** The server stops: ends the streams of clients. Runs still finish. */
  stop?(): Promise<void>;
  /** Called when no run works any more. */
  close?(): Promise<void>;
}

/** A profile, and its parts from the toolkit. */
export interface ToolkitProfile {
  profile: string;
  /** Its text, where the profile is the toolkit's own. */
  template?: Template;
  completion?: CompletionCheck;
  /** A long conversation is shown shorter before the model's window is full. */
  cutsHistoryEarly?: true;
}

/**
 * Everything that one kind of work needs, switched on and off as a whole: by `MILLRACE_TOOLKITS` for the server, and by
 * each run for itself.
 */
export interface Toolkit {
  /** By which configuration and runs name it: lower case, words joined by dashes. */
  name: string;
  title: { en: string; zh: string };
  /** One sentence for users. */
  description: { en: string; zh: string };
  tools: readonly Tool[];
  /**
   * Whether a run that does not name the toolkit offers its tools to the model: if the request, the names in the
   * workspace (`entries`) or the state show this kind of work. Default: always.
   */
  isWanted?: (about: { request: string; entries: readonly string[]; state: GraphState }) => boolean;
  /**
   * Whether server and run meet its tools' requirements; otherwise runs get the tools only by name, and results say
   * what is missing. Default: always.
   */
  isAvailable?: (about: { services: ToolkitServices; context: RunContext }) => boolean;
  /** The texts that are of this work alone. */
  templates: readonly Template[];
  /** The profile of a run that names this toolkit and no profile. */
  identity?: ToolkitProfile | undefined;
  /** Kinds of files that the tools for files read and write by it. */
  fileFormats: readonly FileFormat[];
  /** Used only in runs with the toolkit. */
  collectors: readonly Collector[];
  /** Rules over the calls of its own tools, before those over all calls. They hold in every run. */
  guardrails: readonly Guardrail[];
  /** Observers that are called at points of every run. */
  callbacks: readonly Callback[];
  beforeTurn?: TurnSource;
  /** Work that has ended in the background of a session. The model reads of each once, at its next call. */
  finishedWork?(sessionId: string, services: ToolkitServices): readonly FinishedWork[];
  /**
   * `default`: unless the configuration names others. `named`: only if the operator names it. `always`: in every run.
   */
  enabled: "default" | "named" | "always";
  workflow: ToolkitWorkflow;
  /** Replaces one of the server's stores. */
  stores?(config: Config, stores: Pick<Storage, "tasks">): Pick<Storage, "tasks">;
  /** Opens what its tools need for as long as the server runs, and adds it to the services. */
  open?(server: ToolkitServer): OpenedToolkit | undefined;
  /** Its part of the HTTP API, one function for each resource. */
  routes: readonly (() => HttpApp)[];
  /** Variables that one of its routes changes, such as a key that is stored, and the request that does. */
  settingRequests: Readonly<Record<string, string>>;
}

/** Defines a toolkit; missing parts are empty. */
export function defineToolkit(
  toolkit: Pick<Toolkit, "name" | "title" | "description" | "enabled"> & Partial<Toolkit>,
): Toolkit {
  return {
    tools: [],
    templates: [],
    fileFormats: [],
    collectors: [],
    guardrails: [],
    callbacks: [],
    workflow: {},
    routes: [],
    settingRequests: {},
    ...toolkit,
  };
}

/** The rules over a call of this tool: those of its own toolkit, which may refuse before a person is asked, then `rules`. */
export function guardrailsOver(tool: string, rules: readonly Guardrail[], all: readonly Toolkit[]): Guardrail[] {
  return [...(toolkitOf(tool, all)?.guardrails ?? []), ...rules];
}

/** The toolkit that brings a tool; `undefined` for a tool of another source. */
export function toolkitOf(tool: string, all: readonly Toolkit[]): Toolkit | undefined {
  const owners = ownersOf.get(all) ?? readOwners(all);
  ownersOf.set(all, owners);
  return owners.get(tool);
}

/** Toolkits by tool name, cached per list of toolkits. */
const ownersOf = new WeakMap<readonly Toolkit[], ReadonlyMap<string, Toolkit>>();

function readOwners(all: readonly Toolkit[]): ReadonlyMap<string, Toolkit> {
  return new Map(all.toReversed().flatMap((toolkit) => toolkit.tools.map(({ name }) => [name, toolkit] as const)));
}
