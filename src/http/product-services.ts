import type { AgentSource } from "../agents/agent-folders.ts";
import type { TokenCounter } from "../context/tokens/token-counter.ts";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { OllamaService } from "@millrace/models/ollama/service";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { ModelServices } from "@millrace/models/resilience/model-services";
import type { EditablePrompts } from "../prompts/open-prompts.ts";
import type { ManualTools } from "../sessions/manual/manual-run.ts";
import type { Operations } from "../tools/undo/operations.ts";
import type { RuleSource } from "../rules/rule-folders.ts";
import type { ToolkitParts } from "../toolkits/route-services.ts";
import {
  servicesOf,
  type HttpContext,
  type HttpServices,
  type SharedServices,
} from "@millrace/engine/http/environment";

/** What the routes of our agent use beside those of the engine, the same for all callers. */
export interface AgentParts extends ToolkitParts {
  /** The prompts that all callers share. */
  prompts: EditablePrompts;
  /** Counts tokens exactly; all callers share it. */
  tokens: TokenCounter;
  /** The rules of the user. */
  rules: RuleSource;
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
}

/** What our agent's routes are built with. */
export interface SharedProductServices extends SharedServices, AgentParts {}

/** What the caller's scope has of our agent's. */
export interface OwnProductServices {
  operations: Operations;
  manual: ManualTools;
}

/** What a handler of our agent's routes works with. */
export interface ProductServices extends HttpServices, AgentParts, OwnProductServices {}

/** The services of a request to a route of our agent, in its caller's scope. */
export function productServicesOf(context: HttpContext): ProductServices {
  // `agentHttp` has added ours to those of every request.
  return servicesOf(context) as ProductServices;
}
