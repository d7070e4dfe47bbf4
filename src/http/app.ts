import { Hono } from "hono";
import type { HttpApp, HttpEnvironment, HttpServices } from "./environment.ts";
import { answerError } from "./errors.ts";
import { apiKey } from "./middleware/api-key.ts";
import { gate } from "./middleware/gate.ts";
import { requestBasics } from "./middleware/request-basics.ts";
import { openApiRoutes } from "./openapi.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { assistantRoutes } from "./routes/assistants.ts";
import { maintenanceRoutes } from "./routes/maintenance.ts";
import { metaRoutes } from "./routes/meta.ts";
import { statelessRunRoutes } from "./routes/stateless-runs.ts";
import { threadRunRoutes } from "./routes/thread-runs.ts";
import { threadStateRoutes } from "./routes/thread-state.ts";
import { threadRoutes } from "./routes/threads.ts";

/** Every resource of the API. A new one is a file in `routes/` and a line here. */
const resources: readonly ((services: HttpServices) => HttpApp)[] = [
  metaRoutes,
  assistantRoutes,
  threadRoutes,
  maintenanceRoutes,
  threadStateRoutes,
  approvalRoutes,
  threadRunRoutes,
  statelessRunRoutes,
];

/** The whole HTTP API; it does not listen. Nothing passes the gate and the key check but what they let through. */
export function createApp(services: HttpServices): HttpApp {
  const { config, logger } = services;
  const app: HttpApp = new Hono<HttpEnvironment>();
  app.onError((error, context) => answerError(error, context, logger));
  app.notFound((context) => context.text("404 Not Found", 404));
  app.use(requestBasics(config.bodyLimit));
  app.use(gate({ host: config.host, allowedHosts: config.allowedHosts, corsOrigins: config.corsOrigins }));
  app.use(apiKey(config.apiKeys));
  for (const routes of resources) app.route("/", routes(services));
  app.route("/", openApiRoutes(app));
  return app;
}
