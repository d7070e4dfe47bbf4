import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { HttpContext } from "@millrace/engine/http/environment";
import { routeServicesOf, toolsOfCaller, type RouteServices } from "../../../src/toolkits/route-services.ts";

/** How a circuit is named in an address. */
export const CircuitPath = z.object({
  name: z.string().min(1).max(3_000).describe("The file's path in the workspace, encoded as one part of the address"),
});

/** When its routes are refused. */
export const refused = { 403: "Circuits are switched off, or the owner of the key may not use them" };

/** Throws 403 for a caller who may not use a tool that shows files of the workspace. */
export function requireTool(services: RouteServices, tool: "list_files" | "read_file"): void {
  const allowed = toolsOfCaller(services);
  if (allowed === undefined || allowed.has(tool)) return;
  throw new AppError("permission", "The files of the workspace may not be seen with this key.", {
    suggestion: `Ask whoever runs the server to allow the tool ${tool} for this key.`,
  });
}

/** The services of a caller who may simulate circuits and read files. Throws 403 for others. */
export function circuitServices(context: HttpContext): RouteServices {
  const services = routeServicesOf(context);
  const allowed = toolsOfCaller(services);
  const isThere = services.toolkits.some(({ tools }) => tools.some(({ name }) => name === "run_simulation"));
  if (!isThere || allowed?.has("run_simulation") === false) {
    throw new AppError("permission", "Circuits are switched off here, or may not be used with this key.", {
      suggestion: "Ask whoever runs the server to switch the toolkit circuits on, for everybody or for this key.",
    });
  }
  requireTool(services, "read_file");
  return services;
}
