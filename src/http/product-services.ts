import type { AgentSource } from "../agents/agent-folders.ts";
import type { TokenCounter } from "../context/tokens/token-counter.ts";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { OllamaService } from "@millrace/models/ollama/service";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { ModelServices } from "@millrace/models/resilience/model-services";
import type { EditablePrompts } from "../prompts/open-prompts.ts";
import type { ManualTools } from "../sessions/manual/manual-run.ts";
import type { Operations } from "../tools/undo/operations.ts";
import type { RuleSource } from "../user-rules/rule-folders.ts";
import type { ToolkitParts } from "../toolkits/route-services.ts";
import {
  servicesOf,
  type HttpContext,
  type HttpServices,
  type SharedServices,
} from "@millrace/engine/http/environment";

/** Services of the agent's routes, shared by all callers. */
export interface AgentParts extends ToolkitParts {
  /** The prompts, shared by all callers. */
  prompts: EditablePrompts;
  /** Counts tokens exactly; shared by all callers. */
  tokens: TokenCounter;
  /** The user's rules. */
  rules: RuleSource;
  /** The available agents. */
  agents: AgentSource;
  /** The model registry. */
  models: ModelRegistry;
  /** Status of the models used by this process. */
  modelServices: ModelServices;
  /** The local Ollama service. */
  ollama: OllamaService;
  /** Settings that can change at runtime. */
  settings: LiveSettings;
  /** Where several servers share files; see `SharedFiles`. */
  exchangeFiles: (() => Promise<void>) | undefined;
}

/** Parts for building the agent's routes. */
export interface SharedProductServices extends SharedServices, AgentParts {}

/** The agent's services limited to the caller. */
export interface OwnProductServices {
  operations: Operations;
  manual: ManualTools;
}

/** Services of a route handler. */
export interface ProductServices extends HttpServices, AgentParts, OwnProductServices {}

/** The services of a request to the agent's routes, in its caller's scope. */
export function productServicesOf(context: HttpContext): ProductServices {
  // `agentHttp` has added them to every request.
  return servicesOf(context) as ProductServices;
}
