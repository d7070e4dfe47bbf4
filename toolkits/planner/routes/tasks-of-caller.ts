import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { HttpContext, HttpServices } from "@millrace/engine/http/environment";
import { routeServicesOf, toolsOfCaller } from "../../../src/toolkits/route-services.ts";

/** The group of the planner's routes in the description of the API. */
export const tag = "Planner";
/** What each of them may answer instead. */
export const refused = { 403: "The planner is switched off, or the owner of the key may not use it" };

/** All responses of these paths are wrapped in `data`. */
export const wrapped = <Shape extends z.ZodType>(data: Shape): z.ZodObject<{ data: Shape }> => z.object({ data });

/** The caller's tasks. Throws `permission` if the caller lacks the planner tool for the same work. */
export function tasksFor(context: HttpContext, tool: string): HttpServices["storage"]["tasks"] {
  const services = routeServicesOf(context);
  const allowed = toolsOfCaller(services);
  const isThere = services.toolkits.some(({ tools }) => tools.some(({ name }) => name === tool));
  if (isThere && (allowed === undefined || allowed.has(tool))) return services.storage.tasks;
  throw new AppError("permission", "The planner is switched off here, or may not be used with this key.", {
    suggestion: "Ask whoever runs the server to switch the toolkit planner on, for everybody or for this key.",
  });
}
