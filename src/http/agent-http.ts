import type { ManualTools } from "../sessions/manual-run.ts";
import { ownManual, ownOperations } from "../sessions/own-tools.ts";
import type { Operations } from "../tools/undo/operations.ts";
import type { HttpApp, HttpExtension, SharedServices } from "./environment.ts";
import type { AgentParts, OwnProductServices, SharedProductServices } from "./product-services.ts";
import { agentRoutes } from "./routes/agents.ts";
import { chatRoutes } from "./routes/chat.ts";
import { compressRoutes } from "./routes/compress.ts";
import { contextRoutes } from "./routes/context.ts";
import { exportRoutes } from "./routes/export.ts";
import { externalToolRoutes } from "./routes/external-tools.ts";
import { fileRoutes } from "./routes/files.ts";
import { identityRoutes } from "./routes/identity.ts";
import { libraryDocsRoutes } from "./routes/library-docs.ts";
import { messageRoutes } from "./routes/messages.ts";
import { modelServiceRoutes } from "./routes/model-services.ts";
import { modelTestRoutes } from "./routes/model-test.ts";
import { modelRoutes } from "./routes/models.ts";
import { namespaceRoutes } from "./routes/namespaces.ts";
import { ollamaRoutes } from "./routes/ollama.ts";
import { operationRoutes } from "./routes/operations.ts";
import { partialRoutes } from "./routes/partial.ts";
import { promptRoutes } from "./routes/prompts.ts";
import { providerRoutes } from "./routes/providers.ts";
import { resultRoutes } from "./routes/results.ts";
import { ruleRoutes } from "./routes/rules.ts";
import { settingRoutes } from "./routes/settings.ts";
import { suggestionRoutes } from "./routes/suggestions.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { threadInfoRoutes } from "./routes/thread-info.ts";
import { threadStatusRoutes } from "./routes/thread-status.ts";
import { threadUsageRoutes } from "./routes/thread-usage.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { toolkitRoutes } from "./routes/toolkits.ts";
import { toolRoutes } from "./routes/tools.ts";
import { webSearchRoutes } from "./routes/web-search.ts";

/** Every resource of our agent. A new one is a file in `routes/` and a line here. */
const resources: readonly ((shared: SharedProductServices) => HttpApp)[] = [
  agentRoutes,
  chatRoutes,
  compressRoutes,
  contextRoutes,
  exportRoutes,
  externalToolRoutes,
  fileRoutes,
  identityRoutes,
  libraryDocsRoutes,
  messageRoutes,
  modelServiceRoutes,
  modelTestRoutes,
  modelRoutes,
  namespaceRoutes,
  ollamaRoutes,
  operationRoutes,
  partialRoutes,
  promptRoutes,
  providerRoutes,
  resultRoutes,
  ruleRoutes,
  settingRoutes,
  suggestionRoutes,
  taskRoutes,
  threadInfoRoutes,
  threadStatusRoutes,
  threadUsageRoutes,
  tokenRoutes,
  toolkitRoutes,
  toolRoutes,
  webSearchRoutes,
];

/** What our agent adds to the API of the server. */
export function agentHttp(
  shared: SharedServices,
  parts: AgentParts & { operations: Operations; manual: ManualTools },
): HttpExtension {
  const { operations, manual, ...agent } = parts;
  return {
    routes: () => resources.map((routes) => routes({ ...shared, ...agent })),
    services: ({ access, user }, owner): AgentParts & OwnProductServices => ({
      ...agent,
      operations: owner === null ? operations : ownOperations(operations, access),
      manual: owner === null ? manual : ownManual(manual, owner, access, user),
    }),
  };
}
