import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { WebSocket } from "ws";
import type { AgentSource } from "../agents/agent-folders.ts";
import type { Config } from "@millrace/engine/config/config";
import type { OwnCrons } from "../crons/own-crons.ts";
import type { ModelServices } from "../models/resilience/model-services.ts";
import type { OllamaService } from "../models/ollama/service.ts";
import type { ModelRegistry } from "../models/registry/registry.ts";
import type { TokenCounter } from "../context/tokens/token-counter.ts";
import type { Documentation } from "../context/documentation/open-documentation.ts";
import type { Graphs } from "@millrace/engine/graphs/load";
import type { Interfaces } from "@millrace/engine/manifest/interfaces";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { Logger } from "@millrace/engine/logger";
import type { AuthContext } from "@millrace/engine/manifest/auth";
import type { FileWatch } from "../watching/file-watch.ts";
import type { EditablePrompts } from "../prompts/open-prompts.ts";
import type { OwnerScope } from "../sessions/owner-scope.ts";
import type { Caller } from "./middleware/identify.ts";

/** What routes use of the server that does not depend on the caller. */
export interface SharedServices {
  /** Components that graphs bring. */
  interfaces: Interfaces;
  config: Config;
  graphs: Graphs;
  logger: Logger;
  /** The prompts that all callers share. */
  prompts: EditablePrompts;
  /** Counts tokens exactly; all callers share it. */
  tokens: TokenCounter;
  /** What models are given to read before a conversation. */
  documentation: Documentation;
  /** The agents that work can be handed to. */
  agents: AgentSource;
  /** What is known of models; all callers share it. */
  models: ModelRegistry;
  /** How the models do that this process has asked. */
  modelServices: ModelServices;
  /** The local service of models. */
  ollama: OllamaService;
  /** What can be changed of the configuration while the server runs. */
  settings: LiveSettings;
  /** The files of the workspace, where they are watched. */
  files: FileWatch | undefined;
}

/** What a handler works with: the caller's scope, and what all callers share. */
export interface HttpServices extends OwnerScope, SharedServices {
  /** The caller's runs by the clock. */
  crons: OwnCrons;
  /** Whether the caller may change what all callers share: the only owner there is, or `admin`. */
  mayAdminister: boolean;
}

/**
 * What a handler finds on its context: node's own request and response, what takes the request over as a WebSocket where it
 * asks for one, the request's id, who calls and the services in the caller's scope, whether the answer is long enough to be
 * packed, and whether the run waits for others.
 */
export interface HttpEnvironment {
  Bindings: HttpBindings & { acceptSocket?: (serve: (socket: WebSocket) => void) => void };
  Variables: {
    requestId: string;
    bodyLimit: number;
    caller: Caller;
    scope?: HttpServices;
    isLong?: boolean;
    waits?: boolean;
    auth?: AuthContext;
  };
}

/** A request under way. */
export type HttpContext = Context<HttpEnvironment>;
/** An app, or the routes of one resource. */
export type HttpApp = Hono<HttpEnvironment>;

/** The services of a request, in its caller's scope. Throws where no caller was identified. */
export function servicesOf(context: HttpContext): HttpServices {
  const services = context.get("scope");
  if (services === undefined) throw new Error(`No caller was identified before ${context.req.path}.`);
  return services;
}
