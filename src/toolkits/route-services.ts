import { servicesOf, type HttpContext, type HttpServices } from "@millrace/engine/http/environment";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { ToolkitServices } from "../tools/runtime/toolkit-services.ts";
import type { Operations } from "../tools/undo/operations.ts";
import type { Toolkit } from "./toolkit.ts";
import { toolsOfOwner } from "./tools-of-owner.ts";

/** Services of toolkit routes besides the engine's. */
export interface ToolkitParts {
  /** The toolkits that runs may use. */
  toolkits: readonly Toolkit[];
  /** What toolkits keep open, for all callers. */
  toolkitServices: ToolkitServices;
  /** The model registry. */
  models: Pick<ModelRegistry, "files" | "roles" | "storedKeys">;
  /** The configuration, with the settings that were changed while the server runs. */
  settings: Pick<LiveSettings, "current">;
}

/** The services of a request to a route of a toolkit, in its caller's scope. */
export interface RouteServices extends HttpServices, ToolkitParts {
  /** What tools have changed in the threads that the caller sees. */
  operations: Pick<Operations, "content">;
}

/** The services of a request. */
export function routeServicesOf(context: HttpContext): RouteServices {
  // The agent adds these to the services of every request.
  return servicesOf(context) as RouteServices;
}

/** Names of the tools that the caller may use; `undefined`: all there are. */
export function toolsOfCaller({
  config,
  owner,
  toolkits,
}: Pick<RouteServices, "config" | "owner" | "toolkits">): ReadonlySet<string> | undefined {
  return toolsOfOwner(config.ownerTools, owner === "" ? null : owner, toolkits);
}
