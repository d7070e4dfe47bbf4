import { basename } from "node:path";
import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { answerBytes } from "@millrace/engine/http/answers/bytes";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { query } from "@millrace/engine/http/validate";
import { routeServicesOf, toolsOfCaller } from "../../../toolkits/route-services.ts";
import { withFile } from "../../../tools/workspace/file-access.ts";
import { locate } from "../../../tools/workspace/workspace-path.ts";

/** Maximum bytes of a file sent to clients. */
const largest = 20 * 1024 * 1024;

/** `/files/content`: a workspace file, for clients that show what a message refers to. */
export function fileContentRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/files/content",
    describe({
      tag: "Operations",
      summary: "The bytes of a file of the workspace, at most 20 MB; a part of them for a Range",
      bodiless: { 200: "The bytes, as a file to be saved", 206: "The bytes that Range asked for" },
      errors: {
        400: "No path in the workspace, a folder, or a file over 20 MB",
        403: "The path leads out of the workspace, or the owner of the key may not read files",
        404: "No such file",
        416: "It has no such bytes",
      },
    }),
    query(z.object({ path: z.string().max(3_000).describe("Relative to the workspace") })),
    async (context) => {
      const services = routeServicesOf(context);
      const tools = toolsOfCaller(services);
      if (tools !== undefined && !tools.has("read_file")) {
        throw new AppError("permission", "The files of the workspace may not be read with this key.", {
          suggestion: "Ask whoever runs the server to allow the tool read_file for this key.",
        });
      }
      const { workspace } = services.config;
      const { signal } = context.req.raw;
      const place = await locate(workspace, context.req.valid("query").path);
      const bytes = await withFile({ workspace, repeated: false, signal }, place, async (handle, { size }) => {
        if (size > largest) {
          throw new AppError(
            "invalid_parameter",
            `"${place.path}" has ${size} bytes; at most ${largest} are handed out.`,
          );
        }
        return handle.readFile({ signal });
      });
      // A workspace file must never be rendered as a page of this server.
      return answerBytes(context, bytes, {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(basename(place.path))}`,
        "content-security-policy": "sandbox",
        "x-content-type-options": "nosniff",
      });
    },
  );
  return routes;
}
