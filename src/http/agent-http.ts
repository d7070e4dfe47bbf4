import { Hono } from "hono";
import type { ManualTools } from "../sessions/manual/manual-run.ts";
import { ownManual, ownOperations } from "../sessions/scope/own-tools.ts";
import { toolkits } from "../toolkits/index.ts";
import type { Operations } from "../tools/undo/operations.ts";
import type {
  HttpApp,
  HttpEnvironment,
  HttpExtension,
  HttpServices,
  SharedServices,
} from "@millrace/engine/http/environment";
import type { ConsoleBuild } from "./console/console-build.ts";
import { consoleRoutes } from "./console/console-routes.ts";
import type { AgentParts, OwnProductServices, SharedProductServices } from "./product-services.ts";
import { agentRoutes } from "./routes/runs/agents.ts";
import { compressRoutes } from "./routes/threads/compress.ts";
import { contextRoutes } from "./routes/threads/context.ts";
import { exportRoutes } from "./routes/threads/export.ts";
import { fileRoutes } from "./routes/knowledge/files.ts";
import { fileWriteRoutes } from "./routes/knowledge/file-writes.ts";
import { ownFileRoutes } from "./routes/knowledge/own-files.ts";
import { uploadRoutes } from "./routes/knowledge/uploads.ts";
import { identityRoutes } from "./routes/knowledge/identity.ts";
import { messageRoutes } from "./routes/threads/messages.ts";
import { modelServiceRoutes } from "./routes/models/model-services.ts";
import { modelTestRoutes } from "./routes/models/model-test.ts";
import { modelRoutes } from "./routes/models/models.ts";
import { namespaceRoutes } from "./routes/threads/namespaces.ts";
import { ollamaRoutes } from "./routes/models/ollama.ts";
import { modelRequestRoutes } from "./routes/runs/model-requests.ts";
import { operationChangeRoutes } from "./routes/runs/operation-changes.ts";
import { operationRoutes } from "./routes/runs/operations.ts";
import { partialRoutes } from "./routes/threads/partial.ts";
import { promptRoutes } from "./routes/knowledge/prompts.ts";
import { providerRoutes } from "./routes/models/providers.ts";
import { resultRoutes } from "./routes/threads/results.ts";
import { ruleRoutes } from "./routes/knowledge/rules.ts";
import { settingRoutes } from "./routes/models/settings.ts";
import { suggestionRoutes } from "@millrace/engine/http/routes/threads/suggestions";
import { threadInfoRoutes } from "./routes/threads/thread-info.ts";
import { threadStatusRoutes } from "./routes/threads/thread-status.ts";
import { threadUsageRoutes } from "@millrace/engine/http/routes/threads/thread-usage";
import { tokenRoutes } from "./routes/models/tokens.ts";
import { toolkitRoutes } from "./routes/knowledge/toolkits.ts";
import { effectsBy, toolRoutes } from "./routes/knowledge/tools.ts";

/** Every resource of our agent. A new one is a file in `routes/` and a line here. */
const resources: readonly ((shared: SharedProductServices) => HttpApp)[] = [
  agentRoutes,
  compressRoutes,
  contextRoutes,
  exportRoutes,
  fileRoutes,
  fileWriteRoutes,
  identityRoutes,
  messageRoutes,
  modelServiceRoutes,
  modelTestRoutes,
  modelRoutes,
  namespaceRoutes,
  ollamaRoutes,
  modelRequestRoutes,
  operationChangeRoutes,
  operationRoutes,
  ownFileRoutes,
  partialRoutes,
  promptRoutes,
  providerRoutes,
  resultRoutes,
  ruleRoutes,
  settingRoutes,
  suggestionRoutes,
  threadInfoRoutes,
  threadStatusRoutes,
  threadUsageRoutes,
  tokenRoutes,
  toolkitRoutes,
  toolRoutes,
  uploadRoutes,
];

/** The paths of what is in files that the servers of a database share; see `agent` in `server.ts`. */
const sharedPaths = ["/settings", "/models/*", "/prompts/*", "/identity/*"];

/** Applies a change to what all servers have, and answers when the others can have it: the next request may reach one of them. */
function shareChanges({ exchangeFiles }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  if (exchangeFiles === undefined) return routes;
  for (const path of sharedPaths) {
    routes.use(path, async ({ req }, next) => {
      if (req.method === "GET") return await next();
      await exchangeFiles();
      await next();
      // In an outage the others have it as soon as the database is back.
      await exchangeFiles().catch(() => undefined);
    });
  }
  return routes;
}

/** What our agent adds to the server's API. */
export function agentHttp(
  shared: SharedServices,
  parts: AgentParts & { operations: Operations; manual: ManualTools },
  consoleBuild?: ConsoleBuild,
): HttpExtension {
  const { operations, manual, ...agent } = parts;
  return {
    routes: () => [
      ...[shareChanges, ...resources].map((routes) => routes({ ...shared, ...agent })),
      ...toolkits.flatMap(({ routes }) => routes.map((routesOf) => routesOf())),
      ...(consoleBuild === undefined ? [] : [consoleRoutes(consoleBuild)]),
    ],
    takesBytes: ["/files/uploads", "/files/content"],
    features: { agent: true, ...Object.fromEntries(parts.toolkits.map(({ name }) => [name, true])) },
    services: ({ access, user }, owner): AgentParts & OwnProductServices & Pick<HttpServices, "lookAtEffect"> => {
      const own = owner === null ? manual : ownManual(manual, owner, access, user);
      return {
        ...agent,
        operations: owner === null ? operations : ownOperations(operations, access),
        manual: own,
        lookAtEffect: effectsBy(own),
      };
    },
  };
}
